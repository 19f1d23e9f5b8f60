"""The marks of loaders' iterators in the steps: which of them are requests for a batch, and of which loader.

thread     [b][b][work.....][b][b][work.....][b][end](seed)[b][b][work.....]
chain       0  0              1  1             2              2  2      marks with no work of the loop between them
seed_ns                                              ^        x         a new iterator draws a seed for its workers
recorded    0  0              0  0             0  -1          0  0      whose batch each one is, by a recorder's rows
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.host_ranges import loader_names, loader_rows
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, distinct_in, is_in

#: Stands for the loader of a mark that no recorder knows, and for the seed of an iterator that is not new.
NOT_RECORDED = NO_SEED = -1
#: Op with which a new iterator draws a seed for its workers, and its sampler one for shuffling.
SEED = "aten::random_"
#: Ops of a new iterator and its sampler, and ops that only pass a batch on: they do not count as work on it.
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
    """In time order.

    row         of the event table
    step        which of the span's steps asks, by the host's marks
    works       the loop works between the mark before and this one
    seed_ns     when the new iterator drew its first seed; NO_SEED if this is not the first mark of a new iterator
    recorded    its loader's number in the recorder's files, or NOT_RECORDED
    begins      the first batch of a pass over the data: of a new iterator, or according to the recorder
    """

    row: Int64
    step: Int64
    works: Bool
    seed_ns: Int64
    recorded: Int64
    begins: Bool

    @property
    def chain(self) -> Int64:
        """0, 1, ...: marks of a step with no work between them are of one chain."""
        return np.cumsum(self.works | (np.diff(self.step, prepend=-1) != 0)) - 1

    def of(self, kept: Bool) -> Marks:
        works = np.diff(np.cumsum(self.works)[kept], prepend=0) > 0
        ns, recorded = self.seed_ns[kept], self.recorded[kept]
        return Marks(self.row[kept], self.step[kept], works, ns, recorded, self.begins[kept])


def find_marks(trace: Trace) -> Marks:
    """Finds the marks of every loader of the span that delivered a batch."""
    rows = outermost_marks(trace)
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
    """The marks that bring no batch, whatever the loop does before the next one, such as making another model: no op
    receives or makes a tensor in them, as in most marks of their iterator, and no training follows before the next."""
    events, ops = trace.events, trace.events.rows(Kind.CPU_OP)
    start, end, name = events.start_ns[marks.row], events.ends(marks.row), events.name[marks.row]
    filled = np.zeros(len(marks.row), bool)
    for thread in distinct_in(events.thread[marks.row]).tolist():
        begins = events.start_ns[ops[events.thread[ops] == thread]]
        mine = events.thread[marks.row] == thread
        filled[mine] = np.searchsorted(begins, start[mine]) < np.searchsorted(begins, end[mine])
    usually = np.zeros(len(marks.row), bool)
    for each in distinct_in(name).tolist():
        usually[name == each] = filled[name == each].mean() > USUALLY
    nodes = backward_nodes(trace)
    trains = np.sort(events.start_ns[np.concatenate((nodes.event, nodes.forward[nodes.forward >= 0]))])
    until = np.append(start[1:], np.iinfo(np.int64).max)[: len(start)]
    trained = np.searchsorted(trains, start) < np.searchsorted(trains, until)
    return np.asarray(~filled & usually & ~trained & ~marks.begins, bool)


def outermost_marks(trace: Trace) -> Int64:
    """Waits that are not inside another one: a DataPipe calls the one that it is built on, and each marks its wait."""
    return top_level(trace, loader_rows(trace))


def in_steps(trace: Trace, at_ns: Int64) -> tuple[Int64, Int64]:
    """Which times lie within the steps, by the host's marks, and the step of each of these."""
    step = find_steps(trace).holding_on_host(at_ns)
    inside = np.flatnonzero(step >= 0)
    return inside, step[inside]


def _between(trace: Trace, rows: Int64) -> tuple[Bool, Int64]:
    """For the time between each mark and the one before it: whether its thread works, and when it draws a first
    seed."""
    events, is_op, is_work = trace.events, trace.events.kind == Kind.CPU_OP, _is_work(trace)
    is_seed = np.array([name == SEED for name in trace.strings.strings], bool)
    works, seed_ns = np.zeros(len(rows), bool), np.full(len(rows), NO_SEED, np.int64)
    begin = np.append(0, events.ends(rows))[: len(rows)]
    for i, (low, high) in enumerate(zip(begin.tolist(), events.start_ns[rows].tolist(), strict=True)):
        first, last = np.searchsorted(events.start_ns, (low, high)).tolist()
        part = first + np.flatnonzero(events.thread[first:last] == events.thread[rows[i]])
        # a range that ends after the mark is around the loader or the step
        works[i] = (is_work[part] & (events.ends(part) <= high)).any()
        ops = part[is_op[part]]
        reach = np.maximum.accumulate(np.append(low, events.ends(ops)))[: len(ops)]
        seeds = ops[is_seed[events.name[ops]] & (events.start_ns[ops] >= reach)]  # not drawn by an op of the loop
        seed_ns[i] = events.start_ns[seeds[0]] if len(seeds) else NO_SEED
    return works, seed_ns


def work_rows(trace: Trace) -> Int64:
    """Rows of the work on batches, without the marks of steps."""
    rows = np.flatnonzero(_is_work(trace))
    return rows[is_in(rows, step_marks(trace), invert=True)]


def _is_work(trace: Trace) -> Bool:
    """Marks the events that are work on a batch: an op, a range of the user's, a launch."""
    kind, name, strings = trace.events.kind, trace.events.name, trace.strings.strings
    no_work = loader_names(trace) | np.array([each in NO_WORK for each in strings], bool)
    launch = np.array(["Launch" in each for each in strings], bool)
    of_loop = is_in(kind, (Kind.CPU_OP, Kind.USER)) & ~no_work[name]
    return np.asarray(of_loop | (is_in(kind, CALL_KINDS) & launch[name]))


def _as_recorded(trace: Trace, marks: Marks, records: LoaderRecords) -> Marks:
    """Find the batch for which each mark waits: of the recorder's rows requested next to the mark's start, the
    longest."""
    start, end, taken = trace.events.start_ns[marks.row], trace.events.ends(marks.row), records.received
    mark = np.clip(np.searchsorted((start[1:] + start[:-1]) // 2, taken.asked_ns), 0, len(start) - 1)
    meets = np.argsort(taken.returned_ns - taken.asked_ns, kind="stable")
    asked, mark = taken.asked_ns[meets], mark[meets]
    inside = (asked > start[mark] - _CLOCKS_NS) & (asked < end[mark] + _CLOCKS_NS)
    meets, mark = meets[inside], mark[inside]
    recorded, begins = marks.recorded.copy(), marks.begins.copy()
    recorded[mark], begins[mark] = taken.loader[meets], taken.batch[meets] == 0
    known = msgspec.structs.replace(marks, recorded=recorded, begins=begins)
    return known.of(~_ends(trace, known, records))


def _ends(trace: Trace, marks: Marks, records: LoaderRecords) -> Bool:
    """Marks that the recorder does not know, after a batch that it knows: the loader was at its end, once in each pass.
    If there are more of them than passes, they are batches of a loader that is not recorded."""
    name, taken, unknown = trace.events.name[marks.row], records.received, marks.recorded == NOT_RECORDED
    after = np.append(False, ~unknown[:-1] & (name[1:] == name[:-1]))
    ends = unknown & (marks.seed_ns == NO_SEED) & after
    passes = len(np.unique(np.stack((taken.loader, taken.pass_number)), axis=1).T)
    return np.asarray(ends & (ends.sum() <= passes))
