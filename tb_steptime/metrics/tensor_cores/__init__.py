"""Which kernels run on tensor cores, which could, and what that would gain."""
