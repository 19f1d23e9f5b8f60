"""The edges of a recording. In the head a device still runs work from before it, and in the tail nothing shows what the
device does.

recording    |
launch                   [copy 1                 ]      [copy 2 ]     the first copy waits 36 ms, all later ones 0.4
device seen              .................cccccccc kkkkk        cc kkkk
head         ############################               the device runs work of which the trace has no record (CUDA),
                                                        or a record without its launch call (ROCm)

The head is recognised by the first of three kinds of evidence that is present:

Work without a launch record has a number smaller than that of every recorded launch. Numbers follow the order of calls.
Later work without a launch record was launched in the recording, and the record of its call is lost, so it shows no
head.

A synchronize begins before anything is launched in the recording, and takes long. It can wait for nothing else.

The first recorded work of a stream starts long after its call returned (or began, if the call blocks until then). It
waited behind earlier work. This does not apply in four cases: the device was found empty before or has run a recorded
kernel; the process only starts to use it; other devices or streams, for which it may wait, work meanwhile; or later
calls with that name wait as long for an idle device, which is a cost of every step.

A file may hold several recordings of one process, with a pause in between. What happens in the pause is as unknown as
what happens in the tail. If each recording says when it ran, the pause is what none of them covers. Work without a
launch record after the pause was launched during the pause if its number lies between those of the launches before and
after it.

If there is no launch call at all, it is unknown whether the device is idle before its first recorded work, so that time
counts, too.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.steady.first_use import starts_up
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.ops import GRAPH_CALL, KERNEL_CALL, SYNC_DEVICE_CALL
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Int32, Int64, Kind, distinct, is_in, median

#: Minimum wait. Work reaches an idle device within 20 us, but the profiler may delay the first launch that it sees by
#: up to a millisecond.
HEAD_WAIT_NS = 1_000_000
#: A wait with this share of the time before it cannot be the slow start of a first call.
LONG_FRACTION = 0.05
#: A shorter synchronize found the device idle. It takes 5 to 20 us then.
EMPTY_NS = 50_000

#: Minimum length of a pause without any record that ends a recording. It is long enough to contain steps.
PAUSE_NS = 10_000_000


@shared
def before_recording(trace: Trace, device: int) -> Intervals:
    """Returns when the device runs work from before the recording, recorded or not, as far as that is known."""
    launches = find_launches(trace)
    rows = np.flatnonzero(trace.events.device[launches.activity] == device)
    linked = rows[launches.call[rows] >= 0]
    low = int(trace.events.start_ns[0])
    started = trace.events.start_ns[launches.activity[rows]]
    if not len(linked):
        first = int(started.min(initial=NEVER))
        unknown = len(rows) and first - low >= HEAD_WAIT_NS and not has_launches(trace)
        return Intervals.of((low, first)) if unknown else Intervals.empty()
    seen = _before_first_launch(trace, rows, linked)
    if len(seen):
        return _up_to_first(trace, low, seen, linked) | _later_heads(trace, rows, linked)
    # Each stream is judged by itself, because a copy on a separate stream may start at once while kernels wait.
    stream = trace.events.stream[launches.activity[rows]]
    unseen = Intervals.joined(_unseen(trace, low, rows, rows[stream == each]) for each in distinct(stream))
    return _awaited(trace, low) | unseen | _later_heads(trace, rows, linked)


def has_launches(trace: Trace) -> bool:
    """Returns whether any work in the trace has a recorded launch call."""
    return bool((find_launches(trace).call >= 0).any())


def _before_first_launch(trace: Trace, rows: Int64, linked: Int64) -> Int32:
    """Returns the recorded activities of the device that were launched before the first recorded launch, in time
    order."""
    events, launches = trace.events, find_launches(trace)
    number = events.correlation_id[launches.activity[rows]]
    first = events.correlation_id[launches.activity[linked]].min()
    return launches.activity[rows[(launches.call[rows] < 0) & (number > 0) & (number < first)]]


def _up_to_first(trace: Trace, low: int, seen: Int32, linked: Int64) -> Intervals:
    """Returns the time until the end of the activities that begin before the recording's own work does, and while
    others run beside that work. If kernels are among them, a copy on a stream of its own is no sign that they are done,
    because it may start at once."""
    events, launches = trace.events, find_launches(trace)
    kernels = linked[events.kind.take(launches.activity[linked]) == Kind.KERNEL]
    has_kernels = len(kernels) > 0 and bool((events.kind.take(seen) == Kind.KERNEL).any())
    own = events.start_ns[launches.activity[(kernels if has_kernels else linked)[0]]]
    start, end = events.start_ns[seen], events.ends(seen)
    before = end[start < own]
    head = Intervals.of((low, int(before.max()))) if len(before) else Intervals.empty()
    return head | Intervals.union(start, end)


def _later_heads(trace: Trace, rows: Int64, linked: Int64) -> Intervals:
    """Returns the heads after pauses of the recording: the time in which work runs that was launched during the pause,
    as its numbers show."""
    events, launches = trace.events, find_launches(trace)
    number = events.correlation_id.take(launches.activity)
    start = events.start_ns.take(launches.activity)
    lost = rows[(launches.call[rows] < 0) & (number[rows] > number[linked].min())]
    if not len(lost):
        return Intervals.empty()
    heads = []
    # Between two recordings in one file, nothing at all is recorded for long, on the host or any device.
    working = Intervals.union(events.start_ns[:], events.ends(np.arange(len(events))))
    gaps = working.gaps(int(working.start[0]), int(working.end[-1]))
    for resumed in gaps.end[gaps.end - gaps.start >= PAUSE_NS].tolist():
        before = linked[start[linked] < resumed]
        after = linked[start[linked] >= resumed]
        if len(before) and len(after):
            meanwhile = (number[lost] > number[before].max()) & (number[lost] < number[after].min())
            seen = launches.activity[lost[meanwhile & (start[lost] >= resumed)]]
            heads += [_up_to_first(trace, resumed, seen, after)] if len(seen) else []
    return Intervals.joined(heads)


def _awaited(trace: Trace, low: int) -> Intervals:
    """Returns the time up to the end of the last synchronize that waits although no earlier launch is recorded."""
    events = trace.events
    call = find_launches(trace).call
    syncs = blocking_calls(trace).of(Blocks.SYNC)
    before = syncs[events.ends(syncs) <= events.start_ns[call[call >= 0]].min()]
    waiting = before[events.dur_ns[before] >= EMPTY_NS]
    return Intervals.of((low, int(events.ends(waiting).max()))) if len(waiting) else Intervals.empty()


def _unseen(trace: Trace, low: int, rows: Int64, launch_rows: Int64) -> Intervals:
    """Returns the time up to the start of the stream's first recorded work, if that had to wait for earlier work. If
    the wait is short compared with all the time before, the interval begins with the wait."""
    events, launches = trace.events, find_launches(trace)
    call, start = int(launches.call[launch_rows[0]]), int(events.start_ns[launches.activity[launch_rows[0]]])
    earlier = launches.activity[rows]
    earlier = earlier[events.start_ns[earlier] < events.start_ns[call]]
    if call < 0 or (events.kind[earlier] == Kind.KERNEL).any():
        return Intervals.empty()
    reached = int(_reaches(trace, launches.call[launch_rows[:1]])[0])
    if start - reached < HEAD_WAIT_NS or starts_up(trace) or _found_empty(trace, call):
        return Intervals.empty()
    # The call may be waiting for recorded work if such work runs for half of the time on any device.
    working = (busy_intervals(trace, each).clip(reached, start).total_ns for each in devices_with_activity(trace))
    if 2 * sum(working) > start - reached or _waits_again(trace, launch_rows, start - reached):
        return Intervals.empty()
    return Intervals.of((low if start - reached >= LONG_FRACTION * (start - low) else reached, start))


def _waits_again(trace: Trace, rows: Int64, wait_ns: int) -> bool:
    """Returns whether later calls with the first one's name wait at least half as long although the stream is idle."""
    events, launches = trace.events, find_launches(trace)
    activity, call = launches.activity[rows], launches.call[rows]
    reach = np.maximum.accumulate(events.ends(activity))
    alike = np.flatnonzero((call >= 0) & (events.name[call] == events.name[call[0]]))[1:]
    idle = alike[reach[alike - 1] <= events.start_ns[call[alike]]]
    waits = events.start_ns[activity[idle]] - _reaches(trace, call[idle])
    return len(waits) > 0 and 2 * median(waits) >= wait_ns


def _reaches(trace: Trace, call: Int32) -> Int64:
    """Returns when work of each call should start on an idle device. That is when the call returns or, if the call
    waits for the work, when it begins."""
    waits = is_in(call, blocking_calls(trace).of(*WAITING))
    return trace.events.start_ns[call] + np.where(waits, 0, trace.events.dur_ns[call])


def _found_empty(trace: Trace, call: int) -> bool:
    """Returns whether a call before this one waited for the whole device."""
    events = trace.events
    empties = rows_named(trace, CALL_KINDS, SYNC_DEVICE_CALL.match)
    return bool((events.ends(empties) <= events.start_ns[call]).any())


#: The tails of other steps vary, too. A tail must be this many times as long, and longer by this amount.
TIMES_LONGER, LONGER_NS = 2, 1_000_000


def after_recording(trace: Trace, device: int) -> Intervals:
    """Returns the tail up to the end of the last step. It begins with the end of the device's last work, or with the
    moment when other steps had ended.

    launch    [a][b][c]  [d][e]             |      d and e are launched, their work is not in the trace: it runs on
    device     aaabbbccc                    |
    tail                ####################|

    A tail that other steps also have is part of the step. So is the tail of a recording of one step, and that of a
    device that finishes while another one still works.
    """
    steps, busy = find_steps(trace), busy_intervals(trace, device)
    if not len(busy):
        return Intervals.empty()
    last, end = int(busy.end[-1]), steps.window[1]
    if first_lost_ns(trace) is not None:
        return between_recordings(trace) | Intervals.of((max(last, steps.steps[-1].start_ns), end))
    # The idle time at the end of each step in which the device works, -1 for the other steps.
    last_begun = np.searchsorted(busy.start, steps.end_ns) - 1
    ends = np.minimum(busy.end[last_begun], steps.end_ns)
    tails = np.where((last_begun >= 0) & (ends > steps.start_ns), steps.end_ns - ends, -1)
    usual_ns = int(tails[:-1].max(initial=-1))
    longer = usual_ns >= 0 and end - last > max(TIMES_LONGER * usual_ns, usual_ns + LONGER_NS)
    tail = Intervals.of((last + usual_ns, end)) if longer else Intervals.empty()
    others = (busy_intervals(trace, each) for each in devices_with_activity(trace) if each != device)
    continues = 2 * sum((each & tail).total_ns for each in others) > tail.total_ns  # on other devices of the process
    return between_recordings(trace) | (Intervals.empty() if continues else tail)


@shared
def between_recordings(trace: Trace) -> Intervals:
    """Returns when the profiler was off in a file of several recordings, by what each says about itself. Nothing that
    the job did meanwhile is recorded."""
    if len(trace.windows) < 2:
        return Intervals.empty()
    off = trace.windows.gaps(int(trace.windows.start[0]), int(trace.windows.end[-1]))
    return off - Intervals.union(trace.events.start_ns[:], trace.events.ends(np.arange(len(trace.events))))


def first_lost_ns(trace: Trace) -> int | None:
    """Returns the start of the first launch after the last one whose work is recorded; None if no launch follows it."""
    calls = rows_named(trace, CALL_KINDS, lambda name: KERNEL_CALL.match(name) or GRAPH_CALL.search(name))
    lost = calls[calls > int(find_launches(trace).call.max(initial=-1))]
    return int(trace.events.start_ns[lost[0]]) if len(lost) else None


@shared
def cut_off_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when a device is idle after its last recorded work, except in waits for a batch, which are judged."""
    return after_recording(trace, device) - loader_intervals(trace) - before_recording(trace, device)
