"""Waiting for the DataLoader: how long, and how much of it leaves the GPU idle.

loader   llllll      llll
device      kkkkkkkk     kkk
exposed  eee         eeee        the device has nothing to do
hidden      hhh                  the device works on what was launched before

Lanes show the loader, the host and the device through two typical steps, so that the pattern and its repetition are
visible.

loader   llll......lll.......
cpu      ....cccccc...ccccccc
gpu      .....ggggg....gggggg
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity, has_device_activity
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.host_ranges import host_ranges, iterator_of, loader_intervals, loader_names, loader_rows
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, distinct_in, is_in


class LoaderWaits(msgspec.Struct, frozen=True, eq=False):
    """The waits in each step, ns: wait = exposed + hidden."""

    wait_ns: Int64
    exposed_ns: Int64
    hidden_ns: Int64


@shared
def device_busy(trace: Trace) -> Intervals:
    """Returns when any device of this process is busy with kernels, copies, memsets or collectives."""
    return Intervals.joined(busy_intervals(trace, device) for device in devices_with_activity(trace))


@shared
def work_from_before(trace: Trace) -> Intervals:
    """Returns when any device runs work that was launched before the recording, whether or not the launch was seen."""
    return Intervals.joined(excluded_time(trace, device).before_recording for device in devices_with_activity(trace))


@shared
def exposed_waits(trace: Trace) -> Intervals:
    """Returns when the main process waits for a batch and no device works, in the judged time, which excludes work from
    before the recording. Without a device every wait is exposed."""
    return loader_intervals(trace) - device_busy(trace) - work_from_before(trace)


@shared
def loader_waits(trace: Trace) -> LoaderWaits | None:
    """Returns the recorded waits per step; None if the trace has no loader events, as with another loader or none."""
    if not len(loader_rows(trace)):
        return None
    steps = find_steps(trace)
    wait = steps.overlap_ns(loader_intervals(trace))
    exposed = steps.overlap_ns(loader_intervals(trace) - device_busy(trace))
    return LoaderWaits(wait, exposed, wait - exposed)


def judged_exposed_ns(trace: Trace, exposed_ns: int, steps: Steps) -> int:
    """Returns the judged part of the exposed wait of the mean of these steps, in ns."""
    waits = loader_intervals(trace) - device_busy(trace)
    hidden = steps.overlap_ns(waits & work_from_before(trace))
    return exposed_ns - int(hidden.sum()) // len(steps.steps)


def loader_iterators(trace: Trace) -> tuple[str, ...]:
    """Returns the distinct iterator classes in order of first wait, such as `_SingleProcessDataLoaderIter`."""
    names = dict.fromkeys(trace.strings[int(name)] for name in trace.events.name[loader_rows(trace)])
    return tuple(iterator_of(name) for name in names)


def is_multiprocess(iterators: tuple[str, ...]) -> bool | None:
    """Returns whether worker processes produce the batches; None if the names of the classes do not show it, as those
    of subclasses."""
    kinds = {("Multi" in name, "Single" in name) for name in iterators}
    if kinds == {(True, False)}:
        return True
    return False if kinds == {(False, True)} else None


class LoaderStep(msgspec.Struct, frozen=True):
    """One step: wait_ns = exposed_ns + hidden_ns are the loader's intervals within it, without and with device work
    beside them."""

    name: str
    duration_ns: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int


def loader_steps(trace: Trace, waits: LoaderWaits, chosen: Steps) -> list[LoaderStep]:
    columns = (waits.wait_ns.tolist(), waits.exposed_ns.tolist(), waits.hidden_ns.tolist())
    rows = zip(find_steps(trace).steps, *columns, strict=True)
    starts = set(chosen.start_ns.tolist())
    return [LoaderStep(step.name, step.duration_ns, *row) for step, *row in rows if step.start_ns in starts]


def mean_of(rows: list[LoaderStep]) -> LoaderStep:
    """Returns the means in whole ns. The wait is the sum of the other two, so that the parts still add up."""
    duration, exposed, hidden = (
        round(sum(getattr(row, column) for row in rows) / len(rows))
        for column in ("duration_ns", "exposed_ns", "hidden_ns")
    )
    return LoaderStep("mean", duration, exposed + hidden, exposed, hidden)


#: Number of steps in the picture. They suffice to show the pattern and that it repeats.
LANE_STEPS = 2
#: Gaps that are shorter than this share of the window are closed in the picture, because more segments than pixels are
#: useless.
LANE_GAP_FRACTION = 0.001
#: Maximum number of waits that are drawn one by one. If there are more, gaps that no pixel could show are closed as in
#: the other lanes.
MOST_WAITS = 2_000

LaneId = Literal["loader", "cpu", "gpu"]


class Lane(msgspec.Struct, frozen=True):
    """One lane of the picture of two steps. id: loader, cpu or gpu. start_ns, end_ns: disjoint intervals. hatched: for
    each of them, whether it is a hidden wait."""

    id: LaneId
    label: str
    start_ns: list[int]
    end_ns: list[int]
    hatched: list[bool]


class LaneWindow(msgspec.Struct, frozen=True):
    """A range of the span in which the pattern of the steps shows. Times are relative to the span's origin."""

    start_ns: int
    end_ns: int
    steps: list[str]
    marks_ns: list[int]
    lanes: list[Lane]


def lane_window(trace: Trace, waits_ns: Int64) -> LaneWindow | None:
    """Returns the loader, the host and, if one is recorded, the device through two typical steps; None for fewer
    steps."""
    if len(waits_ns) < LANE_STEPS:
        return None
    first = _typical_pair(waits_ns)
    steps = find_steps(trace).steps[first : first + LANE_STEPS]
    low, high = steps[0].start_ns, steps[-1].end_ns
    loader, exposed = loader_intervals(trace), exposed_waits(trace)
    lanes = [
        _loader_lane(*_drawn(exposed.clip(low, high), (loader - exposed).clip(low, high), high - low)),
        _lane("cpu", "CPU work", host_ranges(trace).clip(low, high) - loader, high - low),
    ]
    if has_device_activity(trace):  # an empty lane would suggest that the device is idle
        lanes.append(_lane("gpu", "GPU", device_busy(trace).clip(low, high), high - low))
    return LaneWindow(
        start_ns=low,
        end_ns=high,
        steps=[step.name for step in steps],
        marks_ns=[step.start_ns for step in steps],
        lanes=lanes,
    )


def _typical_pair(waits_ns: Int64) -> int:
    """Returns the first of the two adjacent steps whose waits are nearest to the mean, which are neither the first
    batch nor an outlier. If long waits recur, as in bursts, they are not two steps between such waits."""
    waits = waits_ns.astype(np.float64)
    distance = np.abs(waits - waits.mean())
    both = distance[:-1] + distance[1:]
    if (waits[1:] >= waits.mean()).any():
        both[np.maximum(waits[:-1], waits[1:]) < waits.mean()] = np.inf
    return int(both.argmin())


def _drawn(exposed: Intervals, hidden: Intervals, window_ns: int) -> tuple[Intervals, Intervals]:
    """Returns both unchanged. If there are too many waits, gaps are closed, and those that cost GPU time are in
    front."""
    if len(exposed) + len(hidden) <= MOST_WAITS:
        return exposed, hidden
    exposed = _closed(exposed, window_ns)
    return exposed, _closed(hidden, window_ns) - exposed


def _loader_lane(exposed: Intervals, hidden: Intervals) -> Lane:
    start = np.concatenate((exposed.start, hidden.start))
    end = np.concatenate((exposed.end, hidden.end))
    hatched = np.repeat([False, True], [len(exposed), len(hidden)])
    order = np.argsort(start, kind="stable")
    return Lane("loader", "Loader", start[order].tolist(), end[order].tolist(), hatched[order].tolist())


def _lane(lane: LaneId, label: str, busy: Intervals, window_ns: int) -> Lane:
    """Returns a lane in which gaps that no pixel could show are closed."""
    drawn = _closed(busy, window_ns)
    return Lane(lane, label, drawn.start.tolist(), drawn.end.tolist(), [False] * len(drawn))


def _closed(busy: Intervals, window_ns: int) -> Intervals:
    gap = round(LANE_GAP_FRACTION * window_ns)
    closed = Intervals.union(busy.start, busy.end + gap)
    return Intervals(closed.start, closed.end - gap)


# The iterators of loaders mark their calls. These are the marks in the steps that are requests for a batch, and their
# loaders.
#
# thread     [b][b][work.....][b][b][work.....][b][end](seed)[b][b][work.....]
# chain       0  0              1  1             2              2  2      marks with no work of the loop between them
# seed_ns                                              ^        x         a new iterator draws a seed for its workers
# recorded    0  0              0  0             0  -1          0  0      whose batch each one is, by a recorder's rows

#: Stands for the loader of a mark that no recorder knows, and for the seed of an iterator that is not new.
NOT_RECORDED = NO_SEED = -1
#: The op with which a new iterator draws a seed for its workers, and its sampler one for shuffling.
SEED = "aten::random_"
#: Ops of a new iterator and its sampler, and ops that only pass a batch on. They do not count as work on a batch.
NO_WORK = {
    SEED, "aten::empty", "aten::item", "aten::_local_scalar_dense", "aten::randperm", "aten::scalar_tensor",
    "aten::resize_", "aten::resolve_conj", "aten::resolve_neg",
    "aten::to", "aten::_to_copy", "aten::copy_", "aten::empty_strided", "aten::is_pinned", "aten::pin_memory",
    "aten::_pin_memory", "aten::record_stream",
}  # fmt: skip
#: An iterator brings tensors if ops run in more than this share of its marks.
USUALLY = 0.5
#: Maximum difference between the clocks of a trace and of a recorder.
_CLOCKS_NS = 20_000


class Marks(msgspec.Struct, frozen=True, eq=False):
    """The marks, in time order.

    row         row of the event table
    step        place of the step that asks, by the host's marks
    works       whether the loop works between the mark before and this one
    seed_ns     when the new iterator drew its first seed; NO_SEED if this is not the first mark of a new iterator
    recorded    its loader's number in the recorder's files, or NOT_RECORDED
    begins      whether it is the first batch of a pass over the data: that of a new iterator, or the recorder's first
    """

    row: Int64
    step: Int64
    works: Bool
    seed_ns: Int64
    recorded: Int64
    begins: Bool

    @property
    def chain(self) -> Int64:
        """The chain of each mark, numbered from 0 on. Marks of a step with no work between them are of one chain."""
        return np.cumsum(self.works | (np.diff(self.step, prepend=-1) != 0)) - 1

    def of(self, chosen: Bool) -> Marks:
        """Returns the chosen marks. The loop works between two of them if it works before any mark from one to the
        other."""
        works = np.diff(np.cumsum(self.works)[chosen], prepend=0) > 0
        ns, recorded = self.seed_ns[chosen], self.recorded[chosen]
        return Marks(self.row[chosen], self.step[chosen], works, ns, recorded, self.begins[chosen])


def find_marks(trace: Trace) -> Marks:
    """Finds the marks of every loader of the span that delivered a batch."""
    # A DataPipe calls the one that it is built on, and each marks its wait.
    rows = top_level(trace, loader_rows(trace))
    inside, step = in_steps(trace, trace.events.start_ns[rows])
    rows = rows[inside]
    works, seed_ns = _between(trace, rows)
    marks = Marks(rows, step, works, seed_ns, np.full(len(rows), NOT_RECORDED, np.int64), seed_ns != NO_SEED)
    if trace.loader_records is not None and len(rows) and len(trace.loader_records.received):
        marks = _as_recorded(trace, marks, trace.loader_records)
    end_here = (np.diff(marks.chain) == 0) | _without_batch(trace, marks)[:-1]
    ends = np.append((marks.seed_ns[1:] != NO_SEED) & end_here, False)[: len(marks.row)]
    return marks.of(~(ends & (marks.recorded == NOT_RECORDED)))


def _without_batch(trace: Trace, marks: Marks) -> Bool:
    """Returns which marks bring no batch, whatever the loop does before the next one, such as making another model. No
    op receives or makes a tensor in these marks, although ops do in most marks of their iterator, and no training
    follows before the next mark."""
    events, ops = trace.events, trace.events.rows(Kind.CPU_OP)
    start = events.start_ns[marks.row]
    end = events.ends(marks.row)
    name = events.name[marks.row]
    filled = np.zeros(len(marks.row), bool)
    for thread in distinct_in(events.thread[marks.row]).tolist():
        begins = events.start_ns[ops[events.thread[ops] == thread]]
        on_thread = events.thread[marks.row] == thread
        filled[on_thread] = np.searchsorted(begins, start[on_thread]) < np.searchsorted(begins, end[on_thread])
    usually = np.zeros(len(marks.row), bool)
    for each in distinct_in(name).tolist():
        usually[name == each] = filled[name == each].mean() > USUALLY
    nodes = backward_nodes(trace)
    trains = np.sort(events.start_ns[np.concatenate((nodes.event, nodes.forward[nodes.forward >= 0]))])
    until = np.append(start[1:], NEVER)[: len(start)]
    trained = np.searchsorted(trains, start) < np.searchsorted(trains, until)
    return np.asarray(~filled & usually & ~trained & ~marks.begins, bool)


def in_steps(trace: Trace, at_ns: Int64) -> tuple[Int64, Int64]:
    """Returns which times lie within the steps, by the host's marks, and the step of each of these."""
    step = find_steps(trace).holding_on_host(at_ns)
    inside = np.flatnonzero(step >= 0)
    return inside, step[inside]


def _between(trace: Trace, rows: Int64) -> tuple[Bool, Int64]:
    """Returns two columns for the time between each mark and the one before it: whether its thread works, and when it
    draws a first seed."""
    events = trace.events
    is_op = trace.events.kind == Kind.CPU_OP
    is_work = _is_work(trace)
    is_seed = np.array([name == SEED for name in trace.strings.strings], bool)
    works, seed_ns = np.zeros(len(rows), bool), np.full(len(rows), NO_SEED, np.int64)
    begin = np.append(0, events.ends(rows))[: len(rows)]
    for i, (low, high) in enumerate(zip(begin.tolist(), events.start_ns[rows].tolist(), strict=True)):
        first, last = np.searchsorted(events.start_ns, (low, high)).tolist()
        part = first + np.flatnonzero(events.thread[first:last] == events.thread[rows[i]])
        # A range that ends after the mark is around the loader or the step.
        works[i] = (is_work[part] & (events.ends(part) <= high)).any()
        ops = part[is_op[part]]
        reach = np.maximum.accumulate(np.append(low, events.ends(ops)))[: len(ops)]
        # A seed that an op of the loop draws does not count.
        seeds = ops[is_seed[events.name[ops]] & (events.start_ns[ops] >= reach)]
        seed_ns[i] = events.start_ns[seeds[0]] if len(seeds) else NO_SEED
    return works, seed_ns


def work_rows(trace: Trace) -> Int64:
    """Returns the rows of the work on batches, without the marks of steps."""
    rows = np.flatnonzero(_is_work(trace))
    return rows[is_in(rows, step_marks(trace), invert=True)]


def _is_work(trace: Trace) -> Bool:
    """Returns which events are work on a batch: an op, a user's range or a launch."""
    kind, name, strings = trace.events.kind, trace.events.name, trace.strings.strings
    no_work = loader_names(trace) | np.array([each in NO_WORK for each in strings], bool)
    launch = np.array(["Launch" in each for each in strings], bool)
    of_loop = is_in(kind, (Kind.CPU_OP, Kind.USER)) & ~no_work[name]
    return np.asarray(of_loop | (is_in(kind, CALL_KINDS) & launch[name]))


def _as_recorded(trace: Trace, marks: Marks, records: LoaderRecords) -> Marks:
    """Finds the batch for which each mark waits: of the recorded requests that are nearest to the mark's start, the
    longest one."""
    start = trace.events.start_ns[marks.row]
    end = trace.events.ends(marks.row)
    taken = records.received
    mark = np.clip(np.searchsorted((start[1:] + start[:-1]) // 2, taken.next_called_ns), 0, len(start) - 1)
    meets = np.argsort(taken.returned_ns - taken.next_called_ns, kind="stable")
    next_called_ns, mark = taken.next_called_ns[meets], mark[meets]
    inside = (next_called_ns > start[mark] - _CLOCKS_NS) & (next_called_ns < end[mark] + _CLOCKS_NS)
    meets, mark = meets[inside], mark[inside]
    recorded, begins = marks.recorded.copy(), marks.begins.copy()
    recorded[mark], begins[mark] = taken.loader[meets], taken.batch[meets] == 0
    result = msgspec.structs.replace(marks, recorded=recorded, begins=begins)
    return result.of(~_ends(trace, result, records))


def _ends(trace: Trace, marks: Marks, records: LoaderRecords) -> Bool:
    """Returns which marks only find their loader at its end: the recorder does not know them, but knows the batch
    before, once in each pass. If there are more of them than passes, they are batches of a loader that is not
    recorded."""
    name = trace.events.name[marks.row]
    taken = records.received
    unknown = marks.recorded == NOT_RECORDED
    after = np.append(False, ~unknown[:-1] & (name[1:] == name[:-1]))
    ends = unknown & (marks.seed_ns == NO_SEED) & after
    passes = len(np.unique(np.stack((taken.loader, taken.pass_number)), axis=1).T)
    return np.asarray(ends & (ends.sum() <= passes))
