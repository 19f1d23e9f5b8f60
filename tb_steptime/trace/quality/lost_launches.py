"""Finds launch calls whose work is missing from the trace: at its end, where the profiler was stopped too early, or in
between.

launch    [a][b][c][d][e][f]        every kernel launch is followed by its kernel, so d was dropped,
device     aaabbbccc   ee           and f was still to run as the recording ended

Two sorts of launches are not lost: those that a capture takes into a graph, and the driver's call within one of the
runtime. Copies and memsets are not checked: a copy of nothing, or one that the driver folds into another, has no row.
Launches of graphs are checked unless graphs may be empty. A replay of which only a part is missing is found by
`graph_holes`.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text import Done, Finding, Trust, code, count, fraction
from tb_steptime.trace.intervals import Intervals, longest_ranges
from tb_steptime.trace.model import Trace, find_launches, is_cut_short, rows_named, shared
from tb_steptime.trace.nesting import parent_places
from tb_steptime.trace.ops import BEGINS_CAPTURE, ENDS_CAPTURE, GRAPH_CALL, KERNEL_CALL, op_at
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, is_in

#: Minimum share of all launches: with fewer lost ones the figures are those of a complete recording.
LEAST_FRACTION = 0.01
#: The end is missing from the place on from which at least this share of launches is lost.
END_FRACTION = 0.9
#: Share of lost launches from which means say little.
MUCH_FRACTION = 0.1

#: Minimum share of launches outside of captures whose ops are captured, too, for a job that captures its graphs.
CAPTURED_FRACTION = 0.5

#: An empty graph is launched once in a while. This many graph launches in a row without work have lost it.
LEAST_GRAPHS_LOST = 3
#: Minimum number of graph launches with work that shows that graphs of this trace are not empty.
LEAST_GRAPHS_WITH_WORK = 2

#: Advice to run before `prof.stop()`: the work of all launches then ends while it is still recorded.
_SYNCHRONIZE, _STOP = code("torch.cuda.synchronize()"), code("prof.stop()")


class KernelLaunches(msgspec.Struct, frozen=True, eq=False):
    """Calls that launch work, as rows of the event table in time order. lost: those of them whose work is missing."""

    rows: Int64
    lost: Int64


@shared
def kernel_launches(trace: Trace) -> KernelLaunches:
    calls = rows_named(trace, CALL_KINDS, _launches)
    linked_calls = find_launches(trace).call
    launched = np.zeros(len(trace.events), bool)
    launched[linked_calls[linked_calls >= 0]] = True
    if launched[calls].all():
        return KernelLaunches(calls, calls[:0])
    calls = calls[parent_places(trace, calls) < 0]
    calls = calls[~in_captures(trace, calls)]
    graphs = is_in(calls, rows_named(trace, CALL_KINDS, _launches_graph))
    if _may_be_empty(launched[calls[graphs]]):
        calls = calls[~graphs | launched[calls]]
    return KernelLaunches(calls, calls[~launched[calls]])


def _launches(name: str) -> bool:
    return KERNEL_CALL.match(name) is not None or _launches_graph(name)


def _launches_graph(name: str) -> bool:
    return GRAPH_CALL.search(name) is not None


def _may_be_empty(has_work: Bool) -> bool:
    """Returns whether graphs without work may simply be empty. has_work: for each launch of a graph, in time order."""
    if int(has_work.sum()) < LEAST_GRAPHS_WITH_WORK:
        return True
    with_work = np.flatnonzero(has_work)
    between = np.diff(with_work, prepend=-1) - 1  # without work, before each that has some
    return bool(((between > 0) & (between < LEAST_GRAPHS_LOST)).any())


def in_captures(trace: Trace, calls: Int64) -> Bool:
    """Returns which of these calls begin while a thread captures. Such calls run nothing."""
    start = trace.events.start_ns[calls]
    return captures(trace).overlap_ns(start, start + 1) > 0


@shared
def captures(trace: Trace) -> Intervals:
    """Returns when any thread captures, from the start of the capture, or of the recording, to the end of either."""
    events = trace.events
    begins = rows_named(trace, CALL_KINDS, BEGINS_CAPTURE.match)
    ends = rows_named(trace, CALL_KINDS, ENDS_CAPTURE.match)
    place = np.searchsorted(begins, ends) - 1
    start = np.where(place >= 0, events.start_ns[begins[place]] if len(begins) else 0, 0)
    finished = Intervals.union(start, events.ends(ends))
    is_open = len(begins) and not (ends > begins[-1]).any()  # the recording ends within the last one
    return finished | Intervals.of((int(events.start_ns[begins[-1]]), _end(trace))) if is_open else finished


def _end(trace: Trace) -> int:
    return int(trace.events.ends(np.arange(len(trace.events))).max(initial=0))


def last_launch_ns(trace: Trace) -> int | None:
    """Returns when the last launch with recorded work returned, or None unless the end of the recording was lost."""
    launches, calls = kernel_launches(trace), find_launches(trace).call
    last = int(calls.max(initial=-1))
    if last < 0 or len(_at_end(launches)) < max(1, LEAST_FRACTION * len(launches.rows)):
        return None
    return int(trace.events.ends(np.array([last]))[0])


def _at_end(launches: KernelLaunches) -> Int64:
    """Returns the lost launches from which on nearly all are lost. A few later ones may have work, since streams end at
    different times."""
    lost = launches.lost
    since = len(launches.rows) - np.searchsorted(launches.rows, lost)  # each and all later ones
    most = np.flatnonzero(len(lost) - np.arange(len(lost)) >= END_FRACTION * since)
    return lost[most[0] :] if len(most) else lost[:0]


def lost_at_end_ns(trace: Trace) -> int:
    """Returns the estimated device time of the work that is missing at the end: the mean time of recorded launches for
    each. Returns 0 if the end is not missing."""
    launches = kernel_launches(trace)
    lost = len(_at_end(launches))
    if last_launch_ns(trace) is None:
        return 0
    found_launches = find_launches(trace)
    is_launch = np.zeros(len(trace.events), bool)
    is_launch[launches.rows] = True
    works = (found_launches.call >= 0) & is_launch[found_launches.call]
    whole_ns = int(trace.events.dur_ns[found_launches.activity[works]].sum())
    return lost * whole_ns // max(1, len(launches.rows) - len(launches.lost))


def _untied_findings(trace: Trace, launches: KernelLaunches) -> list[Finding]:
    """Returns a finding if launches and work are recorded, and the work has no numbers that tie it to its launches."""
    activity = find_launches(trace).activity
    if not len(launches.rows) or not len(activity) or (trace.events.correlation_id[activity] >= 0).any():
        return []
    values = {"count": count(len(launches.rows)), "work": count(len(activity))}
    return [Finding("launches_untied", "said", ("launches",), "low", len(launches.rows), 1.0, values)]


@shared
def captured_share(trace: Trace) -> float:
    """Returns the share of launches outside of captures whose op launches in a capture, too."""
    calls = rows_named(trace, CALL_KINDS, KERNEL_CALL.match)
    inside = in_captures(trace, calls)
    if not inside.any() or inside.all():
        return 0.0
    op = op_at(trace, calls)
    name = np.where(op >= 0, trace.events.name[op], -1)
    return float((is_in(name, name[inside]) & (name >= 0))[~inside].mean())


def capture_findings(trace: Trace) -> list[Finding]:
    """Returns a finding if most of what is launched is captured into graphs here: its launches need no graph."""
    share = captured_share(trace)
    if share < CAPTURED_FRACTION:
        return []
    number = int(in_captures(trace, rows_named(trace, CALL_KINDS, KERNEL_CALL.match)).sum())
    return [
        Finding(
            "graphs_captured", "said", (), "high", number, share, {"count": count(number), "share": fraction(share)}
        )
    ]


def _runs(trace: Trace, launches: KernelLaunches, lost: Int64) -> tuple[tuple[int, int], ...]:
    """Returns ranges from the first to the last of lost launches that follow one another, with no successful launch in
    between."""
    place = np.searchsorted(launches.rows, lost)
    first = np.flatnonzero(np.diff(place, prepend=-2) > 1)
    last = np.append(first[1:], len(lost)) - 1
    return longest_ranges(trace.events.start_ns[lost[first]], trace.events.ends(lost[last]))


def lost_findings(trace: Trace) -> list[Finding]:
    """Returns findings at the end, and before it. If no work is recorded, `unrecorded_device` explains it."""
    launches = kernel_launches(trace)
    if not (find_launches(trace).call >= 0).any():
        return _untied_findings(trace, launches)
    if is_cut_short(trace.notes):
        return []
    ends = _at_end(launches)
    holes = launches.lost[: len(launches.lost) - len(ends)]
    findings = list[Finding]()
    done = dict[str, Done](end_missing="left_out", launches_lost="said")
    for id, rows in (("end_missing", ends), ("launches_lost", holes)):
        share = len(rows) / max(1, len(launches.rows))
        if len(rows) and share >= LEAST_FRACTION:
            values = {
                "count": count(len(rows)), "all": count(len(launches.rows)), "share": fraction(share),
                "synchronize": _SYNCHRONIZE, "stop": _STOP,
            }  # fmt: skip
            trust: Trust = "low" if id == "launches_lost" and share >= MUCH_FRACTION else "medium"
            if len(rows) == len(launches.rows) and not len(trace.kernels):  # only copies and memsets have work
                trust = "none"
            ranges = _runs(trace, launches, rows)
            findings.append(Finding(id, done[id], ("gpu_time", "launches"), trust, len(rows), share, values, ranges))
    return findings
