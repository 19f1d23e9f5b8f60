"""Why a GPU is idle: every instant has one reason.

Decisions and their reasons:

- Host-bound share is the idle time before a launch call begins (`host_late`) plus the time from there to the start of
  the work (`launch_latency`). Waits for the loader are taken out first, so exposed data loading is one number
  everywhere.
- The bubble of a blocking call is no longer than the call. After a short call the GPU may idle for long because it
  had nothing to do before either, and would have idled without the call. A synchronize of 14 µs at the start of a
  recording would otherwise cost 218 ms of an H100. A host that had not stopped would be ahead by the length of the
  call.
- One thread runs at a time. The training thread waits while the autograd engine's threads run, and the other way
  round. So where the launching thread has nothing recorded, a gap is charged to what the other thread does.
- A launch that returned 50 µs ago is no latency. On an idle device work starts 2 µs after its launch call returned,
  and within 8 µs in all of 11 119 launches of V100, A100, H100, B200 and MI250; a synchronize of an idle device
  returns within 68 µs, a copy begins within 318 µs. What takes far longer waits: for a collective, for other work
  (dependency), or for work that the trace does not show (`metrics/idle/unrecorded.py`). The last is certain where the
  host is blocked too and no other GPU of the process works. Nothing is gained there: what the device does is not
  known.
- Idle time is a wait for other ranks only before a collective of the same device. A collective's kernel that waits is
  busy time, exposed or not; that collectives take a large share of the busy time says nothing of a gap elsewhere.
- Gaps of at most 10 µs between queued work are the GPU's own time. A graph of 300 kernels is idle for a sixth of the
  time between them, and nothing but fewer kernels changes that. So they count as work where the verdict weighs idle
  time.
- Graphs do not help against a few long waits. A gap from a millisecond on, ten times the median of all, belongs to
  what the host does in it, and its card names that: the innermost call, op, function or range that lasts for most of
  it (`metrics/idle/doing.py`). An inference job that prepares its images for 216 ms launches 534 kernels and has no
  launch problem. What takes ten times its own median is a first call or an accident, and is no card; nor are long
  gaps that come in one step of many.
- Named ranges are not CPU work in the idle partition: they also contain the Python between ops, which is what
  "nothing recorded" stands for.
"""
