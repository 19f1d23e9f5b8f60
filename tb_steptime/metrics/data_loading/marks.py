"""The marks of loaders' iterators in the steps, and which of them bring a batch.

thread     [b][b][work.....][b][b][work.....][b][end](seed)[b][b][work.....]
chain       0  0              1  1             2              2  2      marks with no work of the loop between them
seeded                                                        x         a new iterator drew a seed for its workers
recorded    0  0              0  0             0  -1          0  0      rows of a recorder tell whose batch each one is
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tb_steptime.trace.loader_marks import loader_names, loader_rows
from tb_steptime.trace.loader_records import LoaderRecords, Received
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: The loader of a mark of which no recorder tells.
NOT_RECORDED = -1
#: What a new iterator draws for its workers, and its sampler to shuffle. An op that draws such numbers is around it.
_SEED = "aten::random_"
#: Ops of a new iterator and of its sampler, and those that only hand a batch on: no work on it.
_NO_WORK = {
    _SEED, "aten::empty", "aten::item", "aten::_local_scalar_dense", "aten::randperm", "aten::scalar_tensor",
    "aten::resize_", "aten::resolve_conj", "aten::resolve_neg",
    "aten::to", "aten::_to_copy", "aten::copy_", "aten::empty_strided", "aten::is_pinned", "aten::pin_memory",
    "aten::_pin_memory", "aten::record_stream",
}  # fmt: skip
#: By how much the clocks of a trace and of a recorder may differ.
_CLOCKS_NS = 20_000


@dataclass(frozen=True, eq=False)
class Marks:
    """In time order, without those that are told to bring no batch.

    row         of the event table
    step        which of the span's steps asks, by the host's marks
    chain       0, 1, ...
    works       the loop works between the mark before and this one
    seeded      the first of a new iterator
    recorded    its loader's number in the recorder's files, or NOT_RECORDED
    begins      the recorder says that it is the first batch of a pass
    """

    row: Int64
    step: Int64
    chain: Int64
    works: Bool
    seeded: Bool
    recorded: Int64
    begins: Bool

    def of(self, kept: Bool) -> Marks:
        chain = np.unique(self.chain[kept], return_inverse=True)[1].astype(np.int64)
        works = np.diff(np.cumsum(self.works)[kept], prepend=0) > 0
        return Marks(
            self.row[kept], self.step[kept], chain, works, self.seeded[kept], self.recorded[kept], self.begins[kept]
        )


@shared()
def seed_names(trace: Trace) -> Bool:
    return np.array([name == _SEED for name in trace.strings.strings], bool)


@shared()
def launch_names(trace: Trace) -> Bool:
    return np.array(["Launch" in name for name in trace.strings.strings], bool)


@shared(loader_names)
def idle_names(trace: Trace) -> Bool:
    """For each row of the string table: is it a loader's mark, or an op that is no work on a batch?"""
    idle: Bool = loader_names(trace) | np.array([name in _NO_WORK for name in trace.strings.strings], bool)
    return idle


def find_marks(trace: Trace) -> Marks:
    """Of every loader of the span."""
    rows, step = _in_steps(trace, outermost_marks(trace))
    works, seeded = _between(trace, rows)
    chain = np.cumsum(works | (np.diff(step, prepend=-1) != 0)) - 1
    none = np.full(len(rows), NOT_RECORDED, np.int64)
    marks = Marks(rows, step, chain, works, seeded, none, np.zeros(len(rows), bool))
    passage = none
    if trace.loader_records is not None:
        marks, passage = _as_recorded(trace, marks, trace.loader_records)
    return marks.of(~(_before_a_seed(marks) | _recorded_ends(trace, marks, passage)))


def nothing_follows(trace: Trace, marks: Marks) -> bool:
    """Whether the loop does no work from the last mark to the end of its step."""
    events, step = trace.events, find_steps(trace).steps[int(marks.step[-1])]
    first, past = np.searchsorted(
        events.start_ns, (int(events.ends(marks.row[-1:])[0]), step.host_start_ns + step.host_ns)
    ).tolist()
    part = np.arange(first, past)
    part = part[events.thread[part] == events.thread[marks.row[-1]]]
    return not _works(trace, part).any()


def outermost_marks(trace: Trace) -> Int64:
    """Waits that are inside no other one: a DataPipe asks the one that it is built on, and each marks its wait."""
    rows = loader_rows(trace)
    reach = np.maximum.accumulate(trace.events.ends(rows)) if len(rows) else rows
    inside = np.append(False, trace.events.start_ns[rows[1:]] < reach[:-1]) if len(rows) else np.empty(0, bool)
    outermost: Int64 = rows[~inside]
    return outermost


def _in_steps(trace: Trace, rows: Int64) -> tuple[Int64, Int64]:
    steps = find_steps(trace).steps
    host_start = np.array([step.host_start_ns for step in steps], np.int64)
    host_end = host_start + np.array([step.host_ns for step in steps], np.int64)
    start = trace.events.start_ns[rows]
    step = np.searchsorted(host_start, start, side="right") - 1
    inside = (step >= 0) & (start < host_end[step])
    return rows[inside], step[inside]


def _between(trace: Trace, rows: Int64) -> tuple[Bool, Bool]:
    """Before each mark and after the one before it: does its thread work, and does it draw a seed?"""
    works, seeded = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    low = np.append(0, trace.events.ends(rows)[:-1]).tolist() if len(rows) else []
    for i, (row, begin) in enumerate(zip(rows.tolist(), low, strict=True)):
        part = _from_to(trace, row, begin)
        # what goes on around the mark is a range around the loader or the step
        works[i] = (_works(trace, part) & (trace.events.ends(part) <= trace.events.start_ns[row])).any()
        seeded[i] = len(_seeds_in(trace, part)) > 0
    return works, seeded


def seeds_before(trace: Trace, wait: int) -> Int64:
    """Rows of the seeds that a new iterator, and its sampler, draw between the mark before a wait and that wait."""
    rows = loader_rows(trace)
    at = int(np.searchsorted(rows, wait))
    return _seeds_in(trace, _from_to(trace, wait, int(trace.events.ends(rows[at - 1 : at])[0]) if at else 0))


def _from_to(trace: Trace, mark: int, low: int) -> Int64:
    """Rows of the mark's thread that begin from an instant on until the mark does."""
    events = trace.events
    part = np.arange(*np.searchsorted(events.start_ns, (low, events.start_ns[mark])).tolist(), dtype=np.int64)
    of_thread: Int64 = part[events.thread[part] == events.thread[mark]]
    return of_thread


def _seeds_in(trace: Trace, part: Int64) -> Int64:
    """Those that no op of the loop draws."""
    events = trace.events
    ops = part[events.kind[part] == Kind.CPU_OP]
    reach = np.maximum.accumulate(np.append(0, events.ends(ops)[:-1])) if len(ops) else ops
    seeds: Int64 = ops[seed_names(trace)[events.name[ops]] & (events.start_ns[ops] >= reach)]
    return seeds


def _works(trace: Trace, rows: Int64) -> Bool:
    """Which events are work on a batch: an op, a range of the user's, a launch."""
    kind, name = trace.events.kind[rows], trace.events.name[rows]
    of_loop = ((kind == Kind.CPU_OP) | (kind == Kind.USER)) & ~idle_names(trace)[name]
    launches = ((kind == Kind.RUNTIME) | (kind == Kind.DRIVER)) & launch_names(trace)[name]
    return np.asarray(of_loop | launches)


def _as_recorded(trace: Trace, marks: Marks, records: LoaderRecords) -> tuple[Marks, Int64]:
    """With whose batch each mark waits for, and of which pass over the data: a row's that lies within it, the longest
    one."""
    taken = records.received
    start, end = trace.events.start_ns[marks.row], trace.events.ends(marks.row)
    loader, passage = np.full((2, len(start)), NOT_RECORDED, np.int64)
    begins = np.zeros(len(start), bool)
    if not len(start) or not len(taken):
        return marks, passage
    mark, overlap = _most_met(start, end, taken)
    meets = np.argsort(overlap, kind="stable")
    meets = meets[overlap[meets] > -_CLOCKS_NS]
    loader[mark[meets]], passage[mark[meets]] = taken.loader[meets], taken.passage[meets]
    begins[mark[meets]] = taken.batch[meets] == 0
    return replace(marks, recorded=loader, begins=begins), passage


def _most_met(start: Int64, end: Int64, taken: Received) -> tuple[Int64, Int64]:
    """The mark that each receive overlaps most, of the last that begins before it asks and the next, and for how long;
    less than 0 is a gap. A thread that is stopped at the end of a mark lets that last much longer than what is received
    in it, so that their middles lie far apart."""
    after = np.searchsorted(start, taken.asked_ns, side="right")
    marks = np.clip(np.stack((after - 1, after)), 0, len(start) - 1)
    overlaps = np.minimum(taken.returned_ns, end[marks]) - np.maximum(taken.asked_ns, start[marks])
    best = (overlaps[1] > overlaps[0]).astype(np.int64)
    each = np.arange(len(after))
    return marks[best, each], overlaps[best, each]


def _before_a_seed(marks: Marks) -> Bool:
    """Marks of which no batch came: a new iterator is made, and nothing was done since."""
    ends = np.append(marks.seeded[1:] & (np.diff(marks.chain) == 0), False) if len(marks.row) else marks.seeded
    before: Bool = ends & (marks.recorded == NOT_RECORDED)
    return before


def _recorded_ends(trace: Trace, marks: Marks, passage: Int64) -> Bool:
    """Marks that no recorder knows, after a recorded batch: the loader was at its end, which happens once a pass. More
    of them are batches of a loader that is not recorded."""
    if not len(marks.row):
        return np.empty(0, bool)
    name = trace.events.name[marks.row]
    after = np.append(NOT_RECORDED, np.where(name[1:] == name[:-1], marks.recorded[:-1], NOT_RECORDED))
    maybe = (marks.recorded == NOT_RECORDED) & ~marks.seeded & (after != NOT_RECORDED)
    ends = np.zeros(len(marks.row), bool)
    for loader in np.unique(after[maybe]).tolist():
        theirs = maybe & (after == loader)
        ends |= theirs & (theirs.sum() <= len(np.unique(passage[marks.recorded == loader])))
    return ends
