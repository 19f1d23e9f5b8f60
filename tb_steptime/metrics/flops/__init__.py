"""How much ops compute and move at least, by formulas, and what GPUs can do at most.

Decisions and their reasons:

- Causal attention counts whole. Kernels may skip what the mask leaves out, or not; the rate says that there is a
  mask, and only proofs use the lower half.
"""
