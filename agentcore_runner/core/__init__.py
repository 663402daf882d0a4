"""What a run is: messages, events, the loop. No I/O, no YAML, no HTTP."""
