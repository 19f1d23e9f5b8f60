"""Cards about a GPU that waits for the CPU.

Decisions and their reasons:

- Gains that may be added are disjoint parts of one GPU's idle time: waits for the loader, idle time after blocking
  calls, idle time from pauses of the host, then late launches by the place that they come from
  (`insights/host_gains.py`). Gains of kernels, of slow steps and of GPUs in series overlap with these parts, and are
  never added.
- Most of a cold start is not typical of the job. If only one or two steps were recorded and one-time work takes most
  of them, the rest is the first run of all code, and late launches get no card.
- Profiling slows the host, so the verdict that the host is the limit is certain only if it also holds with half of the
  host's time.
"""
