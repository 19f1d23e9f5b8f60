"""Cards about steps that differ, and about what a recording lacks.

Decisions and their reasons:

- Slow steps leave out waits for batches. With a burst pattern of the loader every third step is long, and the
  loader's cards say so. The tail of the last step is left out too, because it is the end of the recording.
- Change points are looked for at the borders of spans only, and on the medians of steps: code and data change there,
  and a slow step has a rule of its own.
"""
