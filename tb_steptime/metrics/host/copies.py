"""Copies by direction and by the kinds of memory of their source and target.

kernels        kkkkkk
copy       cccccccc
hidden         hhhh        time in which a kernel of the same device runs too

Copies of two recordings are matched by the kinds of memory of source and target, and by their place of origin.

base        HtoD  Pageable -> Device   aten::to   forward    2 a step, 1.3 ms
candidate   HtoD  Pinned -> Device     aten::to   forward    2 a step, 0.3 ms     the same place, other memory
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import CopyDirection, way
from tb_steptime.metrics.gpu.utilization import devices_with_activity, kernel_intervals
from tb_steptime.metrics.host.blocking_calls import blocking_groups
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE, PhaseId
from tb_steptime.text.patterns import expression
from tb_steptime.trace.compute_capability import link_bytes_per_ns
from tb_steptime.trace.groups import Groups, none_if_nan
from tb_steptime.trace.host_ranges import loader_intervals, short_range
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, find_launches
from tb_steptime.trace.nesting import lane, op_rows, outermost
from tb_steptime.trace.ops import op_at, places
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int32, Int64, Kind, distinct, is_in, values_at


class CopyRow(msgspec.Struct, frozen=True):
    """Copies of one direction between two kinds of memory; means per step.

    direction          "HtoD", "DtoH", "DtoD" and the like
    source, target     kinds of memory: "Pageable", "Pinned", "Device"
    pageable           whether one of the two is pageable
    hidden_ns          time of the copies in which a kernel runs too
    blocked_ns         time for which the calls that copy block the host
    bytes_per_second   bytes / the copies' own time; None if bytes are not recorded
    op                 the outermost op, or else the named range, whose copies take the most time
    least_ns           their time at the peak rate of the link between host and device; None for copies within
                       one of them, and where bytes or the rate are not known
    in_a_row           number of these copies that follow another of them without a kernel in between
    created_ns         the part of `total_ns` in copies of tensors that an op creates right before (`is_created`)
    made_by            the op that makes most of what is copied to the device: it computes on the CPU right before the
                       copies, outside of a loader; None if there is none
    """

    direction: str
    source: str
    target: str
    pageable: bool
    count: float
    total_ns: int
    hidden_ns: int
    bytes: int | None
    bytes_per_second: float | None
    blocked_ns: int
    op: str | None
    least_ns: int | None = None
    in_a_row: float = 0.0
    created_ns: int = 0
    made_by: str | None = None


def copy_rows(trace: Trace, steps: Steps | None = None) -> list[CopyRow]:
    """Returns one row for each direction and kinds of memory of the copies that begin within the steps, most time
    first. steps: None for all."""
    chosen = steps or find_steps(trace)
    rows, number, directions = copies_in_steps(trace, chosen)
    result = [copy_row(trace, each, rows[number == i], len(chosen.steps)) for i, each in enumerate(directions)]
    return sorted(result, key=lambda row: (-row.total_ns, row.direction, row.source))


def copies_in_steps(trace: Trace, steps: Steps) -> tuple[Int64, Int64, list[CopyDirection]]:
    """Returns the rows of `find_launches` that are copies within the steps, the place of each one's direction, and the
    directions."""
    events, launches = trace.events, find_launches(trace)
    rows = np.flatnonzero(events.kind[launches.activity] == Kind.MEMCPY)
    rows = rows[steps.holding(events.start_ns[launches.activity[rows]]) >= 0]
    names, place = np.unique(events.name[launches.activity[rows]], return_inverse=True)
    named = [way(trace.strings[int(name)]) for name in names]
    directions = list(dict.fromkeys(named))
    return rows, np.array([directions.index(each) for each in named], np.int64)[place], directions


def copy_row(trace: Trace, each: CopyDirection, rows: Int64, steps: int) -> CopyRow:
    """Builds the row for some copies, given as rows of `find_launches`. steps: number of steps."""
    events, activity = trace.events, find_launches(trace).activity[rows]
    nbytes = copied_bytes(trace, activity)
    recorded = nbytes >= 0
    sum_bytes, timed_ns = int(nbytes[recorded].sum()), int(events.dur_ns[activity[recorded]].sum())
    groups, to_device = blocking_groups(trace), each.direction == "HtoD"
    return CopyRow(
        direction=each.direction,
        source=each.source,
        target=each.target,
        pageable="Pageable" in (each.source, each.target),
        count=len(rows) / steps,
        total_ns=int(events.dur_ns[activity].sum()) // steps,
        hidden_ns=_hidden_ns(trace, rows) // steps,
        bytes=sum_bytes // steps if recorded.any() else None,
        bytes_per_second=sum_bytes * 1e9 / timed_ns if timed_ns else None,
        blocked_ns=int(groups.blocked_ns[is_in(groups.copy, rows)].sum()) // steps,
        op=_maker(trace, rows),
        least_ns=_least_ns(trace, activity, steps) if each.direction in _OVER_LINK else None,
        in_a_row=_in_a_row(trace, activity) / steps,
        created_ns=int(events.dur_ns[activity[is_created(trace, rows)]].sum()) // steps if to_device else 0,
        made_by=_made_by(trace, rows) if to_device else None,
    )


#: Minimum length of an op that makes what is copied. Ops that only describe a tensor, or look up few rows, take less.
MAKES_NS = 1_000_000


def _made_by(trace: Trace, rows: Int64) -> str | None:
    """Returns the op that makes most of what these copies, rows of `find_launches`, copy to the device; None if there
    is none.

    thread   [loader][index_select]  [copy]        nothing else is launched in between
    """
    events, launches = trace.events, find_launches(trace)
    call = launches.call[rows]
    nbytes = np.maximum(copied_bytes(trace, launches.activity[rows]), 0)
    thread = np.where(call >= 0, events.thread[call], -1)  # a copy without a launch call has no thread
    ops = events.rows(Kind.CPU_OP)
    ops = ops[events.dur_ns[ops] >= MAKES_NS]
    ops = ops[loader_intervals(trace).overlap_ns(events.start_ns[ops], events.start_ns[ops] + 1) == 0]
    ops = ops[np.argsort(events.ends(ops), kind="stable")]
    made = np.full(len(rows), -1, np.int64)
    calls = events.rows(*CALL_KINDS)
    for number in distinct(events.thread[ops]).tolist():
        here = ops[events.thread[ops] == number]
        copies = np.flatnonzero(thread == number)
        begins = np.sort(events.start_ns[calls[events.thread[calls] == number]])
        last = np.searchsorted(events.ends(here), events.start_ns[call[copies]], side="right") - 1
        copies, maker = copies[last >= 0], here[last[last >= 0]]
        since = np.searchsorted(begins, (events.start_ns[maker], events.start_ns[call[copies]]))
        alone = since[0] == since[1]  # neither the op nor what follows it calls the runtime
        made[copies[alone]] = events.name[maker[alone]]
    known = made >= 0
    if 2 * int(nbytes[known].sum()) <= int(nbytes.sum()):
        return None
    return trace.strings[int(np.bincount(made[known], nbytes[known]).argmax())]


#: The directions of copies between host and device.
_OVER_LINK = ("HtoD", "DtoH")


def _least_ns(trace: Trace, activity: Int32, steps: int) -> int | None:
    """Returns how long these copies take per step at the peak rates of their devices' links; None if a rate or bytes
    are not known."""
    nbytes, device = copied_bytes(trace, activity), trace.events.device[activity]
    total = 0.0
    for each in distinct(device).tolist():
        properties = trace.devices.get(each)
        rate = link_bytes_per_ns(properties) if properties else None
        if rate is None or (nbytes[device == each] < 0).any():
            return None
        total += int(nbytes[device == each].sum()) / rate
    return round(total / steps)


def copied_bytes(trace: Trace, activity: Int32) -> Int64:
    """Returns the bytes of these copies, rows of the event table; -1 if not recorded."""
    nbytes = trace.events.bytes
    return np.full(len(activity), -1, np.int64) if nbytes is None else nbytes[activity].astype(np.int64)


def _in_a_row(trace: Trace, activity: Int32) -> int:
    """Returns how many of these copies follow another of them on their device without a kernel in between."""
    events, kernels, number = trace.events, trace.events.rows(Kind.KERNEL), 0
    for device in distinct(events.device[activity]).tolist():
        copies = np.sort(events.start_ns[activity[events.device[activity] == device]])
        starts = np.sort(events.start_ns[kernels[events.device[kernels] == device]])
        number += int((np.diff(np.searchsorted(starts, copies)) == 0).sum())
    return number


#: Ops that make a tensor from sizes and numbers alone, or a mask.
_CREATES = expression(
    r"aten::(ones|zeros|full|eye|arange|linspace|tril|triu|tril_indices|triu_indices|randn?|randint|randperm|normal)"
    r"(_like|_)?$"
)
#: Ops that bring such a tensor into another shape or type.
_RESHAPES = expression(
    r"aten::(view|reshape|expand|unsqueeze|squeeze|transpose|permute|t|repeat|detach|alias|to|eq|ne|lt|gt|logical_not)$"
)
#: Maximum number of ops between creation and copy, and maximum time between two ops and the copy, ns.
_OPS_BEFORE, _SOON_NS = 6, 100_000


def is_created(trace: Trace, rows: Int64) -> Bool:
    """Returns for which copies, rows of `find_launches`, an op on the CPU creates the tensor right before. The op could
    create it on the device.

    op       [aten::ones][aten::tril][aten::view][aten::to  ]        created
    op       [aten::randint] ... [aten::stack][aten::to     ]        data
    """
    copying = outermost(trace, op_rows, op_at(trace, find_launches(trace).call[rows].astype(np.int64)))
    starts = np.sort(trace.events.start_ns[calls_that_launch(trace)])
    created = np.zeros(len(rows), bool)
    at = copying.copy()
    left = np.flatnonzero(copying >= 0)
    for _ in range(_OPS_BEFORE):
        at[left] = _before(trace, at[left])
        left = left[at[left] >= 0]
        start, end = trace.events.start_ns[at[left]], trace.events.ends(at[left])
        on_cpu = np.searchsorted(starts, end) == np.searchsorted(starts, start)
        left = left[on_cpu & (trace.events.start_ns[copying[left]] - end <= _SOON_NS)]
        creates = are_named(trace, at[left], _CREATES.match)
        created[left[creates]] = True
        left = left[~creates & are_named(trace, at[left], _RESHAPES.match)]
    return created


def _before(trace: Trace, op: Int64) -> Int64:
    """Returns for each outermost op the one before it on its thread; -1 for none."""
    before = np.full(len(op), -1, np.int64)
    thread = trace.events.thread[op]
    for number in distinct(thread).tolist():
        on_thread = np.flatnonzero(thread == number)
        ops = lane(trace, op_rows, number).rows
        before[on_thread] = values_at(ops, np.searchsorted(ops, op[on_thread]) - 1)
    return outermost(trace, op_rows, before)


def _hidden_ns(trace: Trace, rows: Int64) -> int:
    events, activity = trace.events, find_launches(trace).activity[rows]
    hidden = 0
    for device in devices_with_activity(trace):
        copies = activity[events.device[activity] == device]
        hidden += int(kernel_intervals(trace, device).overlap_ns(events.start_ns[copies], events.ends(copies)).sum())
    return hidden


def copy_makers(trace: Trace, rows: Int64) -> Int64:
    """Returns for each copy, a row of `find_launches`, the name of the outermost op around its call, or else of the
    named range there, as a row of the string table; -1 for none."""
    around = places(trace, find_launches(trace).call[rows])
    return values_at(trace.events.name, np.where(around.outer_op >= 0, around.outer_op, around.user_range))


def _maker(trace: Trace, rows: Int64) -> str | None:
    """Returns the op or range whose copies take the most time; None if no copy has one."""
    name = copy_makers(trace, rows)
    has_maker = name >= 0
    if not has_maker.any():
        return None
    time = np.bincount(name[has_maker], trace.events.dur_ns[find_launches(trace).activity[rows[has_maker]]])
    return short_range(trace.strings[int(time.argmax())])


#: Maximum number of places. Those with the most time are kept; the others take little.
PLACES = 100


class CopyPlace(msgspec.Struct, frozen=True):
    """The copies of one direction and kinds of memory from one place, as in `CopyRow`; sums over the compared steps.

    op             the outermost op around the copies, or else the named range
    bytes          None if they are not recorded for all copies
    deviation_ns   standard deviation of their time per step; None if there is one step
    """

    direction: str
    source: str
    target: str
    op: str | None
    phase: PhaseId
    count: int
    total_ns: int
    bytes: int | None
    deviation_ns: float | None


def copy_places(trace: Trace, step_at: Callable[[Int64], Int64], steps: int) -> list[CopyPlace]:
    """Returns the places of the copies that begin in one of the compared steps, most time first. step_at: returns the
    step of each instant, -1 for none."""
    rows, number, directions = copies_in_steps(trace, find_steps(trace))
    activity = find_launches(trace).activity[rows]
    step = step_at(trace.events.start_ns[activity])
    in_steps = step >= 0
    rows = rows[in_steps]
    number = number[in_steps]
    activity = activity[in_steps]
    step = step[in_steps]
    if not len(rows):
        return []
    maker, phase = copy_makers(trace, rows), SITE_PHASE[activity_sites(trace)[rows]]
    alike = Groups.of(number, maker, phase)
    nbytes = copied_bytes(trace, activity)
    dur_ns = trace.events.dur_ns[activity]
    unknown = alike.sum((nbytes < 0).astype(np.int64)).tolist()
    known = [None if lacks else total for total, lacks in zip(alike.sum(nbytes).tolist(), unknown, strict=True)]
    figures = zip(alike.count().tolist(), alike.sum(dur_ns).tolist(), known,
                  map(none_if_nan, alike.deviation(dur_ns, step, steps).tolist()), strict=True)  # fmt: skip
    places = [_place(trace, directions[number[row]], int(maker[row]), PHASES[int(phase[row])], figures_of_copy)
             for row, figures_of_copy in zip(alike.first.tolist(), figures, strict=True)]  # fmt: skip
    return sorted(places, key=lambda place: (-place.total_ns, place.direction, place.source, place.op or ""))[:PLACES]


def _place(
    trace: Trace, way: CopyDirection, maker: int, phase: PhaseId, figures: tuple[int, int, int | None, float | None]
) -> CopyPlace:
    count, total_ns, nbytes, deviation_ns = figures
    op = short_range(trace.strings[maker]) if maker >= 0 else None
    return CopyPlace(way.direction, way.source, way.target, op, phase, count, total_ns, nbytes, deviation_ns)
