"""Memory as the allocator reports it: how much is allocated over time, by which code, for how long, and for what
purpose."""
