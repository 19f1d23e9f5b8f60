"""Results compared with a truth that is known otherwise.

Decisions and their reasons:

`tests/truth/simulate` runs trainings that never ran, from a declared cause, and knows two truths about each. One is
by definition: reasons for idleness and bubbles, from the model's own records and by other code than the package's.
The other is by counterfactual: the same training, with the same random numbers, without the cause. `python -m
tests.truth.simulate causes` prints both next to what the package finds. What came of it:

- One thread runs at a time. While a thread of the autograd engine waits for one GPU, the training thread is inside
  `backward()` with nothing recorded and launches nothing for the others. So a thread that stands still is charged
  with what the other one does (`metrics/idle/reasons.py`). Without this the serial training on two GPUs had no cause.
- A bubble is no longer than its call. Then its cost is what the training gains without the call, to the microsecond.
- Two causes may hide each other. Without a read-back in every step, many tiny kernels would be launched ahead and
  cost nothing: the cost of one appears on the other's card. Gains of one partition add up to at least what either
  cause costs.
"""
