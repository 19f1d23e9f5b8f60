"""Timeline: where the steps lie. The events themselves are answered by window (see `tb_steptime.timeline`)."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Analysis
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class TimelineStep(msgspec.Struct, frozen=True):
    """A step's window, relative to the span's origin."""

    name: str
    start_ns: int
    end_ns: int


class TimelineResult(msgspec.Struct, frozen=True):
    """first_ns, last_ns: from the first event to the end of the last one."""

    first_ns: int
    last_ns: int
    steps: list[TimelineStep]


def analyse(trace: Trace) -> TimelineResult:
    start, length = trace.events.start_ns, trace.events.dur_ns
    return TimelineResult(
        first_ns=int(start.min(initial=0)),
        last_ns=int((start + length).max(initial=0)),
        steps=[TimelineStep(step.name, step.start_ns, step.end_ns) for step in find_steps(trace).steps],
    )


ANALYSIS = Analysis("timeline", "Timeline", TimelineResult, analyse)
