"""Cards about kernels that could be faster.

Decisions and their reasons:

- The gain of a faster kernel is limited by the host floor (`metrics/idle/host_floor.py`): the step less its waits for
  the loader, the time in calls that wait for the GPU (launches into a full queue included) and what judgement leaves
  out: while the GPU works off earlier launches, nobody knows how full its queue is.
"""
