"""What ranks exchange: each collective, how much of it no computation hides, and what of that may be waiting.

Decisions and their reasons:

- gloo's collectives are launched by the op that asks for them. gloo runs each on a thread of its own, which shows no
  phase; the n-th that is asked for is the n-th of its kind that runs, where all are recorded.
"""
