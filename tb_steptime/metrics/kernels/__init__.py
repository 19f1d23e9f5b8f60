"""The kernel table, launch shapes, waste, figures in time bins.

Decisions and their reasons:

- Attention is known by its order (`metrics/kernels/eager_attention.py`): products of many matrices on both sides of a
  softmax, with elementwise kernels between, of sizes that fit where sizes are recorded. A classifier's softmax has no
  such neighbours. The products are no part of the gain, because a fused kernel computes them too.
- A fused kernel reads and writes at least what the longest of its parts does. So of a chain of elementwise kernels
  that one's time stays, and no less than a quarter of the chain. It is an estimate, and never a major card.
"""
