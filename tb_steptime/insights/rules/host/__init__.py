"""Cards about a GPU that waits for the CPU."""
