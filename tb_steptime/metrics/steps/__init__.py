"""The composition of a step: its parts, the mean step, and work that recurs or is repeated.

Decisions and their reasons:

- Order of the parts. Collective kernels come right after computing kernels, before copies. As a result, Kernel +
  Communication equals torch-tb-profiler's Kernel to the microsecond on every reference trace, and Communication is the
  time that no computation hides.
"""
