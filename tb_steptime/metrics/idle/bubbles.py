"""The cost of blocking calls. Each group of them leaves a bubble in the device's work.

thread   |-- aten::item --|                     one group: copy + synchronize
           [copy][ sync  ]    [launch]
device   kkkkkkkkkc                  kkkk
blocked    hhhhhhhhhhhhhh                       how long the host is blocked
bubble             iiiiiiiiiiiiiiiiii           what it costs: the device idles from its drain (or the call's start)
                                                to the next activity that was launched after the call returned

The drain is the end of the work that was launched before the group began. The group's own copy is work and not part of
a bubble, but the time in which it stages pageable memory is. A bubble contains at most as much idle time as the calls'
length. A host that had not waited would be ahead by no more, so a short call on an idle device costs next to nothing.
Bubbles are disjoint: one ends where the next group begins. They do not include waits for the loader, unrecorded work,
or time after the device's last activity. A wait for the tokens of a decoding step has no bubble, nor has one in a
thread that launches no kernels, unless those that launch go on when it ends (`host/handovers`).

Some waits have to stay: those for gradients that an optimizer reads on the CPU, and those for the tokens of a decoding
step.

An optimizer whose state is offloaded updates the weights on the CPU, while the GPU waits. It cannot start before it has
the gradients, and the next step cannot start before it ends.

range                                             [ Optimizer.step, on the CPU  ]
thread   [launch]|-- copy gradients to the host --|                              [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk                                kkkkkk
                                                  iiiiiiiiiiiiiiiiiiiiiiiiiiiiiii     idle because of the CPU's work

An update without a range, as that of an optimizer outside torch, is recognised by the copies around it:

thread   backward [copy][ sync  ]                 [copy]
device   kkkkkkkkkggggggggggggggg                 wwwwww    gradients to the host, weights back: about as many bytes
update                           uuuuuuuuuuuuuuuuu

Other work of a CPU between two copies lacks one of these signs. Batches and the results of an evaluation are not copied
back within the step, reading a loss copies a few bytes, activations are offloaded before the backward pass ends, a
checkpoint is copied one way, and inference has no backward pass.

A server reads which tokens its model chose, and decides by them what runs next, so the last wait of each step has to
stay, and what follows is the time of the CPU:

thread   [launch]|-- copy tokens to the host --|  schedule, prepare  [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkk                       kkkkkkkk
                                              iiiiiiiiiiiiiiiiiiiiiii          idle because of the CPU's work

In training, or where batches follow each other, a value can be read later, or not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.activities import directions, way
from tb_steptime.metrics.host.annotations import range_names
from tb_steptime.metrics.host.blocking_calls import KINDS, BlockingGroups, BlockingKind, blocking_groups
from tb_steptime.metrics.host.handovers import background_waits, handovers
from tb_steptime.metrics.idle.gaps import idle_outside_loader, launch_rows, unrecorded_work
from tb_steptime.metrics.idle.host_activity import activity_in
from tb_steptime.metrics.idle.host_stalls import pause_intervals
from tb_steptime.metrics.idle.round_trips import computes_between
from tb_steptime.metrics.job import purpose_of
from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import SITES, PhaseId, Site
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import loader_intervals, short_range, user_ranges
from tb_steptime.trace.intervals import BEFORE_ALL, NEVER, Intervals
from tb_steptime.trace.model import (
    Trace,
    are_named,
    calls_that_launch,
    find_launches,
    in_order_of_calls,
    rows_named,
    shared,
)
from tb_steptime.trace.nesting import innermost, op_rows, outermost
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in, is_in, values_at


class BlockingRow(msgspec.Struct, frozen=True):
    """Groups of blocking calls that are alike: they have the same op, outermost op, site, call, direction, user range,
    module and source line.

    op, outer_op     the innermost and the outermost op around the call; None outside any recorded op
    call             the group's calls as in the trace, such as "cudaMemcpyAsync + cudaStreamSynchronize"
    kind             sync, pageable_copy, copy or allocator
    direction        direction of the group's copy, as in CopyRow; None if it copies nothing
    phase, site      as in SiteRow
    source           the innermost frame outside torch, such as "train.py(5): step"; None without stacks
    forward_*        for work of the backward pass, the op, module and line of the forward pass that created it; None
                     for other work, or if not known
    count, blocked_ns, bubble_ns   means per step; bubbles are disjoint
    bytes            bytes that are copied per step; None if nothing is copied
    device           the device that idles in the bubbles
    worst_*          the costliest group, from its start to the end of its bubble
    collective       what ranks exchange just before, if the call waits for that: "all-reduce"; otherwise None
    reads            the outermost op around the call that reads values or sizes of results, such as aten::allclose
                     within an op of the model; None if there is none
    feeds            the op of the CPU that takes most of the time until results of its work are copied back to the
                     device in the same step; None if nothing is, or if few bytes are copied to the host
    checks           the op that looks for infinite gradients, if a gradient scaler reads by the call what it found;
                     otherwise None
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
    checks: str | None = None
    feeds: str | None = None


#: Ops of torch that read values or sizes of results, or copy them. Scripts call some of them, and these call the
#: others.
_READS = expression(
    r"aten::(?:item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|masked_select|argwhere|index|index_put_?"
    r"|_index_put_impl_|_?unique\w*|repeat_interleave|multinomial|bincount|to|_to_copy|copy_|cpu)$"
)


_CHECKS_GRADIENTS = expression(r"aten::_amp_foreach_non_finite_check_and_unscale_$")
_READS_ONE = expression(r"aten::(item|_local_scalar_dense)$")


class Bubbles(NamedTuple):
    """The bubble of each group, from start to end. Bubbles are disjoint. idle_ns: the device's idle time in the bubble,
    for which the group is responsible."""

    start: Int64
    end: Int64
    idle_ns: Int64


def bubbles(trace: Trace, device: int, steps: Steps | None = None) -> Bubbles:
    """Returns the bubble of each of `blocking_groups`, which is empty for many groups. steps: those whose idle time
    counts; None for all."""
    idle, start, end = _bounds(trace, device)
    counted = idle if steps is None else idle & steps.intervals
    return Bubbles(start, end, counted.overlap_ns(start, end))


@shared
def _bounds(trace: Trace, device: int) -> tuple[Intervals, Int64, Int64]:
    """Returns when the device is idle in a way that a call can cause, and when the bubble of each group starts and
    ends."""
    groups = blocking_groups(trace)
    idle = idle_outside_loader(trace, device) - unrecorded_work(trace, device)
    start, end = _stalls(trace, device, groups)
    end = np.minimum(end, _next_pause(trace, device, start))
    lasts = _when_covered(idle, idle.covered_before(start) + blocked_ns(trace, device))
    end = np.maximum(np.minimum(end, lasts), start)
    return idle, start, np.where(token_waits(trace) | _delays_nothing(trace), start, end)


def _delays_nothing(trace: Trace) -> Bool:
    """Says which of `blocking_groups` wait in a thread that launches no kernels, while no other one waits for it."""
    call, background = blocking_groups(trace).call, background_waits(trace)
    awaited = is_in(trace.events.thread[call], distinct_in(trace.events.thread[handovers(trace).wait]))
    return is_in(trace.events.thread[call], distinct_in(trace.events.thread[background])) & ~awaited


def _next_pause(trace: Trace, device: int, instants: Int64) -> Int64:
    """Returns when the host next pauses after each instant; in a pause, the instant itself. A bubble ends there,
    because a rare pause behind a call causes the idle time in it. Without the pause, the call would cost less."""
    pauses = pause_intervals(trace, device)
    following = np.searchsorted(pauses.end, instants, side="right")
    begins: Int64 = np.append(pauses.start, NEVER)[following]
    return np.maximum(begins, instants)


def blocked_ns(trace: Trace, device: int) -> Int64:
    """Returns how long each of `blocking_groups` blocks the host, without time excluded from judgement."""
    groups = blocking_groups(trace)
    left_out = excluded_time(trace, device).total.overlap_ns(groups.start, groups.end)
    blocked: Int64 = np.maximum(groups.blocked_ns - left_out, 0)
    return blocked


def _stalls(trace: Trace, device: int, groups: BlockingGroups) -> tuple[Int64, Int64]:
    """Returns when each group's stall begins and ends. It begins with the drain, or with the group if that starts
    later. It ends with the next activity that was launched after the group, or with the start of the next group."""
    events, launches = trace.events, find_launches(trace)
    rows = in_order_of_calls(trace, launch_rows(trace, device))
    if not len(rows) or not len(groups):
        return groups.start, groups.start
    call_starts = events.start_ns.take(launches.call.take(rows))
    activity = launches.activity[rows]
    reach = np.maximum.accumulate(events.ends(activity))
    coming = np.minimum.accumulate(events.start_ns[activity][::-1])[::-1]
    drained = np.append(BEFORE_ALL, reach)[np.searchsorted(call_starts, groups.start)]
    follows = np.append(coming, reach[-1])[np.searchsorted(call_starts, groups.end)]
    start = np.maximum(groups.start, drained)
    cut = np.append(groups.start[1:], NEVER)
    return start, np.maximum(np.minimum(follows, cut), start)


def _when_covered(intervals: Intervals, amounts: Int64) -> Int64:
    """Returns when the intervals have covered each amount of time, counted from the first interval; NEVER if they never
    do."""
    covered = np.cumsum(intervals.end - intervals.start)
    place = np.searchsorted(covered, amounts)
    is_covered = place < len(covered)
    when = np.full(len(amounts), NEVER)
    when[is_covered] = intervals.end[place[is_covered]] - (covered[place[is_covered]] - amounts[is_covered])
    return when


def step_at(trace: Trace, instants: Int64) -> Int64:
    """Returns the place of the step whose mark contains each instant; between two marks that of the earlier one."""
    return np.maximum(find_steps(trace).begun_on_host(instants), 0)


def blocking_rows(
    trace: Trace, device: int, collective: Words | None = None, steps: Steps | None = None
) -> list[BlockingRow]:
    """Returns a row for each kind of similar groups, most bubble time first, then longest blocked. collective: what
    each group waits for. steps: those in which the groups begin; None for all."""
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
        place = SITES[int(site[row])]
        texts = {name: words[row] for name, words in around.items()}
        result.append(_row(trace, device, row, place, texts, sums_of_row, int(ends[row]), number))
    return result


def _around(trace: Trace, groups: BlockingGroups) -> dict[str, Words]:
    """Returns what surrounds each group, by field of `BlockingRow`. Groups that agree in all of these are alike."""
    forward = forward_of(trace, groups.call).astype(np.int64)
    outer_op = outermost(trace, op_rows, groups.op)
    reading = rows_named(trace, (Kind.CPU_OP,), _READS.match)
    rows = {
        "op": groups.op,
        "outer_op": outer_op,
        "user_range": innermost(trace, user_ranges, groups.call),
        "forward_op": forward,
        "reads": outermost(trace, reading, innermost(trace, reading, groups.call)),
        "checks": _checks_read(trace, groups, outer_op),
        "feeds": computes_between(trace, groups, cpu_updates(trace)),
    }
    names = {
        field: Words(values_at(trace.events.name, row).astype(np.int32), trace.strings.strings)
        for field, row in rows.items()
    }
    ranges = range_names(trace)
    names["user_range"] = Words(values_at(ranges.number, names["user_range"].number).astype(np.int32), ranges.texts)
    names["direction"] = directions(trace, groups.copy)
    for field, texts_of in (("module", modules), ("source", sources)):
        words = texts_of(trace, np.concatenate((groups.call, forward)))  # both at once, because this is slow
        names[field] = Words(words.number[: len(groups)], words.texts)
        names[f"forward_{field}"] = Words(words.number[len(groups) :], words.texts)
    return names


def _checks_read(trace: Trace, groups: BlockingGroups, outer_op: Int64) -> Int64:
    """Returns, for each group with which a gradient scaler reads whether there are infinite gradients, an op that looks
    for these; -1 for others. `GradScaler.step` reads this last before the optimizer's step, which it skips if there are
    any. Other reads, such as that of the norm to which gradients are clipped, come before.

    thread   |- check -|   |- clip -|  |- item -| |-- item --| [ Optimizer.step ]
                                         the norm  what the check found
    """
    result = np.full(len(groups), -1, np.int64)
    events = trace.events
    checks = rows_named(trace, (Kind.CPU_OP,), _CHECKS_GRADIENTS.match)
    if not len(checks):
        return result
    marks, ops = optimizer_marks(trace), events.rows(Kind.CPU_OP)
    reads = np.flatnonzero(outer_op >= 0)
    reads = reads[are_named(trace, outer_op[reads], _READS_ONE.match)]
    for thread in distinct_in(events.thread[checks]).tolist():
        here = reads[events.thread[outer_op[reads]] == thread]
        begin, end = events.start_ns[outer_op[here]], events.ends(outer_op[here])
        starts_of_checks, updates, others = (
            np.sort(events.start_ns[rows[events.thread[rows] == thread]]) for rows in (checks, marks, ops)
        )
        last_check, last_update = (_last_before(starts, begin) for starts in (starts_of_checks, updates))
        next_update, next_op = (_next_after(starts, end) for starts in (updates, others))
        of_scaler = (last_check > last_update) & (next_update < NEVER) & (next_update <= next_op)
        result[here[of_scaler]] = checks[0]  # any of them, because only the name is used, which is the same for all
    return result


def _last_before(starts: Int64, instants: Int64) -> Int64:
    return np.append(-NEVER, starts)[np.searchsorted(starts, instants)]


def _next_after(starts: Int64, instants: Int64) -> Int64:
    return np.append(starts, NEVER)[np.searchsorted(starts, instants)]


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


#: Minimum length of an optimizer's step on the CPU. A step on a GPU whose launches are not recorded is shorter.
LEAST_UPDATE_NS = 1_000_000
#: Minimum bytes of gradients and of weights. A step that reads a loss or its metrics copies less.
LEAST_BYTES = 1 << 20
#: Maximum ratio of the bytes of gradients and weights. Gradients may have twice or half the bytes of the weights, and
#: may be scattered among ranks that gather fewer weights.
MOST_TIMES = 4
#: Places where the CPU is after the backward pass.
_AFTER_BACKWARD = [place for place, site in enumerate(SITES) if site.phase in ("optimizer", "other")]
#: Names of an optimizer's functions.
_OF_OPTIMIZER = expression(r"(?i)adam|adagrad|optim")


@shared
def cpu_updates(trace: Trace) -> Intervals:
    """Returns when optimizers run on the CPU and launch no kernel."""
    events, marks = trace.events, optimizer_marks(trace)
    if not len(marks):
        return _unmarked(trace)
    call_starts = events.start_ns[calls_that_launch(trace, Kind.KERNEL)]
    inside = np.searchsorted(call_starts, events.ends(marks)) - np.searchsorted(call_starts, events.start_ns[marks])
    return Intervals.of_events(events, marks[(inside == 0) & (events.dur_ns[marks] >= LEAST_UPDATE_NS)])


def _unmarked(trace: Trace) -> Intervals:
    """Returns the times from a wait after the backward pass to the next launch, if that copies weights in the same
    step and the CPU does nothing recorded meanwhile. Only marks show where a step ends, and thereby that a copy is no
    batch."""
    groups, steps = blocking_groups(trace), find_steps(trace)
    if not len(groups) or trace.events.bytes is None or steps.by != "marks":
        return Intervals.empty()
    rows = np.flatnonzero(
        is_in(site_of(trace, groups.call), _AFTER_BACKWARD)
        & is_in(trace.events.thread[groups.call], [*training_threads(trace)])
        & (steps.holding_on_host(groups.end) >= 0)
    )
    start = groups.end[rows]
    end = _next_weights(trace, start)
    long = (end - start >= LEAST_UPDATE_NS) & (loader_intervals(trace).overlap_ns(start, end) == 0)
    rows = rows[long]
    start = start[long]
    end = end[long]
    threads = trace.events.thread[groups.call[rows]]
    places = zip(threads.tolist(), start.tolist(), end.tolist(), strict=True)
    doing = [activity_in(trace, *each) for each in places]
    # For most of the time nothing is recorded of the CPU, or only a function of an optimizer.
    is_unmarked = np.array([
        each.kind == "nothing" or (each.kind == "frame" and _OF_OPTIMIZER.search(each.name or "") is not None)
        for each in doing
    ], bool)  # fmt: skip
    return Intervals.union(start[is_unmarked], end[is_unmarked])


def _next_weights(trace: Trace, waited: Int64) -> Int64:
    """Returns for the end of each wait when the next launch begins; the end of the wait unless that launch copies to
    the device in the same step, and about as many bytes are copied to the host before it as to the device from it
    on."""
    events = trace.events
    launches = find_launches(trace)
    steps = find_steps(trace)
    rows = in_order_of_calls(trace, np.arange(len(launches.call)))
    call_starts = events.start_ns[launches.call[rows]]
    activity = launches.activity[rows]
    to_host, to_device = (_copied(trace, activity, direction) for direction in ("DtoH", "HtoD"))
    step = steps.holding_on_host(waited)
    low, following, high = (
        np.searchsorted(call_starts, bound) for bound in (steps.host_start_ns[step], waited, steps.host_end_ns[step])
    )
    out = to_host[following] - to_host[low]
    back = to_device[high] - to_device[following]
    alike = (np.minimum(out, back) >= LEAST_BYTES) & (np.maximum(out, back) <= MOST_TIMES * np.minimum(out, back))
    follows = np.minimum(following + 1, high)
    copies = to_device[follows] > to_device[following]
    return np.where(alike & copies, np.append(call_starts, 0)[following], waited)


def _copied(trace: Trace, activity: Int32, direction: str) -> Int64:
    """Returns the bytes that are copied in this direction before each of these activities, and finally by all of
    them."""
    assert trace.events.bytes is not None
    is_copy = are_named(trace, activity, lambda name: way(name).direction == direction)
    is_copy &= trace.events.kind[activity] == Kind.MEMCPY
    return np.append(0, np.cumsum(np.where(is_copy, np.maximum(trace.events.bytes[activity], 0), 0)))


#: Ranges and kernels of decoding with a cache of keys and values, of vLLM, SGLang, TensorRT-LLM, FlashInfer and
#: FlashAttention. The range of vLLM ends with the number of requests and tokens that it generates; that of earlier
#: releases with the number of requests that it continues.
_DECODES = expression(
    r"\bDECODE\b|generation_[1-9]|\bexecute_new_0_cached_[1-9]|reshape_and_cache|store_kv_?cache|paged_attention"
    r"|Paged(?:KV|Attention)|BatchDecode|flash_fwd_splitkv|unified_attention|decode_attention"
    r"|_fwd_(?:grouped_)?kernel_stage[12]|masked_multihead_attention"
)


@shared
def token_waits(trace: Trace) -> Bool:
    """Returns which of `blocking_groups` are the last ones of their step that wait for results, if the job decodes, or
    wait for what an optimizer on the CPU needs."""
    groups = blocking_groups(trace)
    is_token_wait = np.zeros(len(groups), bool)
    if not len(groups):
        return is_token_wait
    way = directions(trace, groups.copy)
    reads = np.array([way[place] == "DtoH" for place in range(len(groups))], bool)
    rows = np.flatnonzero(reads | (groups.kind == KINDS.index("sync")) & (groups.copy < 0))
    is_token_wait[rows] = _before_updates(trace, groups.end[rows])
    decodes = rows_named(trace, (Kind.USER, Kind.CPU_OP, Kind.KERNEL), _DECODES.search)
    if not len(decodes) or purpose_of(trace)[0] == "training":
        return is_token_wait
    step_starts = find_steps(trace).host_start_ns
    step = np.searchsorted(step_starts, groups.start[rows], side="right")
    is_token_wait[rows[np.diff(step, append=len(step_starts) + 1) > 0]] = True
    return is_token_wait


def _before_updates(trace: Trace, ends: Int64) -> Bool:
    """Returns whether optimizers run on the CPU for most of the time from each instant to the next launch, or to the
    end of the steps."""
    call_starts = trace.events.start_ns[calls_that_launch(trace)]
    following = np.append(call_starts, ends.max(initial=find_steps(trace).window[1]))[
        np.searchsorted(call_starts, ends)
    ]
    return np.asarray(2 * cpu_updates(trace).overlap_ns(ends, following) > following - ends, bool)


def in_token_waits(trace: Trace, rows: Int32 | Int64) -> Bool:
    """Returns which of these rows of the event table begin during a wait of `token_waits`, on any thread."""
    groups, token_groups = blocking_groups(trace), token_waits(trace)
    starts = trace.events.start_ns[rows]
    return Intervals.union(groups.start[token_groups], groups.end[token_groups]).overlap_ns(starts, starts + 1) > 0
