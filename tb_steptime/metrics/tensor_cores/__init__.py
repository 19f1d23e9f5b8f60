"""Kernels on tensor cores: which run there, which could, and what that would gain.

Decisions and their reasons:

- A slow product is one that others of the same trace outrun (`metrics/tensor_cores/attainable.py`). What is in reach
  is no data sheet's peak: it is the best rate that a large product of the same type shows, and less where memory or
  few tiles limit the product. Without a reason that shows in its sizes or its kernel's name nothing is said, and
  products that run beside other kernels are not judged: they share the GPU.
- Stages follow their product. A layout conversion or a transform counts as eligible for tensor cores only if the op
  that launched it ran no kernel on them. Names alone would give 62.5 % where 67.6 % of kernel time is eligible.
"""
