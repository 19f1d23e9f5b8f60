"""Results compared with a truth that is known independently.

Decisions and their reasons:

`tests/truth/simulate` simulates trainings, each from a declared cause, and knows two truths about each of them. The
first follows from the definitions: the reasons for idleness and the bubbles are computed from the records of the
simulator, by code other than the package's. The second is counterfactual: the same training is simulated with the
same random numbers, but without the cause. `python -m tests.truth.simulate causes` prints both beside what the package
finds. These decisions came of it:

- Only one thread runs at a time. While a thread of the autograd engine waits for one GPU, the training thread is inside
  `backward()` with nothing recorded and launches nothing for the other GPUs. So the time of a thread that stands still
  is charged to what the other thread does (`metrics/idle/reasons.py`). Otherwise the serial training on two GPUs had no
  cause.
- A bubble is no longer than its call. Its cost is then what the training gains without the call, to the microsecond.
- One of two causes may hide the other. Without a read-back in every step, many tiny kernels would be launched ahead and
  cost nothing: the cost of one cause appears on the card of the other. The gains of one partition add up to at least
  the cost of either cause.
"""
