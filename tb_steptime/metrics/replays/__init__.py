"""Kernels of a CUDA graph's replay beside those of an eager step: which one stands for which."""
