"""What a run costs beside a plain loop that does the same work: `python -m benchmarks`."""
