"""The gaps of a device, in which nothing runs on any of its streams, and the activity that ended each gap.

stream 7   kkkk      kkkk
stream 9     kkk         kk
gap             ggggg
ended by             k

In some gaps the device must be busy with work that the trace does not show.

A launch reaches an idle device at once, a synchronize of an idle device returns at once, and a copy to or from it
begins at once. If that takes long, the device is busy with a graph whose kernels were not recorded, with work from
before the recording, or with another process. While launches reach it whose work was dropped, it runs that.

thread   [l]  [  copy that blocks         ]        [sync                     ][q]
device   kk                     llllll                                            q
             rrrruuuuuuuuuuuuuuu                   rrrruuuuuuuuuuuuuuuuuuuuuuu        r: usual, u: unrecorded work

Delays of an idle device in recordings of V100, A100, H100, B200 and MI250, for calls that began while it was idle
(counted from their events, without this package, and without work launched before the recording):

    from the end of a launch call to the start of its work   11 119 calls   median  2 us   99.9 %: 6 us     most 8 us
    in a synchronize                                            154 calls   median  4 us                    most 68 us
    from the start of a copy call to the copy                 1 143 calls   median 11 us   99.9 %: 263 us   most 318 us
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.job.execution import graphs_without_kernels
from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.steady.edges import HEAD_WAIT_NS
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, find_launches, rows_named, shared
from tb_steptime.trace.ops import RUNTIME, graph_calls
from tb_steptime.trace.quality.lost_launches import kernel_launches
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Columns, Int32, Int64, is_in, median, values_at


class Gaps(Columns, frozen=True, eq=False):
    """The gaps of one device within the span's window, in time order, including times between its steps.

    launch   row of `find_launches` of the first activity after the gap; -1 if none follows in this recording
    """

    start: Int64
    end: Int64
    launch: Int32


@shared
def find_gaps(trace: Trace, device: int) -> Gaps:
    gaps = busy_intervals(trace, device).gaps(*find_steps(trace).window)
    rows = launch_rows(trace, device)
    starts = trace.events.start_ns.take(find_launches(trace).activity.take(rows))
    place = np.searchsorted(starts, gaps.end)
    follows = place < len(rows)
    launch = np.full(len(gaps), -1, np.int32)
    launch[follows] = rows[place[follows]]
    return Gaps(gaps.start, gaps.end, launch)


@shared
def launch_rows(trace: Trace, device: int) -> Int32:
    """Returns the rows of `find_launches` of the device's activities, in time order."""
    on = trace.events.device.take(find_launches(trace).activity)
    return np.flatnonzero(on == device).astype(np.int32)


@shared
def idle_outside_loader(trace: Trace, device: int) -> Intervals:
    """Returns when the device is idle within the steps, without the loader's waits and without time excluded from
    judgement."""
    steps = find_steps(trace)
    idle = steps.intervals - busy_intervals(trace, device)
    return idle - loader_intervals(trace) - excluded_time(trace, device).total


#: A launch has reached an idle device at most this long after its call returned. This is six times the longest measured
#: delay.
REACHED_NS = 50_000
#: If launches usually take longer than the device needs, as on Windows, which batches them, this many times the median
#: is used, if at least ENOUGH_LAUNCHES were measured.
USUAL_TIMES, ENOUGH_LAUNCHES = 10, 10
#: Upper limit of that, because no system batches launches for longer. If the median itself is longer, it is not the
#: duration of a launch: each may wait for a graph whose kernels are not recorded, or for the time slice of another
#: process.
REACHED_AT_MOST_NS = 1_000_000
#: A synchronize of an idle device returns within this time. It is three times the longest measured one, because the
#: operating system may let the thread wait for a core.
SYNC_RETURNS_NS = 200_000
#: Copies to or from an idle device begin within these times: copies to the host and those of few bytes, and copies
#: whose bytes are staged before they begin.
COPY_BEGINS_NS, STAGED_COPY_BEGINS_NS = 200_000, 1_000_000
#: Up to this size, a copy's bytes are sent with its command.
STAGED_BYTES = 1 << 16
#: If a call has waited for too long, its wait begins this long after its start, which is the time that it takes on an
#: idle device.
TAKES_NS = 10_000

#: Calls that put a function of the CPU into a stream. The work launched behind it waits until the CPU has run it.
_HOST_FUNCTION = expression(rf"(?:cu|{RUNTIME})(?:LaunchHostFunc|StreamAddCallback)")
#: Minimum number of launches of a graph. With fewer, chance may put other work of the device into the same place of
#: all.
LEAST_LAUNCHES = 3
#: Kinds of copies whose bytes are staged by the launching call.
_COPIES = (Blocks.COPY, Blocks.PAGEABLE_COPY)


def behind_host_functions_ns(trace: Trace, device: int, chosen: Steps | None = None) -> int:
    """Returns how long the device is idle before work that was launched behind a function of the CPU, or that waits
    within a graph as it would for one, as a mean over the steps, ns. chosen: None for all steps."""
    steps = chosen or find_steps(trace)
    waits = _behind_host_functions(trace, device) | _within_graphs(trace, device)
    return whole_mean((waits & steps.intervals).total_ns, len(steps.steps))


def _within_graphs(trace: Trace, device: int) -> Intervals:
    """Returns the gaps between two activities of one launch of a graph that are in the same place in all launches with
    as many activities. Another process would not always interrupt there, so the graph waits for a node that is not
    recorded.

    graph launches  [g]                   [g]                   [g]
    device             kcc        ckk        kcc         ckk       kcc       ckk
    waits                 wwwwwwww              wwwwwwwww             wwwwwww
    """
    launches, rows = find_launches(trace), launch_rows(trace, device)
    rows = rows[is_in(launches.call[rows], graph_calls(trace))]
    if not len(rows):
        return Intervals.empty()
    order = np.argsort(launches.call[rows], kind="stable")  # the activities of each launch, in time order
    activity = launches.activity[rows[order]].astype(np.int64)
    call = launches.call[rows[order]]
    first = np.append(True, call[1:] != call[:-1])
    launch = np.cumsum(first) - 1
    place = np.arange(len(call)) - np.flatnonzero(first)[launch]
    start = trace.events.start_ns[activity]
    reach = np.append(0, trace.events.ends(activity)[:-1])
    size = np.bincount(launch)[launch]
    alike = Groups.of(size, place)
    waits = ~first & (start - reach > REACHED_NS)
    always = (alike.sum(waits.astype(np.int64)) == alike.count()) & (alike.count() >= LEAST_LAUNCHES)
    within = np.flatnonzero(waits & always[alike.place])
    return Intervals.union(reach[within], start[within]) - busy_intervals(trace, device)


def _behind_host_functions(trace: Trace, device: int) -> Intervals:
    """Returns when the device is idle before work that was launched behind a function of the CPU. Such a function is no
    kernel, and only the call that puts it into the stream is recorded.

    call   [kernel][host function][copy]
    device     kkk                               cc
    waits                               wwwwwwwwwww
    """
    calls = rows_named(trace, CALL_KINDS, _HOST_FUNCTION.match)
    if not len(calls):
        return Intervals.empty()
    gaps = find_gaps(trace, device)
    launches = find_launches(trace)
    rows = launch_rows(trace, device)
    starts, call = trace.events.start_ns[launches.activity[rows]], launches.call[rows]
    ends = np.flatnonzero((gaps.launch >= 0) & (gaps.start > starts[0]))
    place = np.searchsorted(starts, gaps.end[ends])
    put = np.searchsorted(trace.events.start_ns[calls], values_at(trace.events.start_ns, call))
    behind = (call[place - 1] >= 0) & (call[place] >= 0) & (put[place - 1] < put[place])
    ends, place = ends[behind], place[behind]
    since = np.maximum(gaps.start[ends], trace.events.ends(call[place]))
    return Intervals.union(since, gaps.end[ends])


def reached_ns(trace: Trace, gaps: Gaps) -> Int64:
    """Returns for each gap the latest time at which its launch must have reached the device; the gap's end if no launch
    is known."""
    calls = _calls(trace, gaps)
    plain = _found_idle(trace, gaps) & ~_begun_by(trace, gaps, *WAITING)
    launched = np.flatnonzero(calls >= 0)
    returned = gaps.end.copy()
    returned[launched] = trace.events.ends(calls[launched])
    took = (gaps.end - returned)[plain]
    usual_ns = int(median(took)) if len(took) >= ENOUGH_LAUNCHES else 0
    usual_ns = usual_ns if usual_ns <= REACHED_AT_MOST_NS else 0
    reached = returned + min(max(REACHED_NS, USUAL_TIMES * usual_ns), REACHED_AT_MOST_NS)
    return np.where(calls >= 0, np.clip(reached, gaps.start, gaps.end), gaps.end)


@shared
def unrecorded_work(trace: Trace, device: int) -> Intervals:
    """Returns the parts of the device's gaps in which it runs unrecorded work. Gaps in which another device of the
    process works do not count, because the wait may be for that one."""
    gaps = find_gaps(trace, device)
    work = _after_launches(trace, device, gaps) | _in_synchronizes(trace, gaps) | _before_copies(trace, device, gaps)
    work = work | _behind_graphs(trace, gaps) | _at_lost_launches(trace, gaps)
    others = [busy_intervals(trace, each) for each in devices_with_activity(trace) if each != device]
    alone = Intervals.joined(others).overlap_ns(work.start, work.end) == 0
    return Intervals(work.start[alone], work.end[alone])


def _after_launches(trace: Trace, device: int, gaps: Gaps) -> Intervals:
    """Returns the time from when the launch has reached the device, as long as the host is blocked. Before the
    recording's first activity the device is busy whatever the host does, because no recorded work could make the launch
    wait."""
    plain = _found_idle(trace, gaps) & ~_begun_by(trace, gaps, *WAITING)
    reached = np.where(plain, reached_ns(trace, gaps), gaps.end)
    waits = Intervals.union(reached, gaps.end)
    begins = busy_intervals(trace, device).start[:1].tolist()  # nothing if all activities are empty
    first = Intervals.union(np.full(len(begins), find_steps(trace).window[0]), np.array(begins, np.int64))
    return (waits & _blocked(trace, *WAITING)) | (waits & first)


def _behind_graphs(trace: Trace, gaps: Gaps) -> Intervals:
    """Returns the time from when the launch has reached the device, if a graph whose kernels are not recorded was
    launched between it and the previous launch. The launch waits for the graph.

    thread   [l] [graph] [l]
    device   kk                            k
                            uuuuuuuuuuuuuuu
    """
    calls, graphs = _calls(trace, gaps), graphs_without_kernels(trace)
    launching = np.append(-1, calls_that_launch(trace))
    before = launching[np.searchsorted(launching, calls) - 1]
    behind = np.searchsorted(graphs, calls) > np.searchsorted(graphs, before)
    behind_graph = np.flatnonzero(behind & (calls >= 0) & ~_begun_by(trace, gaps, *WAITING))
    reached = trace.events.ends(calls[behind_graph]) + REACHED_NS
    return Intervals.union(np.clip(reached, gaps.start[behind_graph], gaps.end[behind_graph]), gaps.end[behind_graph])


def _at_lost_launches(trace: Trace, gaps: Gaps) -> Intervals:
    """Returns the parts of the gaps in which launches reach the idle device whose work was dropped. It ran there before
    the work after the gap; how long is not known. After the last work, the end of the recording is missing.

    thread   [l] [lost] [lost]       [l]
    device   kk                        kkk
                 uuuuuuuuuuuuuuu
    """
    lost = kernel_launches(trace).lost
    starts = trace.events.start_ns[lost]
    place = np.searchsorted(gaps.start, starts, side="right") - 1
    in_gap = (place >= 0) & (starts < values_at(gaps.end, place)) & (values_at(gaps.launch, place) >= 0)
    reached = trace.events.ends(lost[in_gap]) + REACHED_NS
    return Intervals.union(starts[in_gap], np.minimum(reached, gaps.end[place[in_gap]]))


def _in_synchronizes(trace: Trace, gaps: Gaps) -> Intervals:
    """Returns the time in synchronizes beyond their usual length and before the next launch begins. There they do not
    wait for recorded work."""
    calls = _calls(trace, gaps)
    wait_end = np.where(calls >= 0, np.minimum(trace.events.start_ns[calls], gaps.end), gaps.end)
    wait_end = np.where(gaps.launch >= 0, np.maximum(wait_end, gaps.start), gaps.start)
    inside = Intervals.union(gaps.start, wait_end) & _blocked(trace, Blocks.SYNC)
    return _waits(inside.start, inside.end, SYNC_RETURNS_NS)


def _before_copies(trace: Trace, device: int, gaps: Gaps) -> Intervals:
    """Returns the time in blocking copies beyond the usual delay before the copy begins."""
    before_copy = np.flatnonzero(_found_idle(trace, gaps) & _begun_by(trace, gaps, *_COPIES))
    call_starts = trace.events.start_ns[_calls(trace, gaps)[before_copy]]
    copies = find_launches(trace).activity[gaps.launch[before_copy]]
    nbytes = trace.events.bytes
    # Copies to the device are staged if they have more bytes than fit into a command, or their bytes are not recorded.
    staged = are_named(trace, copies, lambda name: "DtoH" not in name and "Device -> Host" not in name)
    staged &= (nbytes[copies] < 0) | (nbytes[copies] > STAGED_BYTES) if nbytes is not None else True
    begins_ns = np.where(staged, STAGED_COPY_BEGINS_NS, COPY_BEGINS_NS)
    is_first = gaps.launch[before_copy] == launch_rows(trace, device)[:1]
    return _waits(call_starts, gaps.end[before_copy], np.maximum(begins_ns, np.where(is_first, HEAD_WAIT_NS, 0)))


def _waits(start: Int64, end: Int64, usual_ns: Int64 | int) -> Intervals:
    """Returns the ranges longer than usual, without the time that the call takes on an idle device."""
    return Intervals.union(np.where(end - start > usual_ns, start + TAKES_NS, end), end)


def _blocked(trace: Trace, *kinds: Blocks) -> Intervals:
    return Intervals.of_events(trace.events, blocking_calls(trace).of(*kinds))


def _calls(trace: Trace, gaps: Gaps) -> Int64:
    """Returns for each gap the row of the call that launched the work after it; -1 for none."""
    return np.where(gaps.launch >= 0, find_launches(trace).call[gaps.launch], -1).astype(np.int64)


def _found_idle(trace: Trace, gaps: Gaps) -> Bool:
    """Returns which gaps end with work whose launch call began in the gap."""
    calls = _calls(trace, gaps)
    call_starts = trace.events.start_ns[calls]
    return np.asarray((calls >= 0) & (call_starts >= gaps.start) & (call_starts < gaps.end), bool)


def _begun_by(trace: Trace, gaps: Gaps, *kinds: Blocks) -> Bool:
    """Returns which gaps end with work that a blocking call of these kinds launched."""
    return is_in(_calls(trace, gaps), blocking_calls(trace).of(*kinds))
