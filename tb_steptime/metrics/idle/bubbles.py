"""The cost of blocking calls: each group of them leaves a bubble in the device's work.

thread   |-- aten::item --|                     one group: copy + synchronize
           [copy][ sync  ]    [launch]
device   kkkkkkkkkc                  kkkk
blocked    hhhhhhhhhhhhhh                       how long the host is blocked
bubble             iiiiiiiiiiiiiiiiii           what it costs: the device idles from its drain (or the call's start)
                                                to the next activity that was launched after the call returned

The drain is the end of the work that was launched before the group began. The group's own copy is work and not part of
a bubble, but the time in which it stages pageable memory is. A bubble contains at most as much idle time as the calls'
length: a host that had not stopped would be ahead by no more, so a short call on an idle device costs next to nothing.
Bubbles are disjoint: one ends where the next group begins. They do not include waits for the loader, unrecorded work,
or time after the device's last activity. A wait for the tokens of a decoding step has none.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.activities import directions
from tb_steptime.metrics.host.annotations import range_names
from tb_steptime.metrics.host.blocking_calls import KINDS, BlockingGroups, BlockingKind, blocking_groups
from tb_steptime.metrics.idle.gaps import idle_outside_loader, launch_rows
from tb_steptime.metrics.idle.needed_waits import token_waits
from tb_steptime.metrics.idle.unrecorded import unrecorded_work
from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.phases.assignment import SITES, site_of
from tb_steptime.metrics.phases.marks import PhaseId, Site
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import short_range, user_ranges
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named
from tb_steptime.trace.nesting import innermost, op_rows, outermost
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Int64, Kind, values_at


class BlockingRow(msgspec.Struct, frozen=True):
    """Groups of blocking calls that are alike: the same op, outermost op, site, call, direction, user range, module and
    source line.

    op, outer_op     None for a call outside any recorded op
    call             the group's calls as in the trace, "cudaMemcpyAsync + cudaStreamSynchronize"
    kind             sync, pageable_copy, copy or allocator
    direction        direction of the group's copy, as in CopyRow; None if it copies nothing
    phase, site      as in SiteRow
    source           the innermost frame outside torch, "train.py(5): step"; None without stacks
    forward_*        for work of the backward pass, the op, module and line of the forward pass that created it; None
                     for other work, or if not known
    count, blocked_ns, bubble_ns   means per step; bubbles are disjoint
    bytes            bytes that are copied per step; None if nothing is copied
    device           the device that idles in the bubbles
    worst_*          the costliest group, from its start to the end of its bubble
    collective       what ranks exchange just before, if the call waits for that: "all-reduce"; otherwise None
    reads            the outermost op around the call that reads values or sizes of results, such as aten::allclose
                     within an op of the model; None if there is none
    """

    op: str | None
    outer_op: str | None
    phase: PhaseId
    site: str
    call: str
    kind: BlockingKind
    direction: str | None
    user_range: str | None
    module: str | None
    source: str | None
    forward_op: str | None
    forward_module: str | None
    forward_source: str | None
    count: float
    blocked_ns: int
    bubble_ns: int
    bytes: int | None
    device: int
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int
    collective: str | None = None
    reads: str | None = None


#: Ops of torch that read values or sizes of results, or copy them: those that a script calls, and those inside them.
_READS = expression(
    r"aten::(?:item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|masked_select|argwhere|index|index_put_?"
    r"|_index_put_impl_|_?unique\w*|repeat_interleave|multinomial|bincount|to|_to_copy|copy_|cpu)$"
)


class Bubbles(NamedTuple):
    """The bubble of each group, from start to end; bubbles are disjoint. idle_ns: the idle time of the device in it,
    for which the group is responsible."""

    start: Int64
    end: Int64
    idle_ns: Int64


def bubbles(trace: Trace, device: int, steps: Steps | None = None) -> Bubbles:
    """Returns the bubbles of each of `blocking_groups`; many groups have none. steps: those whose idle time counts;
    None for all."""
    groups, idle = blocking_groups(trace), idle_outside_loader(trace, device) - unrecorded_work(trace, device)
    start, end = _stalls(trace, device, groups)
    lasts = _when_covered(idle, idle.covered_before(start) + blocked_ns(trace, device))
    end = np.maximum(np.minimum(end, lasts), start)
    end = np.where(token_waits(trace), start, end)
    counted = idle if steps is None else idle & steps.intervals
    return Bubbles(start, end, counted.overlap_ns(start, end))


def blocked_ns(trace: Trace, device: int) -> Int64:
    """Returns how long each of `blocking_groups` blocks the host, without time excluded from judgement."""
    groups = blocking_groups(trace)
    left_out = excluded_time(trace, device).total.overlap_ns(groups.start, groups.end)
    blocked: Int64 = np.maximum(groups.blocked_ns - left_out, 0)
    return blocked


def _stalls(trace: Trace, device: int, groups: BlockingGroups) -> tuple[Int64, Int64]:
    """Returns when each group's stall begins and ends: from the drain, or the group's start, to the next activity
    launched after the group, or the start of the next group."""
    events, launches = trace.events, find_launches(trace)
    rows = launch_rows(trace, device)
    rows = rows[launches.call[rows] >= 0]
    if not len(rows) or not len(groups):
        return groups.start, groups.start
    rows = rows[np.argsort(events.start_ns.take(launches.call.take(rows)), kind="stable")]
    call_starts, activity = events.start_ns.take(launches.call.take(rows)), launches.activity[rows]
    reach = np.maximum.accumulate(events.ends(activity))
    coming = np.minimum.accumulate(events.start_ns[activity][::-1])[::-1]
    drained = np.append(np.iinfo(np.int64).min, reach)[np.searchsorted(call_starts, groups.start)]
    follows = np.append(coming, reach[-1])[np.searchsorted(call_starts, groups.end)]
    start = np.maximum(groups.start, drained)
    cut = np.append(groups.start[1:], np.iinfo(np.int64).max)
    return start, np.maximum(np.minimum(follows, cut), start)


def _when_covered(intervals: Intervals, amounts: Int64) -> Int64:
    """Returns when the intervals have covered each amount of time, counted from the first interval; int64 max if
    never."""
    covered = np.cumsum(intervals.end - intervals.start)
    place = np.searchsorted(covered, amounts)
    is_covered = place < len(covered)
    when = np.full(len(amounts), np.iinfo(np.int64).max)
    when[is_covered] = intervals.end[place[is_covered]] - (covered[place[is_covered]] - amounts[is_covered])
    return when


def step_at(trace: Trace, instants: Int64) -> Int64:
    """Returns the place of the step whose mark contains each instant; between two marks, the earlier one."""
    return np.maximum(find_steps(trace).begun_on_host(instants), 0)


def blocking_rows(
    trace: Trace, device: int, collective: Words | None = None, steps: Steps | None = None
) -> list[BlockingRow]:
    """Returns a row for each kind of similar groups, most bubble time first, then longest blocked. collective: the one
    for which each group waits. steps: those in which the groups begin; None for all."""
    groups, bubble = blocking_groups(trace), bubbles(trace, device, steps)
    if not len(groups):
        return []
    counts = np.ones(len(groups), np.int64) if steps is None else (steps.holding(groups.start) >= 0).astype(np.int64)
    blocked, idle = blocked_ns(trace, device) * counts, bubble.idle_ns * counts
    around, site = _around(trace, groups), site_of(trace, groups.call)
    around["collective"] = collective or Words(np.full(len(groups), -1, np.int32), ())
    columns = (site, groups.kind, *groups.names.T, *(words.number for words in around.values()))
    alike = Groups.of(*(np.asarray(column, np.int64) for column in columns))
    columns_summed = (counts, blocked, idle, np.maximum(groups.bytes, 0) * counts)
    totals = np.stack([alike.sum(values) for values in columns_summed], axis=1)
    worst = np.lexsort((groups.start, -blocked, -idle, -counts))
    worst = worst[np.unique(alike.place[worst], return_index=True)[1]]
    order = np.lexsort((groups.start[worst], -totals[:, 1], -totals[:, 2]))
    order = order[totals[order, 0] > 0]
    ends = np.maximum(groups.end, np.where(idle > 0, bubble.end, 0))
    result, number = [], len((steps or find_steps(trace)).steps)
    for row, sums_of_row in zip(worst[order].tolist(), totals[order].tolist(), strict=True):
        place, texts = SITES[int(site[row])], {name: words[row] for name, words in around.items()}
        result.append(_row(trace, device, row, place, texts, sums_of_row, int(ends[row]), number))
    return result


def _around(trace: Trace, groups: BlockingGroups) -> dict[str, Words]:
    """Returns what surrounds each group, by the field of `BlockingRow`. Groups that agree in all of them are alike."""
    forward = forward_of(trace, groups.call).astype(np.int64)
    outer_op = outermost(trace, op_rows, groups.op)
    reading = rows_named(trace, (Kind.CPU_OP,), _READS.match)
    rows = {
        "op": groups.op,
        "outer_op": outer_op,
        "user_range": innermost(trace, user_ranges, groups.call),
        "forward_op": forward,
        "reads": outermost(trace, reading, innermost(trace, reading, groups.call)),
    }
    names = {
        field: Words(values_at(trace.events.name, row).astype(np.int32), trace.strings.strings)
        for field, row in rows.items()
    }
    ranges = range_names(trace)
    names["user_range"] = Words(values_at(ranges.number, names["user_range"].number).astype(np.int32), ranges.texts)
    names["direction"] = directions(trace, groups.copy)
    for field, texts_of in (("module", modules), ("source", sources)):
        words = texts_of(trace, np.concatenate((groups.call, forward)))  # looked up once, as it is slow
        names[field] = Words(words.number[: len(groups)], words.texts)
        names[f"forward_{field}"] = Words(words.number[len(groups) :], words.texts)
    return names


def _row(
    trace: Trace,
    device: int,
    row: int,
    site: Site,
    around: dict[str, str | None],
    totals: list[int],
    end_ns: int,
    steps: int,
) -> BlockingRow:
    groups = blocking_groups(trace)
    count, blocked, bubble, nbytes = totals
    user_range = around["user_range"]
    return BlockingRow(
        **around | {"user_range": short_range(user_range) if user_range else None},
        phase=site.phase,
        site=site.id,
        call=groups.calls(trace, row),
        kind=KINDS[int(groups.kind[row])],
        count=count / steps,
        blocked_ns=whole_mean(blocked, steps),
        bubble_ns=whole_mean(bubble, steps),
        bytes=whole_mean(nbytes, steps) if nbytes else None,
        device=device,
        worst_step=find_steps(trace).steps[int(step_at(trace, groups.start[row : row + 1])[0])].name,
        worst_start_ns=int(groups.start[row]),
        worst_end_ns=end_ns,
    )
