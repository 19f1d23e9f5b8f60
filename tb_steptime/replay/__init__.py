"""Predicts the length of a step after changes, by a graph of what waits for what and its replay."""
