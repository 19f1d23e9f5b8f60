"""Which marks of a span are of the same loader, and which begin or end an epoch.

thread     [train][work.....][train][work.....]      one loader; backward passes follow its batches
           [a][b][work......][a][b][work......]      of one class: one loader, or two that are zipped; see `in_a_row`
           [train][work..][eval][f][eval][f][train]  no backward pass follows the batches of an evaluation
           [work][end][first]                        a mark without a batch ends an epoch; the next batch is its first
           [train][work][end][eval][f][eval][f]...   so does one before an evaluation, whose loaders are told by itself
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.marks import NOT_RECORDED, Marks, find_marks, nothing_follows
from tb_steptime.metrics.data_loading.waits import is_multiprocess
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.loader_marks import iterator_of
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64

#: Fewer waits do not tell whether they are alike.
ENOUGH_WAITS = 6
#: In one place of its row a loader of its own takes half as long again as in the place before or behind it, always.
APART_TIMES = 1.5
#: Single waits without a backward pass that are rarer end an epoch; others lead to one later.
RARE_FRACTION = 1 / 3
#: A recorded loader trains if a backward pass follows so many of its batches: some are asked for ahead.
TRAINS_FRACTION = 0.25
#: Of a mark whose kind is not several loaders for sure.
TOGETHER = -1


@dataclass(frozen=True, eq=False)
class MarksApart:
    """The marks that bring a batch, one entry each, in time order.

    kind, place    marks that differ in one of them are of different loaders; place TOGETHER: of one, or of several
    trains         a backward pass follows the loader's batches
    first          the first batch of an epoch
    in_a_row       so many marks of this kind follow one another in most places; 0 where they have no number in common
    """

    marks: Marks
    kind: Int64
    place: Int64
    trains: Bool
    first: Bool
    in_a_row: Int64


@dataclass(frozen=True, eq=False)
class _Turns:
    """Of each mark: it is the how manieth of its kind in its chain, of how many, and of how many in most chains; 0
    where chains have no number in common."""

    turn: Int64
    number: Int64
    usual: Int64

    def of(self, kept: Bool) -> _Turns:
        return _Turns(self.turn[kept], self.number[kept], self.usual[kept])


def tell_apart(trace: Trace) -> MarksApart:
    marks = find_marks(trace)
    trains, kept = _trains(trace, marks)
    marks, trains = marks.of(kept), trains[kept]
    kind = _kinds(trace, marks, trains)
    turns = _turns(marks, kind)
    ends, first = _epochs(marks, kind, turns)
    marks, trains, kind, turns, first = marks.of(~ends), trains[~ends], kind[~ends], turns.of(~ends), first[~ends]
    return MarksApart(marks, kind, _places(trace, marks, kind, turns), trains, first, turns.usual)


def _trains(trace: Trace, marks: Marks) -> tuple[Bool, Bool]:
    """Which marks are of a loader whose batches a backward pass follows, and which do not only end an epoch.

    A single wait that none follows, between two that train, is an epoch's end; where there are many, batches are asked
    for ahead of the work on them.
    """
    by_chain = _backward_follows(trace, marks)
    trains = by_chain[marks.chain] if len(marks.row) else by_chain
    before, after = np.append(True, by_chain[:-1]), np.append(by_chain[1:], False)
    alone = ~by_chain & before & after & (np.bincount(marks.chain, minlength=len(by_chain)) == 1)
    untold = marks.recorded == NOT_RECORDED
    lone = alone[marks.chain] & ~marks.seeded & untold
    if lone.sum() <= RARE_FRACTION * by_chain.sum():
        ends = lone & (marks.chain > 0)
    else:
        ends, trains = np.zeros(len(lone), bool), trains | lone
    ends |= untold & _ends_of_others(trace, marks, trains)
    for loader in np.unique(marks.recorded[~untold]).tolist():
        theirs = marks.recorded == loader
        trains = np.where(theirs, trains[theirs].mean() > TRAINS_FRACTION, trains)
    return trains, ~ends


def _backward_follows(trace: Trace, marks: Marks) -> Bool:
    """For each chain: whether a backward pass follows it, or no chain of the span. What the last one leads to may be
    cut off by the recording's end, so it is as the one before, but for another iterator's."""
    begin = np.flatnonzero(np.diff(marks.chain, prepend=-1))
    opens = np.append(trace.events.start_ns[marks.row[begin]], np.iinfo(np.int64).max)
    nodes = np.sort(trace.events.start_ns[backward_nodes(trace).event])
    follows: Bool = np.diff(np.searchsorted(nodes, opens)) > 0
    if not follows.any():
        return np.ones(len(follows), bool)
    last = begin[-2:]
    if not marks.seeded[last[-1]] and len(np.unique(marks.recorded[last])) == 1:
        follows[-1] |= bool(follows[-2:].any())
    return follows


def _ends_of_others(trace: Trace, marks: Marks, trains: Bool) -> Bool:
    """Marks of an evaluation's loader with no work until the training's is asked, or the steps end: no batch came."""
    name, ends = trace.events.name[marks.row], np.zeros(len(marks.row), bool)
    if not len(name):
        return ends
    ends[:-1] = ~marks.works[1:] & (marks.chain[:-1] != marks.chain[1:]) & ~trains[:-1] & trains[1:]
    ends[-1] = not trains[-1] and not marks.seeded[-1] and nothing_follows(trace, marks)
    number = int(marks.chain[-1]) + 1
    last = np.zeros(number, np.int64)
    last[marks.chain] = name
    for each in np.unique(name[trains]).tolist():
        theirs = trains & (name == each) & (last[marks.chain] != each)
        if len(np.unique(marks.chain[trains & (name == each)])) <= RARE_FRACTION * len(np.unique(marks.chain[trains])):
            ends |= theirs
    return ends


def _kinds(trace: Trace, marks: Marks, trains: Bool) -> Int64:
    """Marks of different kinds are of different loaders: of another class, in another role, or by the recorder."""
    told = np.stack((trace.events.name[marks.row].astype(np.int64), trains.astype(np.int64), marks.recorded), axis=1)
    told[marks.recorded != NOT_RECORDED, :2] = 0
    kind: Int64 = np.unique(told, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return kind


def _turns(marks: Marks, kind: Int64) -> _Turns:
    """How often each kind is asked in a row."""
    turn, number, usual = np.zeros((3, len(kind)), np.int64)
    for each in np.unique(kind).tolist():
        mine = np.flatnonzero(kind == each)
        begin = np.flatnonzero(np.diff(marks.chain[mine], prepend=-1))
        length = np.diff(np.append(begin, len(mine)))
        turn[mine] = np.arange(len(mine)) - np.repeat(begin, length)
        number[mine] = np.repeat(length, length)
        most = int(np.bincount(length).argmax())
        usual[mine] = most if 2 * (length == most).sum() >= len(length) else 0
    return _Turns(turn, number, usual)


def _epochs(marks: Marks, kind: Int64, turns: _Turns) -> tuple[Bool, Bool]:
    """Which marks only end an epoch, and which bring the first batch of one.

    A new iterator's seed, or the recorder, tells. Where nobody does, what stands in a row before as many as usual found
    its epoch at the end.
    """
    recorded = marks.recorded != NOT_RECORDED
    first = np.where(recorded, marks.begins, marks.seeded)
    row = marks.chain * (int(kind.max(initial=0)) + 1) + kind
    untold = ~recorded & ~np.isin(row, row[first]) & (turns.usual > 0) & (turns.number > turns.usual)
    ends: Bool = untold & (turns.turn < turns.number - turns.usual)
    first |= untold & ~ends & (turns.turn == turns.number - turns.usual)
    return ends, first


def _places(trace: Trace, marks: Marks, kind: Int64, turns: _Turns) -> Int64:
    """Which of several loaders of one kind each mark is of, or TOGETHER."""
    place = np.full(len(kind), TOGETHER, np.int64)
    wait_ns = trace.events.dur_ns[marks.row]
    for each in np.unique(kind[(turns.usual > 1) & (marks.recorded == NOT_RECORDED)]).tolist():
        mine = kind == each
        if is_multiprocess((mark_iterator(trace, marks, int(mine.argmax())),)) is False:
            theirs = turns.of(mine)
            if _are_apart(theirs, wait_ns[mine]):
                place[mine] = np.maximum(theirs.turn - np.maximum(theirs.number - theirs.usual, 0), 0)
    return place


def mark_iterator(trace: Trace, marks: Marks, mark: int) -> str:
    """The class of the iterator that the mark is of."""
    return iterator_of(trace.strings[int(trace.events.name[marks.row[mark]])])


def _are_apart(turns: _Turns, wait_ns: Int64) -> bool:
    """Whether a batch always takes longer in one place of the row than in another: then no loader makes both. Only of
    loaders in the training process, whose waits do not depend on what was asked before."""
    whole = turns.number == turns.usual
    places = [wait_ns[whole & (turns.turn == turn)] for turn in range(int(turns.usual[0]))]
    if len(places[0]) < ENOUGH_WAITS:
        return False
    low, high = np.array([np.percentile(waits, (10, 90)) for waits in places]).T
    order = np.argsort(low)
    return bool((low[order[1:]] >= APART_TIMES * high[order[:-1]]).all())
