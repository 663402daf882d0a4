"""The only joiner: a definition and the caller's options become live parts, a run, a result."""
