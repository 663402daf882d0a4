"""The record of a run: JSONL, one event a line."""
