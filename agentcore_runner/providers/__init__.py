"""Models behind one port: `core.stream.StreamFn`."""
