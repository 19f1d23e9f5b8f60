"""Tests, and what they draw their input with."""
