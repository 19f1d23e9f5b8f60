"""What newer profilers write besides activities: annotations of graph kernels, measured counters, edges of graphs."""
