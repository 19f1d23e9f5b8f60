"""Faults of a recording: impossible values are corrected in its columns, other faults are found before measuring.

Decisions and their reasons:

- Work reaches the device at least 3 to 12 µs after its launch call begins in 43 of 50 real recordings of 2021 to 2026;
  in the other seven all work waits behind other work. In none of the 50 does any work begin before its launch. So two
  launches suffice to find clocks that disagree, and a shift that only made launches come first would shorten every wait
  by 7 µs.
- A row that runs over its successor is cut at the successor's start, not to the usual length of its name, which would
  be an estimate. If the GPU was idle after it, the row remains too long by that gap: in 2 of 43 real recordings by more
  than 2 %.
"""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality.clocks import on_one_clock
from tb_steptime.trace.quality.overruns import without_crossings, without_overruns
from tb_steptime.trace.quality.recording import is_cpu_unrecorded as is_cpu_unrecorded
from tb_steptime.trace.quality.recording import recording_findings as recording_findings
from tb_steptime.trace.quality.unrecorded_device import ASKS as ASKS
from tb_steptime.trace.quality.unrecorded_device import accelerator as accelerator
from tb_steptime.trace.quality.unrecorded_device import may_hide_device as may_hide_device
from tb_steptime.trace.quality.unrecorded_device import unseen_device as unseen_device
from tb_steptime.trace.quality.unrecorded_waits import with_event_waits, with_waits


def repaired(trace: Trace) -> Trace:
    """Returns the trace as it was read, or with impossible values corrected; its `repaired` lists the corrections. The
    file stays unchanged. Must be called before anything else reads the trace."""
    return with_event_waits(with_waits(without_overruns(on_one_clock(without_crossings(trace)))))
