"""Replays a job: its ranks joined at their collectives, as recorded and with changes of one rank or of all.

- A rank's own work between collectives is its reduced graph (`replay/reduced.py`), which its summary holds: no trace is
  read again. Ranks without work on a device have one out of what their collectives say: own time, and waits for them.
- All steps are replayed, not one of them: which rank is late differs from step to step.
- A collective begins on a rank when its own work lets it, and ends on all when the last has come and what it transfers
  is there. What is not matched over ranks, or tells no last one, takes as long as it was recorded to.
"""
