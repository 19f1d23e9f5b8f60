"""The table of blocking calls: those that are alike, with what surrounds them and the bubbles that they cost."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import directions
from tb_steptime.metrics.host.annotations import range_names
from tb_steptime.metrics.host.blocking_calls import KINDS, BlockingGroups, BlockingKind, blocking_groups
from tb_steptime.metrics.idle.bubbles import blocked_ns, bubbles
from tb_steptime.metrics.idle.cpu_updates import cpu_updates
from tb_steptime.metrics.idle.round_trips import computes_between
from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import SITES, PhaseId, Site
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import short_range, user_ranges
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.nesting import innermost, op_rows, outermost
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Int64, Kind, distinct_in, values_at


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


#: Minimum mean size of copies that take time. A smaller one takes microseconds, and a transfer's start most of them.
LARGE_BYTES = 64 << 10

#: What makes the host wait, by the change that removes it: large copies from pageable memory to the device; calls
#: within the backward pass or an optimizer's step, which no script shows; and calls of the script. A small copy takes
#: as long from pinned memory, so that it belongs to the script like a value that is read.
WaitOrigin = Literal["copies", "backward", "optimizer", "script"]
ORIGINS: tuple[WaitOrigin, ...] = get_args(WaitOrigin)

_LAUNCH = expression(r"(cuda|hip|cu)(Ext)?(Module)?LaunchKernel")


def is_launch(call: str) -> bool:
    """Returns whether calls of this name wait for the kernels that they launch, as all of a process do that was started
    so."""
    return _LAUNCH.match(call) is not None


def wait_origin(call: str, kind: BlockingKind, direction: str | None, site: Site, is_large: bool) -> WaitOrigin:
    """Returns the origin of calls that wait. is_large: whether their copies are. A launch waits wherever it is made,
    because the process was started so."""
    if is_launch(call):
        return "script"
    if site.phase == "optimizer":
        return "optimizer"
    if site.phase == "backward" and site.id != "backward.loss":
        return "backward"
    to_device = kind == "pageable_copy" and direction == "HtoD"
    return "copies" if to_device and is_large else "script"


def wait_origins(trace: Trace) -> Int64:
    """Returns the origin of each of `blocking_groups`, as its place in `ORIGINS`. Copies by the same op are of
    one kind, and large if half of them are: labels are few bytes beside images, and a loop over values has a few large
    ones."""
    groups = blocking_groups(trace)
    if not len(groups):
        return np.empty(0, np.int64)
    way, site = directions(trace, groups.copy), site_of(trace, groups.call)
    columns = (groups.kind, groups.names[:, 0], way.number, site, values_at(trace.events.name, groups.op))
    alike = Groups.of(*(np.asarray(column, np.int64) for column in columns))
    are_large = 2 * alike.sum((groups.bytes >= LARGE_BYTES).astype(np.int64)) >= alike.count()
    origins = [
        ORIGINS.index(
            wait_origin(
                call=trace.strings[int(groups.names[row, 0])],
                kind=KINDS[int(groups.kind[row])],
                direction=way[row],
                site=SITES[int(site[row])],
                is_large=large,
            )
        )
        for row, large in zip(alike.first.tolist(), are_large.tolist(), strict=True)
    ]
    return np.array(origins, np.int64)[alike.place]


#: Ops of torch that read values or sizes of results, or copy them. Scripts call some of them, and these call the
#: others.
_READS = expression(
    r"aten::(?:item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|masked_select|argwhere|index|index_put_?"
    r"|_index_put_impl_|_?unique\w*|repeat_interleave|multinomial|bincount|to|_to_copy|copy_|cpu)$"
)


_CHECKS_GRADIENTS = expression(r"aten::_amp_foreach_non_finite_check_and_unscale_$")
_READS_ONE = expression(r"aten::(item|_local_scalar_dense)$")


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
        on_thread = reads[events.thread[outer_op[reads]] == thread]
        begin, end = events.start_ns[outer_op[on_thread]], events.ends(outer_op[on_thread])
        starts_of_checks, updates, others = (
            np.sort(events.start_ns[rows[events.thread[rows] == thread]]) for rows in (checks, marks, ops)
        )
        last_check, last_update = (_last_before(starts, begin) for starts in (starts_of_checks, updates))
        next_update, next_op = (_next_after(starts, end) for starts in (updates, others))
        of_scaler = (last_check > last_update) & (next_update < NEVER) & (next_update <= next_op)
        result[on_thread[of_scaler]] = checks[
            0
        ]  # any of them, because only the name is used, which is the same for all
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
    groups, all_steps = blocking_groups(trace), find_steps(trace)
    begun = max(int(all_steps.begun_on_host(groups.start[row : row + 1])[0]), 0)
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
        worst_step=all_steps.steps[begun].name,
        worst_start_ns=int(groups.start[row]),
        worst_end_ns=end_ns,
    )
