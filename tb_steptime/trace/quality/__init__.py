"""What is wrong with a recording: what cannot be true is mended in its columns, the rest is found before measuring.

Decisions and their reasons:

- Work reaches the device 3 to 12 µs after its launch call begins, at the least, in 43 of 50 real recordings of 2021
  to 2026; in the other seven all work waits behind other work. In none of the 50 any work begins before its launch.
  So clocks that disagree are found by two launches, and a shift that only made launches come first would shorten
  every wait by 7 µs.
- A row that runs over its successor is cut to the successor's start, not to the usual length of its name, which would
  be an estimate. Where the GPU was idle after it, its time is too long by that gap: in 2 of 43 real recordings by
  more than 2 %.
"""

from __future__ import annotations

from tb_steptime.trace.quality.recording import recording_findings as recording_findings
from tb_steptime.trace.quality.repair import repaired as repaired
from tb_steptime.trace.quality.unrecorded_device import unseen_device as unseen_device
