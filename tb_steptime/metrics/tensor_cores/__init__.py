"""Kernels on tensor cores: which run there, which could, and what that would gain.

Decisions and their reasons:

- A product is slow if others of the same trace are much faster (`metrics/tensor_cores/product_rates.py`). The
  attainable rate is not a data sheet's peak, but the best rate of a large product of the same type, and less if memory
  or few tiles limit the product. Unless its sizes or its kernel's name show a reason, nothing is reported. Products
  that run beside other kernels are not judged, because they share the GPU.
- Stages follow their product. A layout conversion or a transform counts as eligible for tensor cores only if the op
  that launched it ran no kernel on them. By names alone, 62.5 % of kernel time would be eligible instead of 67.6 %.
"""
