"""Corrects impossible values in the columns as far as possible; the file stays unchanged."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality.clocks import on_one_clock
from tb_steptime.trace.quality.crossings import without_crossings
from tb_steptime.trace.quality.overruns import without_overruns


def repaired(trace: Trace) -> Trace:
    """A trace as read from its file -> the same or a corrected one, whose `repaired` lists the corrections. Must run
    before anything else reads it."""
    return without_overruns(on_one_clock(without_crossings(trace)))
