"""How much ops compute, and the least bytes that they move, by formulas; and what GPUs can do at most.

Decisions and their reasons:

- Causal attention counts in full, because kernels may or may not skip what the mask leaves out. The shown rate
  mentions the mask, and only proofs use the lower half.
"""
