"""Faults of a recording: what its columns show, and how much of its steps is the profiler's own time."""

from __future__ import annotations

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.text import Finding, fraction, ns
from tb_steptime.trace.intervals import longest_ranges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import recording_findings
from tb_steptime.trace.steps import find_steps

#: Minimum share of the steps: less changes no figure that anybody reads.
LEAST_FRACTION = 0.01


def findings(trace: Trace, device: int | None) -> list[Finding]:
    """Returns the findings: repaired faults first, then exclusions, then mere remarks. device: the one that is
    judged."""
    steps, own = find_steps(trace), excluded_time(trace, device).profiler
    taken = int(steps.overlap_ns(own).sum())
    share = taken / max(1, int(steps.duration_ns.sum()))
    found = list(recording_findings(trace))
    if share >= LEAST_FRACTION:
        values = {"time": ns(taken), "share": fraction(share)}
        place = sum(each.done != "said" for each in found)
        found.insert(
            place,
            Finding(
                "profiler_time", "left_out", (), share=share, values=values, ranges=longest_ranges(own.start, own.end)
            ),
        )
    return found
