"""The kernel table, launch shapes, waste, and figures in time bins.

Decisions and their reasons:

- Attention is recognised by its sequence (`metrics/kernels/eager_attention.py`): batched products on both sides of a
  softmax, with elementwise kernels between, of matching sizes if sizes are recorded. A classifier's softmax has no such
  neighbours. The products do not count towards the gain, because a fused kernel computes them as well.
- A fused kernel reads and writes at least as much as its longest part. So for a chain of elementwise kernels the time
  of the longest one remains, and at least a quarter of the chain. This is an estimate, and never a major card.
"""
