"""What the mean step exchanges, by kind of collective and group of ranks: bytes, times, and where to see them."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.communication.collectives import (
    KIND_LABELS,
    KINDS,
    Collectives,
    find_collectives,
    launched_by_fsdp,
    launched_by_sync_norm,
    launching_calls,
)
from tb_steptime.metrics.communication.early_exchanges import early_exchanges
from tb_steptime.metrics.communication.est_waits import est_wait_ns
from tb_steptime.metrics.communication.exposure import (
    Exposure,
    computing_times,
    exposure,
    exposure_within,
    judged_windows,
)
from tb_steptime.metrics.communication.reduced_passes import backward_computing, before_gradients
from tb_steptime.metrics.communication.reducer import Reducer, reducer
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.kernel_names.work_kinds import LAYER_KERNEL
from tb_steptime.metrics.means import whole_means
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import PHASES, SITE, SITE_PHASE
from tb_steptime.metrics.phases.threads import engine_nodes
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, UInt8, is_in, median

#: Nanoseconds in a second.
_NANOSECONDS = 1e9
#: Minimum number of steps. With fewer, the steps after the first one are too few to show what is usual.
FEWEST_STEPS = 3
#: A collective is an outlier if it takes at least this many times the mean of the others.
TIMES_LONGER = 5
#: Maximum number of ranges that a card links to.
EXAMPLES = 5
#: Maximum number of rows of the page; all rows beyond it are merged into the last one. A rank of a large job is in ten
#: groups.
MOST_ROWS = 200


class InARow(msgspec.Struct, frozen=True):
    """Successive collectives of a row with hardly any computation between them, which could be merged; means per step.

    count, exposed_ns   number of them, and the time of theirs that no computation hides
    bytes, bytes_p50    bytes of all of them, and of the median one; None if not recorded
    ns_p50              length of the median one
    """

    count: float
    exposed_ns: int
    bytes: int | None
    bytes_p50: int | None
    ns_p50: int


class LastCall(msgspec.Struct, frozen=True):
    """The collectives of a row that are the last of their step.

    ns             mean length of these collectives
    others_ns      mean length of the row's others
    behind_times   how many times as long the kernel behind them takes, which reads their result, as that behind the
                   others, by medians; None if no kernel is behind some of them
    """

    ns: int
    others_ns: int
    behind_times: float | None


class CollectiveRow(msgspec.Struct, frozen=True):
    """Collectives of one kind in one group of ranks; means over the steps, per step.

    kind, label            key of KIND_LABELS, and the name there
    group, ranks, dtype    None if the trace does not show them, and in the row that merges all rows beyond MOST_ROWS
    bytes                  bytes of all these collectives in a step
    best_rate              the highest rate of any of them, bytes per second; like bytes, None if the bytes of any are
                           not recorded
    running_ns             time in which one of them runs, including waits for other ranks
    longest_ns             length of the longest one of all steps
    exposed_ns             the part of running_ns in which no computation runs

    Parts of exposed_ns, which overlap:
    wait_ns                estimated waits for other ranks; None without a GPU, where ranks share the processor
    compute_stream_ns      on a stream that the model computes on
    forward_ns             launched by the model's forward pass, as by layers that are split over ranks
    buffers_ns             launched by DDP's forward pass for the model's buffers
    nodes_ns               launched by nodes of the backward pass, and not by hooks as for gradients
    early_ns               could be exchanged by a later pass before the same optimizer step; without estimated waits
    norms_ns               launched by SyncBatchNorm, for the statistics of a batch

    in_backward            number of them that the backward pass launches; None if the place of any launch is not known
    last                   None unless every step ends with one of these collectives, and there are others. It is also
                           None if FSDP launches any of them, because it gathers parameters of layers that differ in
                           size, or if a kernel of a layer starts between the last one and the end of its step
    """

    kind: str
    label: str
    group: str | None
    ranks: int | None
    dtype: str | None
    count: float
    bytes: int | None
    best_rate: float | None
    running_ns: int
    longest_ns: int
    exposed_ns: int
    wait_ns: int | None
    compute_stream_ns: int
    forward_ns: int
    in_a_row: InARow | None
    early_ns: int = 0
    last: LastCall | None = None
    norms_ns: int = 0
    buffers_ns: int = 0
    nodes_ns: int = 0
    in_backward: float | None = None

    @property
    def gathers_more(self) -> LastCall | None:
        """The last all-gathers of the steps, if they take far longer than the others because they gather more, as the
        kernel that reads their result also does; otherwise None."""
        last = self.last
        if self.kind != "all_gather" or last is None or last.behind_times is None:
            return None
        return last if min(last.ns / max(last.others_ns, 1), last.behind_times) >= TIMES_LONGER else None


class Communication(msgspec.Struct, frozen=True):
    """What the mean step exchanges, in its judged time.

    running_ns            time in which a collective runs
    exposed_ns            the part of running_ns in which no computation runs
    wait_ns               estimated waits for other ranks, over all steps
    steady_wait_ns        the same over the steps after the first one, in which ranks wait for each other's profiler to
                          start; None with fewer than FEWEST_STEPS steps
    computing_ns          time in which the model computes
    free_compute_ns       the part of computing_ns in which no collective runs
    free_backward_ns      the part of free_compute_ns that can hide gradients: it lies in backward passes whose
                          gradients are reduced and cannot wait for a later pass, and excludes before_gradients_ns;
                          None if the trace shows no such pass
    before_gradients_ns   free time of these passes before their first gradient is ready
    rows                  most exposed first; their exposed_ns sum to exposed_ns
    examples              the longest exposed ranges
    waits                 the collectives with the longest estimated waits
    reducer               None without DistributedDataParallel, and where that only exchanges gradients
    passes                the largest number of backward passes after which the same gradients are exchanged before one
                          optimizer step; 0 if they are exchanged once
    """

    running_ns: int
    exposed_ns: int
    wait_ns: int
    steady_wait_ns: int | None
    computing_ns: int
    free_compute_ns: int
    rows: list[CollectiveRow]
    examples: list[Evidence]
    waits: list[Evidence]
    reducer: Reducer | None = None
    passes: int = 0
    free_backward_ns: int | None = None
    before_gradients_ns: int = 0


def communication(trace: Trace, chosen: Steps | None = None) -> Communication | None:
    """Returns the communication of the steps; None if no collective runs within them. chosen: None for all steps."""
    exposed = exposure(trace) if chosen is None else exposure_within(trace, chosen.intervals)
    collectives, chosen = find_collectives(trace), chosen or find_steps(trace)
    steps, within = len(chosen.steps), judged_windows(trace) & chosen.intervals
    running = Intervals.union(collectives.start, collectives.end) & within
    computing = computing_times(trace) & within
    if not len(running):
        return None
    wait = np.minimum(est_wait_ns(trace), exposed.exposed_ns)
    waits, exposed_ns = np.flatnonzero(wait), int(exposed.exposed_ns.sum())
    free = computing - running
    reduces = _reduces_gradients(trace, collectives)
    free_backward = backward_computing(trace, reduces)
    too_early = before_gradients(trace, reduces)
    return Communication(
        running_ns=running.total_ns // steps,
        exposed_ns=exposed_ns // steps,
        wait_ns=int(wait.sum()) // steps,
        steady_wait_ns=_steady_wait_ns(trace, collectives, wait, chosen),
        computing_ns=computing.total_ns // steps,
        free_compute_ns=free.total_ns // steps,
        rows=_rows(trace, exposed, wait, within, steps),
        examples=_examples(trace, exposed.alone.start, exposed.alone.end),
        waits=_examples(trace, collectives.start[waits], collectives.end[waits], wait[waits]),
        reducer=reducer(trace, chosen),
        passes=early_exchanges(trace).passes,
        free_backward_ns=None if free_backward is None else ((free_backward & free) - too_early).total_ns // steps,
        before_gradients_ns=(too_early & free).total_ns // steps,
    )


def _reduces_gradients(trace: Trace, collectives: Collectives) -> Bool:
    """Returns whether each collective reduces what a backward pass made, and could not be left to a later pass."""
    reduces = is_in(collectives.kind, (KINDS.index("all_reduce"), KINDS.index("reduce_scatter")))
    return reduces & ~is_in(_sites(trace, collectives), _IN_FORWARD) & ~early_exchanges(trace).early


_BACKWARD = PHASES.index("backward")
#: The forward pass without the broadcast of DDP's buffers.
_IN_FORWARD = SITE["forward.inputs"], SITE["forward.model"]


def _steady_wait_ns(trace: Trace, collectives: Collectives, wait: Int64, chosen: Steps) -> int | None:
    """Returns the mean wait of these steps without the recording's first one; None with too few steps. A collective
    belongs to the step in which it begins."""
    starts = find_steps(trace).start_ns
    later = int((chosen.start_ns > starts[0]).sum())
    if len(starts) < FEWEST_STEPS or not later:
        return None
    return int(wait[collectives.start >= starts[1]].sum()) // later


def _rows(trace: Trace, exposed: Exposure, wait: Int64, within: Intervals, steps: int) -> list[CollectiveRow]:
    """Returns the rows, most exposed first. within: the judged time of `steps` steps."""
    collectives = find_collectives(trace)
    members = _members(trace, collectives, within)
    shares = whole_means(
        [int(exposed.exposed_ns[member].sum()) for member in members], steps, int(exposed.exposed_ns.sum()) // steps
    )
    sites = _sites(trace, collectives)
    rows = [_row(trace, exposed, wait, sites, within, steps, *each) for each in zip(members, shares, strict=True)]
    return sorted(rows, key=lambda row: (-row.exposed_ns, -row.running_ns, row.kind, row.group or ""))


def _members(trace: Trace, collectives: Collectives, within: Intervals) -> list[Int64]:
    """Returns the collectives of each row. If there are too many rows, the last one has all those with the least
    time."""
    inside, alike = _inside(trace, within), _alike(trace, within)
    members = np.split(inside[np.argsort(alike.place, kind="stable")], np.cumsum(alike.count())[:-1])
    if len(members) <= MOST_ROWS:
        return members
    longest = np.argsort(-alike.sum((collectives.end - collectives.start)[inside]), kind="stable").tolist()
    others = np.sort(np.concatenate([members[place] for place in longest[MOST_ROWS - 1 :]]))
    return [*(members[place] for place in longest[: MOST_ROWS - 1]), others]


def _inside(trace: Trace, within: Intervals) -> Int64:
    """Returns the collectives that run in this judged time of the steps."""
    collectives = find_collectives(trace)
    return np.flatnonzero(within.overlap_ns(collectives.start, collectives.end))


def _alike(trace: Trace, within: Intervals) -> Groups:
    """Groups the collectives by kind, group of ranks and element type."""
    collectives, inside = find_collectives(trace), _inside(trace, within)
    return Groups.of(
        collectives.kind[inside], collectives.group[inside], collectives.group_size[inside], collectives.dtype[inside]
    )


def how_many_alike(trace: Trace) -> int:
    """Returns how many rows there would be without MOST_ROWS."""
    return len(_alike(trace, judged_windows(trace)))


def _row(
    trace: Trace,
    exposed: Exposure,
    wait: Int64,
    sites: UInt8,
    within: Intervals,
    steps: int,
    rows: Int64,
    exposed_ns: int,
) -> CollectiveRow:
    collectives = find_collectives(trace)
    columns = (collectives.kind, collectives.group, collectives.group_size, collectives.dtype)
    kind, group, ranks, dtype = (_common(column[rows]) for column in columns)
    early = rows[early_exchanges(trace).early[rows]]
    size = collectives.bytes[rows]
    running = Intervals.union(collectives.start[rows], collectives.end[rows]) & within
    has_sizes = bool((size >= 0).all())

    def text(number: int) -> str | None:
        return trace.collective_texts[number] if number >= 0 else None

    def exposed_per_step(which: Bool) -> int:
        return int(exposed.exposed_ns[rows[which]].sum()) // steps

    length = (collectives.end - collectives.start)[rows]
    return CollectiveRow(
        kind=KINDS[kind],
        label=KIND_LABELS[KINDS[kind]],
        group=text(group),
        ranks=ranks if ranks >= 0 else None,
        dtype=text(dtype),
        count=len(rows) / steps,
        bytes=int(size.sum()) // steps if has_sizes else None,
        best_rate=float((size / np.maximum(length, 1)).max()) * _NANOSECONDS if has_sizes else None,
        running_ns=running.total_ns // steps,
        longest_ns=int(length.max()),
        exposed_ns=exposed_ns,
        wait_ns=int(wait[rows].sum()) // steps if has_device_activity(trace) else None,
        compute_stream_ns=exposed_per_step(exposed.on_compute_stream[rows]),
        forward_ns=exposed_per_step(is_in(sites[rows], _IN_FORWARD)),
        in_a_row=_in_a_row(collectives, exposed, rows[exposed.in_a_row[rows]], steps),
        early_ns=int(np.maximum(exposed.exposed_ns[early] - wait[early], 0).sum()) // steps,
        last=_last(trace, collectives, rows),
        norms_ns=exposed_per_step(launched_by_sync_norm(trace, launching_calls(trace)[rows])),
        buffers_ns=exposed_per_step(sites[rows] == SITE["forward.buffer_broadcast"]),
        nodes_ns=exposed_per_step(sites[rows] == SITE["backward.nodes"]),
        in_backward=None
        if (sites[rows] == SITE["unknown"]).any()
        else int((SITE_PHASE[sites[rows]] == _BACKWARD).sum()) / steps,
    )


def _last(trace: Trace, collectives: Collectives, rows: Int64) -> LastCall | None:
    steps, events = find_steps(trace), trace.events
    step = steps.holding(collectives.start)
    final = np.full(len(steps.steps), -1)
    final[step[step >= 0]] = np.flatnonzero(step >= 0)  # the last one is written last
    is_last = is_in(rows, final)
    last, others = rows[is_last], rows[~is_last]
    by_fsdp = launched_by_fsdp(trace, launching_calls(trace)[rows])
    if len(last) < len(steps.steps) or not len(others) or by_fsdp.any():
        return None
    length, kernels = collectives.end - collectives.start, events.rows(Kind.KERNEL)
    kernels = kernels[is_in(kernels, collectives.event, invert=True)]
    layers = events.start_ns[kernels[are_named(trace, kernels, LAYER_KERNEL.search)]]
    if (np.searchsorted(layers, collectives.end[last]) < np.searchsorted(layers, steps.end_ns)).any():
        return None
    place = np.searchsorted(events.start_ns[kernels], collectives.end)
    behind = np.append(events.dur_ns[kernels], 0)[place]
    has_queue = (behind[last] > 0).all() and (behind[others] > 0).all()
    return LastCall(
        int(length[last].mean()),
        int(length[others].mean()),
        float(median(behind[last]) / median(behind[others])) if has_queue else None,
    )


def _common(values: Int32 | Int64 | UInt8) -> int:
    """Returns the value that all have in common, or else -1, which stands for unknown values and kinds."""
    return int(values[0]) if (values == values[0]).all() else -1


def _in_a_row(collectives: Collectives, exposed: Exposure, rows: Int64, steps: int) -> InARow | None:
    if not len(rows):
        return None
    size, length = collectives.bytes[rows], (collectives.end - collectives.start)[rows]
    has_sizes = bool((size > 0).all())
    return InARow(
        count=len(rows) / steps,
        exposed_ns=int(exposed.exposed_ns[rows].sum()) // steps,
        bytes=int(size.sum()) // steps if has_sizes else None,
        bytes_p50=int(median(size)) if has_sizes else None,
        ns_p50=int(median(length)),
    )


def _sites(trace: Trace, collectives: Collectives) -> UInt8:
    """Returns the place in SITES from which the host launched each collective. It is unknown without a GPU, and if no
    backward pass is recorded, because the forward pass is not known then."""
    if not has_device_activity(trace) or not len(engine_nodes(trace)):
        return np.full(len(collectives), SITE["unknown"], np.uint8)
    launch = np.searchsorted(find_launches(trace).activity, collectives.event)
    return activity_sites(trace)[launch]


def _examples(trace: Trace, start: Int64, end: Int64, weight: Int64 | None = None) -> list[Evidence]:
    """Returns the ranges with the most weight; without weights the longest ones."""
    steps = find_steps(trace)
    order = np.argsort(start - end if weight is None else -weight, kind="stable")[:EXAMPLES]
    step = np.maximum(steps.begun_at(start[order]), 0)
    ranges = zip(step.tolist(), start[order].tolist(), end[order].tolist(), strict=True)
    return [Evidence(steps.steps[one].name, low, high) for one, low, high in ranges]
