"""Waits for batches: which loader, how long, how much of it leaves the GPU idle."""
