"""Faults of a recording: what its columns show, and how much of its steps is the profiler's own time."""

from __future__ import annotations

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.host.profiler_cost import observed_op_ns, profiler_cost
from tb_steptime.text import Finding, Trust, fraction, ns
from tb_steptime.trace.intervals import longest_ranges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import recording_findings
from tb_steptime.trace.steps import find_steps

#: Minimum share of the steps: less changes no figure that anybody reads.
LEAST_FRACTION = 0.01
#: Share of the steps from which on what observes the ops makes conclusions about the host unsure, and very unsure.
OBSERVED_FRACTION, MOSTLY_OBSERVED = 0.05, 0.2


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
    if observed := _observed_twice(trace):
        found.append(observed)
    return found


def _observed_twice(trace: Trace) -> Finding | None:
    """The finding that something beside the profiler observes each op, where that takes a good part of the steps."""
    cost, each_ns = profiler_cost(trace), observed_op_ns(trace)
    if cost is None or not each_ns:
        return None
    steps_ns = find_steps(trace).duration_ns
    share = cost.low_ns * len(steps_ns) / max(1, int(steps_ns.sum()))
    if share < OBSERVED_FRACTION:
        return None
    values = {"each": ns(each_ns), "cost": ns(cost.low_ns), "share": fraction(share)}
    trust: Trust = "low" if share >= MOSTLY_OBSERVED else "medium"
    return Finding("ops_observed", "said", ("host_time", "launches"), trust, share=share, values=values)
