"""Communication between ranks: each collective, how much of it no computation hides, and how much of that may be
waiting.

Decisions and their reasons:

- gloo's collectives are matched to the ops that request them. gloo runs each on a thread of its own, which shows no
  phase. If all are recorded, the n-th requested one of a kind is the n-th of that kind that runs.
"""
