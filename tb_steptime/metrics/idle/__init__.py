"""Why a GPU is idle. Every instant has one reason.

Decisions and their reasons:

- Host-bound share is the idle time before a launch call begins (`host_late`) plus the time from there to the start of
  the work (`launch_latency`). Waits for the loader are subtracted first, so exposed data loading is one number
  everywhere.
- The bubble of a blocking call is no longer than the call. After a short call the GPU may idle for long because it had
  nothing to do before either, and would have idled without the call. Otherwise a synchronize of 14 µs at the start of a
  recording would cost 218 ms of an H100. A host that had not waited would be ahead by only the length of the call.
- Idle time is a wait for other ranks only before a collective of the same device. A collective's kernel that waits is
  busy time, exposed or not; a large share of collectives in the busy time explains nothing about a gap elsewhere.
- Graphs do not help against a few long waits. A gap of at least a millisecond and ten times the median is attributed to
  what the host does in it, and its card names that: the innermost call, op, function or range that lasts for most of it
  (`metrics/idle/host_activity.py`). An inference job that prepares its images for 216 ms launches 534 kernels and has
  no launch problem. Host work that takes ten times its own median is a first call or an accident, and gets no card; nor
  do long gaps that occur in one step of many.
"""
