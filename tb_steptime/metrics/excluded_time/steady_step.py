"""The part of each recorded step that is excess, and the steady step that remains. As integers they sum to the recorded
step.

host     [  mm  |#### once ####]        [ mm ]
device        kkkk                kkkk##   kkkk        ##: a kernel that was interrupted
step     |        #############       ##      |        excess of a step: what verdicts exclude (`ranges`), and
                                                       what else makes it longer (`steady.exposed`)

Excess is also rows of a result: for each step by kind, and for the span by kind, with the largest contributors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import BACKWARD, excluded_time
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.metrics.phases.forward_only import comparable, forward_only
from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import REMOVED, Excess, ExcessKind
from tb_steptime.metrics.steady.exposed import BACKWARD_STARTS, exposed_excess, named_rows
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, Kind, distinct_in, is_in, median, values_at


@shared
def excess_by_kind(trace: Trace, device: int | None) -> Mapping[ExcessKind, Intervals]:
    """Returns for each kind of excess when it makes a step longer, as seen by one device. The kinds are disjoint; what
    verdicts exclude takes precedence. device: None for a process without one."""
    excluded, exposed = excluded_time(trace, device), exposed_excess(trace, device)
    by_kind = {
        ExcessKind.EDGE: excluded.before_recording | excluded.after_recording,
        ExcessKind.PROFILER: excluded.profiler,
        ExcessKind.ONCE: excluded.once,
    }
    return by_kind | {kind: when - excluded.total for kind, when in exposed.items() if kind not in by_kind}


def excess_ns(trace: Trace, device: int | None) -> dict[ExcessKind, Int64]:
    """Returns for each kind how much longer it makes each step, ns."""
    steps = find_steps(trace)
    by_kind = excess_by_kind(trace, device)
    return {kind: steps.overlap_ns(when) for kind, when in by_kind.items()}


def steady_ns(trace: Trace, device: int | None) -> Int64:
    """Returns the length of each step without excess, ns. Unknown excess remains."""
    steps, excess = find_steps(trace), excess_ns(trace, device)
    return steps.duration_ns - sum(excess[kind] for kind in REMOVED)


ExcessId = Literal["once", "interrupted", "periodic", "profiler", "edge", "unknown"]
#: Each kind and its id, in the order of `ExcessNs`.
KINDS: dict[ExcessKind, ExcessId] = {ExcessKind[id.upper()]: id for id in get_args(ExcessId)}

#: Maximum number of names. No more fit in a sentence.
NAMES = 3
#: Maximum number of intervals in a picture.
MOST_SHOWN = 10_000


class ExcessNs(msgspec.Struct, frozen=True):
    """By how much each kind of excess makes a step longer, ns. The kinds are disjoint. The steady step and all kinds
    except unknown sum to the step, because unknown excess counts as a part of the steady step."""

    once: int = 0
    interrupted: int = 0
    periodic: int = 0
    profiler: int = 0
    edge: int = 0
    unknown: int = 0


class ExcessName(msgspec.Struct, frozen=True):
    """The excess of one op, call, range or kernel. name: None for Python code between ops."""

    name: str | None
    ns: int


class ExcessRow(msgspec.Struct, frozen=True):
    """The excess of one kind over the steps.

    total_ns   by how much it makes the steps longer
    count      number of calls with such excess
    step, start_ns, end_ns   where the longest excess is
    names      events with the most of it, most first
    """

    kind: ExcessId
    total_ns: int
    count: int
    step: str
    start_ns: int
    end_ns: int
    names: list[ExcessName]


def step_excess(trace: Trace, device: int | None) -> list[ExcessNs]:
    """Returns the excess of each step."""
    by_kind = excess_ns(trace, device)
    columns = [by_kind[kind].tolist() for kind in KINDS]
    return [ExcessNs(*row) for row in zip(*columns, strict=True)]


def steady_step_ns(trace: Trace, device: int | None) -> int:
    """Returns the median length of comparable steps without excess, ns."""
    lengths = steady_ns(trace, device)
    return round(median(lengths[comparable(lengths, forward_only(trace))]))


def excess_rows(trace: Trace, device: int | None) -> list[ExcessRow]:
    """Returns a row for every kind that makes a step longer, longest first."""
    within = find_steps(trace).intervals
    rows = []
    activity = find_launches(trace).activity
    activity = activity[trace.events.device[activity] == device] if device is not None else activity[:0]
    for kind, id in KINDS.items():
        when = excess_by_kind(trace, device)[kind] & within
        if when.total_ns:
            rows.append(_row(trace, id, when, _excess_on(trace, find_excess(trace).of(kind), activity)))
    return sorted(rows, key=lambda row: -row.total_ns)


def _excess_on(trace: Trace, excess: Excess, streams: Int32) -> Excess:
    """Returns the excess on threads that train, and on the streams of these activities."""
    tracks = distinct_in(np.append(trace.events.thread[streams], np.array(step_threads(trace), np.int64)))
    return excess.where(is_in(excess.track, tracks))


def _row(trace: Trace, kind: ExcessId, when: Intervals, excess: Excess) -> ExcessRow:
    length = when.end - when.start
    worst = int(length.argmax())
    own_ns = when.overlap_ns(excess.start_ns, excess.end_ns)
    start = int(when.start[worst])
    return ExcessRow(
        kind=kind,
        total_ns=when.total_ns,
        count=int((own_ns > 0).sum()),
        step=find_steps(trace).at(start).name,
        start_ns=start,
        end_ns=int(when.end[worst]),
        names=_names(trace, excess.where(own_ns > 0), own_ns[own_ns > 0]),
    )


def _names(trace: Trace, excess: Excess, own_ns: Int64) -> list[ExcessName]:
    """Returns the largest contributors. Excess without an event beside it is not named."""
    named = np.flatnonzero(excess.event >= 0)
    if not len(named):
        return []
    row = named_rows(trace, excess.where(named))
    groups = Groups.of(np.where(row < 0, row, values_at(trace.events.name, row)))
    sums = groups.sum(own_ns[named])
    most = np.argsort(-sums, kind="stable")[:NAMES].tolist()
    return [ExcessName(_name(trace, int(row[groups.first[each]])), int(sums[each])) for each in most]


@shared
def longest_excess(trace: Trace) -> Excess:
    """Returns the excess on training threads and on streams, without the shortest intervals if there are too many."""
    excess = _excess_on(trace, find_excess(trace), find_launches(trace).activity)
    return excess.where(np.sort(np.argsort(-excess.dur_ns, kind="stable")[:MOST_SHOWN]))


def excess_names(trace: Trace, excess: Excess) -> list[tuple[ExcessId, str | None]]:
    """Returns the kind of each excess, and its op, call, range or kernel; None stands for Python code between ops."""
    row = named_rows(trace, excess)
    ids = [KINDS[ExcessKind(kind)] for kind in excess.kind.tolist()]
    return [(id, _name(trace, each)) for id, each in zip(ids, row.tolist(), strict=True)]


def _name(trace: Trace, row: int) -> str | None:
    if row < 0:
        return BACKWARD if row == BACKWARD_STARTS else None
    name = trace.name_of(row)
    return short_name(name) if trace.events.kind[row] == Kind.KERNEL else name
