"""Real servers on the loopback address, for tests."""
