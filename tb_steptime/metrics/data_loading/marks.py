"""The marks of loaders' iterators in the steps: with which of them the loop asks for a batch, and for whose.

thread     [b][b][work.....][b][b][work.....][b][end](seed)[b][b][work.....]
chain       0  0              1  1             2              2  2      marks with no work of the loop between them
seed_ns                                              ^        x         a new iterator draws a seed for its workers
recorded    0  0              0  0             0  -1          0  0      whose batch each one is, by a recorder's rows
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tb_steptime.trace.loader_marks import loader_names, loader_rows
from tb_steptime.trace.loader_records import LoaderRecords, Received
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: The loader of a mark that no recorder knows, and the seed of an iterator that is not new.
NOT_RECORDED = NO_SEED = -1
#: What a new iterator draws for its workers, and its sampler to shuffle.
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
    """In time order, without those that a new iterator or a recorder shows to bring no batch.

    row         of the event table
    step        which of the span's steps asks, by the host's marks
    chain       0, 1, ...
    works       the loop works between the mark before and this one
    seed_ns     when the new iterator drew its first seed, NO_SEED where it is not the first mark of one
    recorded    its loader's number in the recorder's files, or NOT_RECORDED
    begins      the recorder says that it is the first batch of a pass over the data
    """

    row: Int64
    step: Int64
    chain: Int64
    works: Bool
    seed_ns: Int64
    recorded: Int64
    begins: Bool

    def of(self, kept: Bool) -> Marks:
        return Marks(
            row=self.row[kept],
            step=self.step[kept],
            chain=np.unique(self.chain[kept], return_inverse=True)[1].astype(np.int64),
            works=np.diff(np.cumsum(self.works)[kept], prepend=0) > 0,
            seed_ns=self.seed_ns[kept],
            recorded=self.recorded[kept],
            begins=self.begins[kept],
        )


def find_marks(trace: Trace) -> Marks:
    """Of every loader of the span."""
    rows, step = _in_steps(trace, outermost_marks(trace))
    works, seed_ns = _between(trace, rows)
    chain = np.cumsum(works | (np.diff(step, prepend=-1) != 0)) - 1
    none = np.full(len(rows), NOT_RECORDED, np.int64)
    marks = Marks(rows, step, chain, works, seed_ns, none, np.zeros(len(rows), bool))
    if trace.loader_records is None or not len(rows) or not len(trace.loader_records.received):
        return marks.of(~_before_a_seed(marks))
    recorded = _as_recorded(trace, marks, trace.loader_records.received)
    return recorded.of(~(_before_a_seed(recorded) | _recorded_ends(trace, recorded, trace.loader_records)))


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


def _between(trace: Trace, rows: Int64) -> tuple[Bool, Int64]:
    """Before each mark and after the one before it: does its thread work, and when does it draw a first seed?"""
    events, names = trace.events, _names(trace)
    works, seed_ns = np.zeros(len(rows), bool), np.full(len(rows), NO_SEED, np.int64)
    low = np.append(0, events.ends(rows)[:-1]).tolist() if len(rows) else []
    for i, (row, begin) in enumerate(zip(rows.tolist(), low, strict=True)):
        part = np.arange(*np.searchsorted(events.start_ns, (begin, events.start_ns[row])).tolist(), dtype=np.int64)
        part = part[events.thread[part] == events.thread[row]]
        # what ends after the mark begins is a range around the loader or the step
        works[i] = (_is_work(trace, names, part) & (events.ends(part) <= events.start_ns[row])).any()
        seeds = _seeds_in(trace, names, part)
        seed_ns[i] = events.start_ns[seeds[0]] if len(seeds) else NO_SEED
    return works, seed_ns


def _seeds_in(trace: Trace, names: _Names, part: Int64) -> Int64:
    """Those that no op of the loop draws."""
    events = trace.events
    ops = part[events.kind[part] == Kind.CPU_OP]
    reach = np.maximum.accumulate(np.append(0, events.ends(ops)[:-1])) if len(ops) else ops
    seeds: Int64 = ops[names.seed[events.name[ops]] & (events.start_ns[ops] >= reach)]
    return seeds


def _is_work(trace: Trace, names: _Names, rows: Int64) -> Bool:
    """Which events are work on a batch: an op, a range of the user's, a launch."""
    kind, name = trace.events.kind[rows], trace.events.name[rows]
    of_loop = ((kind == Kind.CPU_OP) | (kind == Kind.USER)) & ~names.no_work[name]
    launches = ((kind == Kind.RUNTIME) | (kind == Kind.DRIVER)) & names.launch[name]
    return np.asarray(of_loop | launches)


@dataclass(frozen=True, eq=False)
class _Names:
    """For each row of the string table: a loader's mark or an op that is no work on a batch; a seed; a launch."""

    no_work: Bool
    seed: Bool
    launch: Bool


def _names(trace: Trace) -> _Names:
    strings = trace.strings.strings
    no_work = loader_names(trace) | np.array([name in _NO_WORK for name in strings], bool)
    seed = np.array([name == _SEED for name in strings], bool)
    return _Names(no_work, seed, np.array(["Launch" in name for name in strings], bool))


def _as_recorded(trace: Trace, marks: Marks, taken: Received) -> Marks:
    """With whose batch each mark waits for: of the recorder's rows that are asked for next to its start the longest."""
    start, end = trace.events.start_ns[marks.row], trace.events.ends(marks.row)
    mark = np.clip(np.searchsorted((start[1:] + start[:-1]) // 2, taken.asked_ns), 0, len(start) - 1)
    meets = np.argsort(taken.returned_ns - taken.asked_ns, kind="stable")
    asked, mark = taken.asked_ns[meets], mark[meets]
    inside = (asked > start[mark] - _CLOCKS_NS) & (asked < end[mark] + _CLOCKS_NS)
    meets, mark = meets[inside], mark[inside]
    loader, begins = marks.recorded.copy(), marks.begins.copy()
    loader[mark] = taken.loader[meets]
    begins[mark] = taken.batch[meets] == 0
    return replace(marks, recorded=loader, begins=begins)


def _before_a_seed(marks: Marks) -> Bool:
    """Marks of which no batch came: a new iterator is made, and nothing was done since."""
    next_is_new = np.append(marks.seed_ns[1:] != NO_SEED, False)[: len(marks.row)]
    next_is_same = np.append(np.diff(marks.chain) == 0, False)[: len(marks.row)]
    before: Bool = next_is_new & next_is_same & (marks.recorded == NOT_RECORDED)
    return before


def _recorded_ends(trace: Trace, marks: Marks, records: LoaderRecords) -> Bool:
    """Marks that the recorder does not know after a batch that it knows: the loader was at its end, once in each pass.
    More of them than passes are batches of a loader that is not recorded."""
    name, taken = trace.events.name[marks.row], records.received
    after = np.append(NOT_RECORDED, np.where(name[1:] == name[:-1], marks.recorded[:-1], NOT_RECORDED))
    ends: Bool = (marks.recorded == NOT_RECORDED) & (marks.seed_ns == NO_SEED) & (after != NOT_RECORDED)
    passes = len(np.unique(np.stack((taken.loader, taken.pass_number)), axis=1).T)
    return np.asarray(ends & (ends.sum() <= passes))
