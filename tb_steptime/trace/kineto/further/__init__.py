"""What newer profilers write beyond activities: annotations of graph kernels, measured counters, edges of graphs."""
