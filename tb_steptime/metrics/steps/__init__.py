"""The composition of a step: parts, the mean step, its waits for batches.

Decisions and their reasons:

- Order of the parts. Collective kernels come right after computing kernels, before copies. Then Kernel + Communication
  equals torch-tb-profiler's Kernel to the microsecond on every reference trace, and Communication is the time that no
  computation hides.
"""
