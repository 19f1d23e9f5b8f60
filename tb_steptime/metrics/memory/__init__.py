"""Memory as the allocator reports it: how much is allocated over time, what made it, how long it lives, what it is."""
