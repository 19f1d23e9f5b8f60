"""Cards about kernels that could be faster.

Decisions and their reasons:

- The gain of a faster kernel is limited by the host floor (`metrics/idle/host_floor.py`): the step less its waits for
  the loader, the time in calls that wait for the GPU (including launches into a full queue), and the time that is left
  out of judgement because it is not known how full the queue is while the GPU works off earlier launches.
"""
