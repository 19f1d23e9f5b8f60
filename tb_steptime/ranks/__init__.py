"""The ranks of a job held beside each other: which are there, what each step takes on each, who waits for whom.

Decisions and their reasons:

- Who is late needs no clock. All ranks leave an all-reduce together, so the rank on which it is shortest arrived last,
  and what it takes longer elsewhere is waiting (`ranks/arrivals.py`). Clocks are aligned apart from that, by the ends
  of collectives, and times of different ranks are shown only where ends agree within a millisecond. The root of a
  broadcast may leave at once: it does not show who is late. In an all-to-all with unequal parts the shortest may have
  had the least to send, so a rank is held against those only that exchange as much or more.
- The n-th collective of a group in a step is the n-th of that group on every rank, where all have equally many of the
  same kind and size; what does not agree is left out and counted. Steps are those that launch it, because each host
  is ahead of its device by another time.
"""
