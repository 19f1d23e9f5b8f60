"""Timeline: where the steps are. Events are served by window (see `tb_steptime.timeline`)."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Analysis, TimelineStep
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: Number of events read at once: the ends of all events of a large trace would take 20 MB.
_AT_ONCE = 1 << 18


class TimelineResult(msgspec.Struct, frozen=True):
    """The time span of the timeline. first_ns: start of the first event; last_ns: end of the last one."""

    first_ns: int
    last_ns: int
    steps: list[TimelineStep]


def analyse(trace: Trace) -> TimelineResult:
    first, last = _extent(trace)
    return TimelineResult(
        first_ns=first,
        last_ns=last,
        steps=[TimelineStep(step.name, step.start_ns, step.end_ns) for step in find_steps(trace).steps],
    )


def _extent(trace: Trace) -> tuple[int, int]:
    """Returns the first start and the last end of all events."""
    start, length = trace.events.start_ns, trace.events.dur_ns
    parts = [slice(first, first + _AT_ONCE) for first in range(0, len(start), _AT_ONCE)]
    last = max((int((start[part] + length[part]).max()) for part in parts), default=0)
    return int(start.min(initial=0)), max(last, 0)


ANALYSIS = Analysis("timeline", "Timeline", TimelineResult, analyse, TimelineResult(0, 0, []))
