"""The reasons for which a GPU is idle, which partition its idle time by what the next activity was waiting for.

thread   [ loader ] --op--[sync]     [lll]      what the launching thread does, and its launch of the next activity
device   kkk                               kk
idle        dddddddd cccccbbbbbbnnnnnlllll      data loading, CPU work, blocking call, nothing recorded, launch latency

Once a launch has returned long ago, the time after it is no longer latency. The work waits for a collective or for
other work, or the device is busy with unrecorded work (`unrecorded_work`), which also explains a long synchronize.

Reasons are disjoint and sum to the idle time. The loader's waits come first, so that exposed data loading is one number
everywhere. Each gap is attributed to the place that launched the activity which ended it, and the loader's part to the
loader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import ExcludedTime, excluded_time
from tb_steptime.metrics.gpu.utilization import collective_names, devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.idle.gaps import Gaps, find_gaps, reached_ns, unrecorded_work
from tb_steptime.metrics.idle.reasons import EXCLUDED, REASONS
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import SITE
from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals, Segments
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Columns, Int32, Int64, Kind, UInt8, distinct_in, is_in

#: A gap before work that was already queued counts as the hardware's up to this length. In a longer gap the work waits
#: for something. A graph of 300 kernels is idle for a sixth of the time between them, and only fewer kernels would
#: change that.
HARDWARE_GAP_NS = 10_000

(
    _LOADING, _BLOCKING, _ALLOCATOR, _CPU, _NOTHING, _LATENCY, _QUEUED, _COLLECTIVE, _DEPENDENCY, _UNRECORDED, _UNKNOWN,
    _TAIL,
) = range(12)  # fmt: skip
#: Reasons in the order of `ExcludedTime`. An instant gets the first one that covers it.
_EXCLUDED = np.array([REASONS.index(reason) for reason in EXCLUDED], np.int32)
_BEFORE = int(_EXCLUDED[0])
_SITE_OF_LOADING, _SITE_OF_NO_LAUNCH = SITE["data_loading"], SITE["no_launch"]


class IdleSegments(Columns, frozen=True, eq=False):
    """Ranges of idle time with one reason, within the steps. They are disjoint, in time order, and none is empty.

    step     place in `find_steps`
    reason   place in REASONS
    site     place in SITES
    launch   row of `find_launches` of the activity that ended the gap; -1 for none
    """

    start: Int64
    end: Int64
    step: Int32
    reason: UInt8
    site: UInt8
    launch: Int32


#: Number of gaps that are cut at once, which limits temporary memory.
_GAPS_AT_ONCE = 1 << 15
#: Maximum number of segments of a trace that are kept (14 MB), because several figures need them. More segments are
#: recomputed each time.
_KEPT_SEGMENTS = 1 << 19


def idle_segments(trace: Trace, device: int) -> Iterator[IdleSegments]:
    """Yields the device's idle time in segments, for some gaps at a time."""
    yield from few_segments(trace, device) or _all_segments(trace, device)


@shared
def few_segments(trace: Trace, device: int) -> tuple[IdleSegments, ...]:
    """Returns all segments if they are few enough to keep; otherwise none."""
    room = _KEPT_SEGMENTS // max(len(devices_with_activity(trace)), 1)
    segments = list[IdleSegments]()
    if len(find_gaps(trace, device).start) > room:
        return ()
    for segments_found in _all_segments(trace, device):
        segments.append(segments_found)
        room -= len(segments_found.start)
        if room < 0:
            return ()
    return tuple(segments)


def _all_segments(trace: Trace, device: int) -> Iterator[IdleSegments]:
    gaps = find_gaps(trace, device)
    threads = _Threads(trace, unrecorded_work(trace, device))
    reached = reached_ns(trace, gaps)
    for begin in range(0, len(gaps.start), _GAPS_AT_ONCE):
        chunk = slice(begin, begin + _GAPS_AT_ONCE)
        yield _segments(trace, gaps.where(chunk), reached[chunk], threads, excluded_time(trace, device))


class _Parts(NamedTuple):
    """Parts of gaps, each with one reason, before they are cut where steps end. gap: place of the gap. reason: place in
    REASONS."""

    gap: Int64
    start: Int64
    end: Int64
    reason: Int32


def _segments(trace: Trace, gaps: Gaps, reached: Int64, threads: _Threads, excluded: ExcludedTime) -> IdleSegments:
    times = _begun(trace, gaps, reached)
    parts = [
        *_after_the_call(gaps, times, threads.before_all),
        *_before_the_call(trace, gaps, times.late, threads),
    ]
    gap, start, end, why = _left_out(_Parts(*(np.concatenate(column) for column in zip(*parts, strict=True))), excluded)
    steps = find_steps(trace)
    cut = Segments.numbered(steps.start_ns, steps.end_ns).cut(start, end)
    order = np.argsort(cut.start, kind="stable")
    order = order[cut.label[order] >= 0]
    launch, why = gaps.launch[gap[cut.source[order]]], why[cut.source[order]]
    site = np.where(launch >= 0, activity_sites(trace)[launch], _SITE_OF_NO_LAUNCH)
    site = np.where(why == _LOADING, _SITE_OF_LOADING, site)
    site = np.where(is_in(why, _EXCLUDED), _SITE_OF_NO_LAUNCH, site)
    return IdleSegments(
        cut.start[order], cut.end[order], cut.label[order], why.astype(np.uint8), site.astype(np.uint8), launch
    )


def _left_out(parts: _Parts, excluded: ExcludedTime) -> _Parts:
    """Returns the parts, cut where time is excluded from judgement, which becomes their reason. The loader's waits keep
    their reason, except while the device runs work from before the recording."""
    low, high = int(parts.start.min(initial=0)), int(parts.end.max(initial=0))
    ranges = [getattr(excluded, reason) for reason in EXCLUDED]
    cut = Segments.first_of(ranges, low, high).cut(parts.start, parts.end)
    was, why = parts.reason[cut.source], np.append(_EXCLUDED, -1)[cut.label]
    why = np.where((why < 0) | ((was == _LOADING) & (why != _BEFORE)), was, why)
    return _Parts(parts.gap[cut.source], cut.start, cut.end, why)


class _Begun(msgspec.Struct, frozen=True, eq=False):
    """The boundaries that the launch call sets within each gap.

    late      instant until which the launch call had not begun
    reason    place in REASONS for the time from then on
    reached   instant until which the launch must have reached the device; the gap's end if that is unknown
    beyond    place in REASONS for the time after that
    """

    late: Int64
    reason: UInt8
    reached: Int64
    beyond: UInt8


def _begun(trace: Trace, gaps: Gaps, reached: Int64) -> _Begun:
    """Returns the boundaries. A call that begins together with the gap has launched nothing before it. The same holds
    for a call that still runs when a gap between queued work would be over, because a slow driver takes longer for a
    launch than the device for a kernel. A graph's call has launched its first kernels by then."""
    call = np.where(gaps.launch >= 0, find_launches(trace).call[gaps.launch], -1)
    launched_ns = trace.events.start_ns[call]
    blocking = is_in(call, blocking_calls(trace).row)
    slow = (launched_ns < gaps.start) & (trace.events.ends(call) > gaps.start + HARDWARE_GAP_NS) & ~blocking
    if slow.any():
        slow &= is_in(call, _launching_several(trace), invert=True)
    waited = (call >= 0) & ((launched_ns >= gaps.start) | slow)
    blocks = waited & blocking
    wait_end = np.where(waited, np.clip(launched_ns, gaps.start, gaps.end), gaps.start)
    activity = find_launches(trace).activity[gaps.launch]
    collective = (gaps.launch >= 0) & collective_names(trace)[trace.events.name[activity]]
    waits = np.where(collective, _COLLECTIVE, _DEPENDENCY)  # only a collective may wait for other ranks
    queued = np.where(gaps.end - gaps.start <= HARDWARE_GAP_NS, _QUEUED, waits)
    reason = np.select(
        [gaps.launch < 0, call < 0, blocks, waited], [_TAIL, _UNKNOWN, _BLOCKING, _LATENCY], default=queued
    )
    reached = np.where(reason == _LATENCY, np.maximum(reached, wait_end), gaps.end)
    return _Begun(wait_end, reason.astype(np.uint8), reached, waits.astype(np.uint8))


@shared
def _launching_several(trace: Trace) -> Int32:
    """Returns the calls that launch several activities, as those of graphs do."""
    calls, activities = np.unique(find_launches(trace).call, return_counts=True)
    return calls[activities > 1]


def _after_the_call(gaps: Gaps, times: _Begun, before_all: list[Intervals]) -> Iterator[_Parts]:
    """Yields the parts until the launch must have reached the device, and after that, while the work waits.

    call     [launch]
    gap       |latency     |dependency |unrecorded work       |
    thread                              [synchronize          ]
    """
    first = Segments.first_of(before_all, int(gaps.start[0]), int(gaps.end[-1]))
    for start, end, reason in (
        (times.late, times.reached, times.reason),
        (times.reached, gaps.end, times.beyond),
    ):
        cut = first.cut(start, end)
        why = np.where(cut.label == 1, _UNRECORDED, reason[cut.source])
        yield _Parts(cut.source, cut.start, cut.end, np.where(cut.label == 0, _LOADING, why).astype(np.int32))


def _before_the_call(trace: Trace, gaps: Gaps, wait_end: Int64, threads: _Threads) -> Iterator[_Parts]:
    """Yields the parts until the launch call began, by what the launching thread did then, or the threads for which it
    waited."""
    waiting = np.flatnonzero(wait_end > gaps.start)
    thread = trace.events.thread[find_launches(trace).call[gaps.launch[waiting]]]
    low, high = int(gaps.start[0]), int(gaps.end[-1])
    for number in distinct_in(thread).tolist():
        on_thread = waiting[thread == number]
        cut = Segments.first_of(threads.does(number), low, high).cut(gaps.start[on_thread], wait_end[on_thread])
        yield _Parts(on_thread[cut.source], cut.start, cut.end, _REASON_OF_LAYER[cut.label])


#: The reasons for the layers of `_Threads.does`: those before all others, the thread's own, and those of the other
#: threads. The last reason is for instants in none of them.
_REASON_OF_LAYER = np.array(
    (_LOADING, _UNRECORDED, _BLOCKING, _ALLOCATOR, _CPU, _BLOCKING, _ALLOCATOR, _CPU, _NOTHING), np.int32
)  # fmt: skip


class _Threads:
    """What keeps each launching thread from launching. It is computed once for all gaps of a device.

    before_all: the loader's waits and unrecorded work, which take precedence over the thread's activity.

    The training thread and those of the autograd engine run one at a time, so one with nothing recorded waits for
    another. If a backward pass waits for one GPU, that is therefore the reason for which another one is idle.

        training thread    [forward]                   [optimizer]
        engine's thread              [node][sync      ]
    """

    def __init__(self, trace: Trace, unrecorded: Intervals) -> None:
        self._trace = trace
        self.before_all = [loader_intervals(trace), unrecorded]
        self._one_at_a_time = {*step_threads(trace)}
        self._own_known: dict[int, list[Intervals]] = {}
        self._known: dict[int, list[Intervals]] = {}

    def does(self, thread: int) -> list[Intervals]:
        """Returns the layers: those before all others; the thread's blocking calls, allocator calls and CPU work; and
        the same of the threads for which it waits."""
        if thread not in self._known:
            others = sorted(self._one_at_a_time - {thread}) if thread in self._one_at_a_time else []
            theirs = zip(*(self._own(other) for other in others), strict=True) if others else [()] * 3
            joined = [Intervals.joined(others) for others in theirs]
            self._known[thread] = [*self.before_all, *self._own(thread), *joined]
        return self._known[thread]

    def _own(self, thread: int) -> list[Intervals]:
        if thread not in self._own_known:
            events, calls = self._trace.events, blocking_calls(self._trace)
            rows = (calls.of(*WAITING), calls.of(Blocks.ALLOCATOR))
            blocked = [Intervals.of_events(events, each[events.thread[each] == thread]) for each in rows]
            self._own_known[thread] = [*blocked, _cpu_work(self._trace, thread)]
        return self._own_known[thread]


#: Number of events that are joined at once. Most of a trace is host ops, and the rows, starts and ends of all of them
#: would take 60 MB for a large one.
_JOINED_AT_ONCE = 1 << 18


def _cpu_work(trace: Trace, thread: int) -> Intervals:
    """Returns when a thread is inside a recorded op or call. Named ranges are not work, because they include Python
    code too."""
    events, parts = trace.events, []
    for first in range(0, len(events), _JOINED_AT_ONCE):
        chunk = slice(first, first + _JOINED_AT_ONCE)
        work = np.zeros(256, bool)
        work[[Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER]] = True
        work_rows = first + np.flatnonzero(work[events.kind[chunk]] & (events.thread[chunk] == thread))
        parts.append(Intervals.of_events(events, work_rows))
    return Intervals.joined(parts)
