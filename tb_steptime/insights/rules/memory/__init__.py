"""Cards about memory that grows, or that could be less."""
