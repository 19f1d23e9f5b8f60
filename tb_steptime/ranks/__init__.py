"""Compares the ranks of a job: which ranks were recorded, how long each step takes on each of them, who waits for whom.

Decisions and their reasons:

- Who is late needs no clock. All ranks leave an all-reduce together, so the rank on which it is shortest arrived last,
  and the additional time on other ranks is waiting (`ranks/arrivals.py`). Clocks are aligned separately, by the ends of
  collectives, and times of different ranks are shown only where ends agree within a millisecond. The root of a
  broadcast may leave at once, so a broadcast does not show who is late. In an all-to-all with unequal parts the rank
  with the shortest time may have had the least to send, so a rank is only compared with ranks that exchange as much or
  more.
- The n-th collective of a group in a step is the n-th of that group on every rank, where all have equally many of the
  same kind and size; others are left out and counted. A collective belongs to the step that launches it, because hosts
  are not equally far ahead of their devices.
"""
