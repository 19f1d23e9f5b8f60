"""Cards about steps that differ, and about what a recording lacks.

Decisions and their reasons:

- The excess of slow steps does not include waits for batches. With a burst pattern of the loader every third step is
  long, and the loader's cards say so. The tail of the last step is left out too, because it is the end of the
  recording.
- Change points are searched only at the borders of spans, where code and data change, and in the medians of steps. A
  slow step has a rule of its own.
"""
