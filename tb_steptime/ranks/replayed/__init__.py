"""Replays a job: its ranks joined at their collectives, as recorded and with changes of one rank or of all.

- A rank's own work between collectives is its reduced graph (`replay/reduced.py`). It is in the rank's summary, so no
  trace is read again. The graph of a rank without work on a device is made of its collectives: own time, and waits.
- All steps are replayed, not only one, because the late rank differs from step to step.
- A collective begins on a rank when the rank's own work permits it, and ends on all ranks when the last one has arrived
  and the data is transferred. A collective that is not matched, or does not show who arrived last, keeps its recorded
  length.
"""
