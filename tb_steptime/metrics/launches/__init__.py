"""How far the CPU is ahead of the GPU: run-ahead, launch queue, host floor."""
