"""Excess as rows of a result: for each step by kind, and for the span by kind, with the largest contributors."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.metrics.steady.step import excess_by_kind, excess_ns, steady_ns
from tb_steptime.metrics.steady.trials import op_of_trial
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.ops import op_at
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, Kind, distinct_in, is_in, median, values_at

ExcessId = Literal["once", "interrupted", "periodic", "profiler", "edge", "unknown"]
KINDS: tuple[ExcessId, ...] = get_args(ExcessId)

#: Maximum number of names, as many as fit in a sentence.
NAMES = 3
#: Maximum number of intervals in a picture.
MOST_SHOWN = 10_000


class ExcessNs(msgspec.Struct, frozen=True):
    """How much longer each kind of excess makes a step, in ns; the kinds are disjoint. The steady step and all kinds
    except unknown sum to the step: unknown excess counts as a part of the steady step."""

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
    """Excess of one kind over the steps.

    total_ns   how much longer it makes the steps
    count      number of calls with such excess
    step, start_ns, end_ns   the longest excess
    names      events with the most of it, the most first
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
    columns = [by_kind[ExcessKind[kind.upper()]].tolist() for kind in KINDS]
    return [ExcessNs(*row) for row in zip(*columns, strict=True)]


def steady_step_ns(trace: Trace, device: int | None) -> int:
    """Returns the median step length without excess, ns."""
    return round(median(steady_ns(trace, device)))


def excess_rows(trace: Trace, device: int | None) -> list[ExcessRow]:
    """Returns a row for every kind that makes a step longer, most first."""
    within, rows, activity = find_steps(trace).intervals, [], find_launches(trace).activity
    activity = activity[trace.events.device[activity] == device] if device is not None else activity[:0]
    for kind in KINDS:
        when = excess_by_kind(trace, device)[ExcessKind[kind.upper()]] & within
        if when.total_ns:
            excess = _excess_on(trace, find_excess(trace).of(ExcessKind[kind.upper()]), activity)
            rows.append(_row(trace, kind, when, excess))
    return sorted(rows, key=lambda row: -row.total_ns)


def _excess_on(trace: Trace, excess: Excess, streams: Int32) -> Excess:
    """Returns the excess on threads that train, and on streams of these activities."""
    threads = np.array([*training_threads(trace), *autograd_threads(trace)], np.int64)
    return excess.where(is_in(excess.track, distinct_in(np.append(trace.events.thread[streams], threads))))


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
    row = _named_rows(trace, excess.where(named))
    groups = Groups.of(values_at(trace.events.name, row))
    sums = groups.sum(own_ns[named])
    most = np.argsort(-sums, kind="stable")[:NAMES].tolist()
    return [ExcessName(_name(trace, int(row[groups.first[each]])), int(sums[each])) for each in most]


@shared
def longest_excess(trace: Trace) -> Excess:
    """Returns the excess on training threads and on streams, without the shortest intervals if there are too many."""
    excess = _excess_on(trace, find_excess(trace), find_launches(trace).activity)
    return excess.where(np.sort(np.argsort(-excess.dur_ns, kind="stable")[:MOST_SHOWN]))


def excess_names(trace: Trace, excess: Excess) -> list[tuple[ExcessId, str | None]]:
    """Returns for each its kind and its op, call, range or kernel; None stands for Python code between ops."""
    row = _named_rows(trace, excess)
    return [(KINDS[kind], _name(trace, each)) for kind, each in zip(excess.kind.tolist(), row.tolist(), strict=True)]


def _named_rows(trace: Trace, excess: Excess) -> Int64:
    """Returns the event that names each excess: the innermost op around it, or else its call, range or kernel; -1 for
    none."""
    events, event = trace.events, excess.event.astype(np.int64)
    if not len(event):
        return event
    op = op_at(trace, event)
    inside = (event >= 0) & (events.start_ns[event] <= excess.start_ns) & (excess.end_ns <= events.ends(event))
    inside &= is_in(event, step_marks(trace), invert=True)
    return op_of_trial(trace, event, np.where(inside, np.where(op >= 0, op, event), -1))


def _name(trace: Trace, row: int) -> str | None:
    if row < 0:
        return None
    name = trace.name_of(row)
    return short_name(name) if trace.events.kind[row] == Kind.KERNEL else name
