"""What a step consists of: parts, the mean step, its waits for batches."""
