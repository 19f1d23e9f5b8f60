"""All faults of a recording that its columns show: first repaired, then left out, then reported."""

from __future__ import annotations

from tb_steptime.text import Finding, count, ns
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality.graph_holes import graph_findings
from tb_steptime.trace.quality.lost_launches import lost_findings
from tb_steptime.trace.quality.memory_calls import memory_findings
from tb_steptime.trace.quality.ranges import longest
from tb_steptime.trace.quality.unnamed_device import unnamed_findings
from tb_steptime.trace.quality.unrecorded_device import device_findings
from tb_steptime.trace.shared import shared
from tb_steptime.trace.step_marks import all_marks, step_marks
from tb_steptime.trace.table import DEVICE_KINDS

_ORDER = ("repaired", "left_out", "said")


@shared
def recording_findings(trace: Trace) -> tuple[Finding, ...]:
    found = [
        *trace.repaired,
        *_marks(trace),
        *lost_findings(trace),
        *graph_findings(trace),
        *device_findings(trace),
        *memory_findings(trace),
        *unnamed_findings(trace),
    ]
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.done)))


def _marks(trace: Trace) -> list[Finding]:
    """Finding about step marks that do not enclose steps."""
    marks = all_marks(trace)
    if not len(marks) or len(step_marks(trace)):
        return []
    events = trace.events
    device = events.rows(*DEVICE_KINDS)
    values = {
        "count": count(len(marks)),
        "time": ns(int(events.dur_ns[marks].sum())),
        "work": ns(int(events.dur_ns[device].sum())),
    }
    ranges = longest(events.start_ns[marks], events.ends(marks))
    return [Finding("marks_meaningless", "left_out", ("steps",), "medium", len(marks), 1.0, values, ranges)]
