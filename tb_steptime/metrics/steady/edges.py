"""The end of a recording as excess: a device has no work any more because the recording ends."""

from __future__ import annotations

from tb_steptime.metrics.steady.after_recording import after_recording
from tb_steptime.metrics.steady.before_recording import before_recording
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace


def cut_off_intervals(trace: Trace, device: int) -> Intervals:
    """When a device is idle after its last recorded work. Waits for a batch are judged, here too."""
    return after_recording(trace, device) - loader_intervals(trace) - before_recording(trace, device)
