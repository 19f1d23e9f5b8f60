"""Recordings that are damaged on purpose, and what is found in them: `python -m
tests.truth.quality` prints the table."""
