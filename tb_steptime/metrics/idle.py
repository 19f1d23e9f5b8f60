"""Why a GPU is idle: a partition of its idle time by what the next activity was waiting for.

thread   [ loader ] --op--[sync]     [lll]      what the launching thread does, and its launch of the next activity
device   kkk                               kk
idle        dddddddd cccccbbbbbbnnnnnlllll      data loading, CPU work, blocking call, nothing recorded, launch latency

Reasons are disjoint and sum to the idle time; the loader's waits come first, so that exposed data loading is one
number. Each gap is charged to the place that launched the activity which ended it, the loader's part to the loader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.base import Better, Metric
from tb_steptime.metrics.blocking import bubbles
from tb_steptime.metrics.data_loading import loader_intervals
from tb_steptime.metrics.gaps import Gaps, find_gaps
from tb_steptime.metrics.gpu import busy_intervals
from tb_steptime.metrics.host import Blocks, blocking_calls
from tb_steptime.metrics.phase_marks import autograd_threads, training_threads
from tb_steptime.metrics.phases import SITES, activity_sites
from tb_steptime.phrases import Unit
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.segments import Segments
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int32, Int64, Kind, UInt8

#: A gap before work that was queued already is the hardware's up to this length; a longer one waits for something.
HARDWARE_GAP_NS = 10_000

#: Reasons that a host which launches sooner, or a launch that is shorter, would end. The first four are one in the
#: catalogue too: the launch call had not begun.
HOST_LATE = ("blocking_call", "allocator", "cpu_work", "nothing_recorded")
HOST_BOUND = (*HOST_LATE, "launch_latency")

HOST_BOUND_TIME = Metric(
    "host_bound_time", "Waiting for the host", Unit.NS, Better.LOWER,
    "Time in which the GPU is idle because the host has not launched its next work, or the launch has not reached it. "
    "Waits for data are not counted here.", colour="cpu",
)  # fmt: skip
HOST_BOUND_SHARE = Metric(
    "host_bound_share", "Host-bound share", Unit.FRACTION, Better.LOWER,
    "Waiting for the host as a share of the step.", colour="cpu",
)  # fmt: skip
HOST_LATE_TIME = Metric(
    "host_late_time", "Waiting for a launch call", Unit.NS, Better.LOWER,
    "Time in which the GPU is idle until the call begins that launches its next work, and in launching calls that "
    "block; waits for data left out.", colour="cpu",
)  # fmt: skip

#: What each reason's time is called; data loading has its own metrics.
REASON_METRICS = {
    "blocking_call": Metric(
        "idle_blocking_call_time", "Idle behind a blocking call", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle and the thread that launches its next work stands in a call that waits for the "
        "GPU, such as a synchronize or a copy of pageable memory.", colour="blocking"),
    "allocator": Metric(
        "idle_allocator_time", "Idle behind the allocator", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle and the thread that launches its next work asks the driver for memory or gives "
        "some back.", colour="blocking"),
    "cpu_work": Metric(
        "idle_cpu_work_time", "Idle during CPU work", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle and the thread that launches its next work runs ops or other calls first.",
        colour="cpu"),
    "nothing_recorded": Metric(
        "idle_nothing_recorded_time", "Idle, nothing recorded", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle and nothing is recorded on the thread that launches its next work: mostly "
        "Python between ops.", colour="other"),
    "launch_latency": Metric(
        "launch_latency_time", "Launch latency", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle after the launching call began and before its work starts.", colour="runtime"),
    "queued": Metric(
        "queued_time", "Gaps between queued work", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle although its next work was launched before: short gaps of the hardware.",
        colour="other"),
    "dependency": Metric(
        "idle_dependency_time", "Idle behind other work", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle although its next work was launched before, for more than 10 us: it waits for "
        "an event, another stream or another rank.", colour="comm"),
    "unknown": Metric(
        "idle_unknown_time", "Idle, cause unknown", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle before work whose launch the trace does not hold.", colour="other"),
    "tail": Metric(
        "idle_tail_time", "Idle at the end", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle and nothing follows in this recording.", colour="other"),
}  # fmt: skip
LAUNCHES = Metric(
    "launches", "Launches a step", Unit.COUNT, Better.LOWER,
    "Kernels, copies and sets that start on the GPU within the step.", colour="runtime",
)  # fmt: skip


class IdleNs(msgspec.Struct, frozen=True):
    """Idle time by reason, ns: it sums to the idle time. The order is that of every picture.

    blocking_call, allocator, cpu_work, nothing_recorded: the launch call had not begun, and that is what the launching
    thread did (blocking_call also where the launching call itself waits); launch_latency: it had; queued: launched
    before the gap began, and the gap is at most 10 us; dependency: likewise, and longer; unknown: no launch record;
    tail: nothing follows in this recording.
    """

    data_loading: int = 0
    blocking_call: int = 0
    allocator: int = 0
    cpu_work: int = 0
    nothing_recorded: int = 0
    launch_latency: int = 0
    queued: int = 0
    dependency: int = 0
    unknown: int = 0
    tail: int = 0

    @property
    def total_ns(self) -> int:
        return sum(msgspec.structs.astuple(self))

    @property
    def late_ns(self) -> int:
        """Idle because the next launch came late, or was slow to reach the device: the host's share."""
        return self.blocking_call + self.allocator + self.cpu_work + self.nothing_recorded + self.launch_latency


#: Reasons in the order in which they are shown; a piece of idle time has the place of its reason here.
REASONS = IdleNs.__struct_fields__
_LOADING, _BLOCKING, _ALLOCATOR, _CPU, _NOTHING, _LATENCY, _QUEUED, _DEPENDENCY, _UNKNOWN, _TAIL = range(len(REASONS))
_SITE_OF_LOADING = [site.id for site in SITES].index("data_loading")
_SITE_OF_TAIL = len(SITES) - 1


@dataclass(frozen=True, eq=False)
class Idle:
    """One device's idle time by reason: ns per step (int64)."""

    per_step_ns: Mapping[str, Int64]

    @property
    def host_late_ns(self) -> Int64:
        return self._sum(HOST_LATE)

    @property
    def host_bound_ns(self) -> Int64:
        """ns per step in which the device waits for the host."""
        return self._sum(HOST_BOUND)

    def _sum(self, reasons: Sequence[str]) -> Int64:
        total: Int64 = np.sum([self.per_step_ns[reason] for reason in reasons], axis=0)
        return total


@dataclass(frozen=True, eq=False)
class IdleSums:
    """ns of one device by [step, place in SITES, place in REASONS]. bubble_ns: what of it is in bubbles behind blocking
    calls, of which data loading is no part."""

    ns: Int64
    bubble_ns: Int64


class Pieces(NamedTuple):
    """Stretches of idle time with one reason, within the steps; in time order, disjoint, none empty.

    step: place in `find_steps`; reason: in REASONS; site: in SITES; launch: row of `find_launches` of the activity that
    ended the gap, -1 for none.
    """

    start: Int64
    end: Int64
    step: Int32
    reason: UInt8
    site: UInt8
    launch: Int32


class Longest(NamedTuple):
    """A stretch of idle time as evidence: its gap's part with one reason at one site."""

    start_ns: int
    end_ns: int
    step: str


@per_trace
def devices_by_activity(trace: Trace) -> tuple[int, ...]:
    """Devices with any activity, the one that is busy longest first."""
    rows = trace.events.rows(*DEVICE_KINDS)
    ids = np.unique(trace.events.device[rows])
    busy = {int(device): busy_intervals(trace, int(device)).total_ns for device in ids}
    return tuple(sorted(busy, key=lambda device: (-busy[device], device)))


@per_trace
def idle_partition(trace: Trace) -> Mapping[int, Idle]:
    """The partition of each device that has any activity."""
    sums = {device: sums.ns.sum(axis=1) for device, sums in idle_sums(trace).items()}
    return {device: Idle({reason: ns[:, i] for i, reason in enumerate(REASONS)}) for device, ns in sums.items()}


@per_trace
def idle_sums(trace: Trace) -> Mapping[int, IdleSums]:
    """The partition of each device by step, site and reason."""
    return {device: _sums(trace, device) for device in devices_by_activity(trace)}


def idle_of_activity(trace: Trace, device: int) -> Int64:
    """For each row of `find_launches` the idle time of the device that it ended, ns over all steps, loader's left out.

    What is left of the idle time is the loader's and the tail.
    """
    total = np.zeros(len(find_launches(trace).activity), np.int64)
    for pieces in idle_pieces(trace, device):
        charged = (pieces.launch >= 0) & (pieces.reason != _LOADING)
        np.add.at(total, pieces.launch[charged], (pieces.end - pieces.start)[charged])
    return total


def longest_gaps(trace: Trace, device: int, count: int) -> dict[tuple[str, str], list[Longest]]:
    """The longest pieces of each (site, reason) that has any, longest first, at most `count` of each."""
    kept: dict[int, list[tuple[int, int, int]]] = {}
    for pieces in idle_pieces(trace, device):
        key = pieces.site.astype(np.int64) * len(REASONS) + pieces.reason
        order = np.lexsort((pieces.start, pieces.start - pieces.end, key))
        rank = np.arange(len(order)) - np.searchsorted(key[order], key[order])
        for i in order[rank < count].tolist():
            found = (int(pieces.start[i] - pieces.end[i]), int(pieces.start[i]), int(pieces.step[i]))
            kept.setdefault(int(key[i]), []).append(found)
    steps = find_steps(trace).steps
    return {
        (SITES[key // len(REASONS)].id, REASONS[key % len(REASONS)]): [
            Longest(start, start - negative, steps[step].name) for negative, start, step in sorted(found)[:count]
        ]
        for key, found in sorted(kept.items())
    }


def starts_per_step(trace: Trace, device: int) -> Int64:
    """How many activities of the device start within each step."""
    steps, rows = find_steps(trace), trace.events.rows(*DEVICE_KINDS)
    start = trace.events.start_ns[rows[trace.events.device[rows] == device]]
    counts = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return np.asarray(counts, np.int64)


def _sums(trace: Trace, device: int) -> IdleSums:
    shape = (len(find_steps(trace).steps), len(SITES), len(REASONS))
    found = [np.zeros(int(np.prod(shape)), np.int64) for _ in range(2)]
    behind = Intervals.union(*bubbles(trace, device)[:2])
    for pieces in idle_pieces(trace, device):
        place = np.ravel_multi_index((pieces.step, pieces.site, pieces.reason), shape)
        in_bubble = np.where(pieces.reason == _LOADING, 0, behind.overlap_ns(pieces.start, pieces.end))
        for total, ns in zip(found, (pieces.end - pieces.start, in_bubble), strict=True):
            np.add.at(total, place, ns)
    return IdleSums(found[0].reshape(shape), found[1].reshape(shape))


#: Gaps cut at once, which bounds what is needed on the way.
_GAPS_AT_ONCE = 1 << 15
#: Several figures go through the pieces. Up to so many of a trace (14 MB) are kept, more are made anew each time.
_KEPT_PIECES = 1 << 19


def idle_pieces(trace: Trace, device: int, window: tuple[int, int] | None = None) -> Iterator[Pieces]:
    """The device's idle time in pieces, some gaps at a time; of a window only the gaps that reach into it, whole."""
    if window is None:
        yield from _kept(trace).get(device) or _all_pieces(trace, device)
        return
    gaps = find_gaps(trace, device)
    first = int(np.searchsorted(gaps.end, window[0], side="right"))
    yield from _cut(trace, gaps, first, int(np.searchsorted(gaps.start, window[1], side="left")))


def _all_pieces(trace: Trace, device: int) -> Iterator[Pieces]:
    gaps, kept, made = find_gaps(trace, device), _kept(trace), list[Pieces]()
    room = _KEPT_PIECES - sum(len(each.start) for pieces in kept.values() for each in pieces)
    for some in _cut(trace, gaps, 0, len(gaps.start)):
        room -= len(some.start)
        made = [*made, some] if room >= 0 else []
        yield some
    if room >= 0:
        kept[device] = made


@per_trace
def _kept(trace: Trace) -> dict[int, list[Pieces]]:
    return {}


def _cut(trace: Trace, gaps: Gaps, first: int, past: int) -> Iterator[Pieces]:
    threads = _Threads(trace)
    for begin in range(first, past, _GAPS_AT_ONCE):
        some = slice(begin, min(begin + _GAPS_AT_ONCE, past))
        yield _pieces(trace, Gaps(gaps.start[some], gaps.end[some], gaps.launch[some]), threads)


class _Parts(NamedTuple):
    """Parts of gaps, before they are cut at the borders of steps. gap: its row."""

    gap: Int64
    start: Int64
    end: Int64
    reason: Int32


def _pieces(trace: Trace, gaps: Gaps, threads: _Threads) -> Pieces:
    late, reason = _late_and_reason(trace, gaps)
    parts = [_after_the_call(trace, gaps, late, reason), *_before_the_call(trace, gaps, late, threads)]
    gap, start, end, why = (np.concatenate(column) for column in zip(*parts, strict=True))
    steps = find_steps(trace)
    cut = Segments.numbered(steps.start_ns, steps.end_ns).cut(start, end)
    order = np.argsort(cut.start, kind="stable")
    order = order[cut.label[order] >= 0]
    launch, why = gaps.launch[gap[cut.source[order]]], why[cut.source[order]]
    site = np.where(launch >= 0, activity_sites(trace)[launch], _SITE_OF_TAIL)
    site = np.where(why == _LOADING, _SITE_OF_LOADING, site)
    return Pieces(
        cut.start[order], cut.end[order], cut.label[order], why.astype(np.uint8), site.astype(np.uint8), launch
    )


def _late_and_reason(trace: Trace, gaps: Gaps) -> tuple[Int64, UInt8]:
    """Of each gap: until when the launch call had not begun, and the reason for what comes after that.

    A call that begins as the gap does had launched nothing before it.
    """
    call = np.where(gaps.launch >= 0, find_launches(trace).call[gaps.launch], -1)
    begun = trace.events.start_ns[call]
    waited = (call >= 0) & (begun >= gaps.start)
    blocks = waited & np.isin(call, blocking_calls(trace).row)
    late = np.where(waited, np.minimum(begun, gaps.end), gaps.start)
    queued = np.where(gaps.end - gaps.start <= HARDWARE_GAP_NS, _QUEUED, _DEPENDENCY)
    reason = np.select(
        [gaps.launch < 0, call < 0, blocks, waited], [_TAIL, _UNKNOWN, _BLOCKING, _LATENCY], default=queued
    )
    return late, reason.astype(np.uint8)


def _after_the_call(trace: Trace, gaps: Gaps, late: Int64, reason: UInt8) -> _Parts:
    low, high = int(gaps.start[0]), int(gaps.end[-1])
    cut = Segments.first_of([loader_intervals(trace)], low, high).cut(late, gaps.end)
    return _Parts(cut.source, cut.start, cut.end, np.where(cut.label == 0, _LOADING, reason[cut.source]))


def _before_the_call(trace: Trace, gaps: Gaps, late: Int64, threads: _Threads) -> Iterator[_Parts]:
    """What the launching thread did until its call began, or the threads that it waited for."""
    waiting = np.flatnonzero(late > gaps.start)
    thread = trace.events.thread[find_launches(trace).call[gaps.launch[waiting]]]
    low, high = int(gaps.start[0]), int(gaps.end[-1])
    for number in np.unique(thread).tolist():
        mine = waiting[thread == number]
        cut = Segments.first_of(threads.does(number), low, high).cut(gaps.start[mine], late[mine])
        yield _Parts(mine[cut.source], cut.start, cut.end, _REASON_OF_LAYER[cut.label])


#: The reasons that `_Threads.does` tells in turn: the loader, the thread's own, those of the others; and none of them.
_REASON_OF_LAYER = np.array(
    (_LOADING, _BLOCKING, _ALLOCATOR, _CPU, _BLOCKING, _ALLOCATOR, _CPU, _NOTHING), np.int32
)  # fmt: skip


class _Threads:
    """What holds each launching thread up; found once for all gaps of a device.

    The training thread and those of the autograd engine take turns: one that stands still with nothing recorded waits
    for what another of them does. So the wait of a backward pass for one GPU is told where it leaves another one idle.

        training thread    [forward]                   [optimizer]
        engine's thread              [node][sync      ]
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._turns = {*training_threads(trace), *autograd_threads(trace)}
        self._own_known: dict[int, list[Intervals]] = {}
        self._known: dict[int, list[Intervals]] = {}

    def does(self, thread: int) -> list[Intervals]:
        """The loader's waits; the thread's blocking calls, allocator and CPU work; those of threads it waits for."""
        if thread not in self._known:
            others = sorted(self._turns - {thread}) if thread in self._turns else []
            theirs = zip(*(self._own(other) for other in others), strict=True) if others else [()] * 3
            joined = [reduce(or_, each, Intervals.empty()) for each in theirs]
            self._known[thread] = [loader_intervals(self._trace), *self._own(thread), *joined]
        return self._known[thread]

    def _own(self, thread: int) -> list[Intervals]:
        if thread not in self._own_known:
            calls = blocking_calls(self._trace)
            allocates = calls.kind == Blocks.ALLOCATOR
            rows = (calls.row[~allocates], calls.row[allocates])
            held = [_union(self._trace, each[self._trace.events.thread[each] == thread]) for each in rows]
            self._own_known[thread] = [*held, _cpu_work(self._trace, thread)]
        return self._own_known[thread]


#: Events joined at once: most of a trace is host ops, and their rows, starts and ends would be 60 MB of a large one.
_JOINED_AT_ONCE = 1 << 18


def _cpu_work(trace: Trace, thread: int) -> Intervals:
    """When a thread is inside a recorded op or call. Named ranges are not work: they hold Python between ops too."""
    events, pieces = trace.events, [Intervals.empty()]
    for first in range(0, len(events), _JOINED_AT_ONCE):
        some = slice(first, first + _JOINED_AT_ONCE)
        work = np.zeros(256, bool)
        work[[Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER]] = True
        pieces.append(_union(trace, first + np.flatnonzero(work[events.kind[some]] & (events.thread[some] == thread))))
    return Intervals.union(
        np.concatenate([piece.start for piece in pieces]), np.concatenate([piece.end for piece in pieces])
    )


def _union(trace: Trace, rows: Int64) -> Intervals:
    return Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))
