"""Columns in which nothing stands any more that cannot be true, as far as it can be mended; the file stays as it is."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality.clocks import on_one_clock
from tb_steptime.trace.quality.overruns import without_overruns


def repaired(trace: Trace) -> Trace:
    """A trace as its file has it -> the same or a mended one, whose `repaired` says what was done. Before anything else
    reads it."""
    return without_overruns(on_one_clock(trace))
