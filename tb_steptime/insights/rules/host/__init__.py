"""Cards about a GPU that waits for the CPU.

Decisions and their reasons:

- Gains that may be added are disjoint parts of one GPU's idle time: the loader's, what follows blocking calls, what
  pauses of the host leave, then late launches by the place that they come from (`insights/host_gains.py`). Gains of
  kernels, of slow steps and of GPUs in series overlap with those, and are never added.
- Most of a cold start is not the job. Where one or two steps were recorded and most of them comes once, what is left
  is the first pass of everything, and late launches are no card.
- Profiling slows the host, so a verdict against it is certain only if it holds with half of the host's time.
"""
