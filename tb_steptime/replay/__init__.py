"""Predicts the length of a recording after changes: a graph of what waits for what, and its replay."""
