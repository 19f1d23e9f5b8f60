"""Cards about kernels that could be faster."""
