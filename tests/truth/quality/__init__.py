"""Recordings that are damaged on purpose, and what is found of it: `python -m tests.truth.quality` prints the table."""
