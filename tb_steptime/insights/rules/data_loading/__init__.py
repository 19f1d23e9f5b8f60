"""Cards about waits for batches."""
