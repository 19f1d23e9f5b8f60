"""Which loaders a span waits for, told apart.

thread     [train][work.....][train][work.....]      one loader; backward passes follow its batches
           [a][b][work......][a][b][work......]      of one class: one loader, or two that are zipped; see `in_a_row`
           [train][work..][eval][f][eval][f][train]  no backward pass follows the batches of an evaluation
           [work][end][first]                        a mark without a batch ends an epoch; the next batch is its first
           [train][work][end][eval][f][eval][f]...   so does one before an evaluation, whose loaders are told by itself
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading import exposed_waits, is_multiprocess, iterator_of, loader_waits
from tb_steptime.metrics.loader_marks import NOT_RECORDED, Marks, find_marks, nothing_follows
from tb_steptime.phrases import Phrase, count, phrase
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.table import Bool, Int64

#: Fewer waits do not tell whether they are alike.
ENOUGH_WAITS = 6
#: Waits that differ by less than a quarter of what the times between them differ by do not depend on these.
STEADY_FRACTION = 0.25
#: In one place of its row a loader of its own takes half as long again as in the place before or behind it, always.
APART_TIMES = 1.5
#: Single waits without a backward pass that are rarer end an epoch; others lead to one later.
RARE_FRACTION = 1 / 3
#: A recorded loader trains if a backward pass follows so many of its batches: some are asked for ahead.
TRAINS_FRACTION = 0.25


class LoaderRow(msgspec.Struct, frozen=True):
    """One loader of the span, as far as the trace tells them apart; ns are means per batch.

    role: "training" or "evaluation" where both kinds are in the span, else None. position: 1, 2, ... by first wait,
    where several have the same role, else None. batches: of the means, without the first ones of an epoch;
    first_batches, first_batch_ns: those, with the start of the workers in them, None where there is none. in_a_row: so
    many of its batches are asked for one right after the other, which may be of as many loaders; 1: it is one for sure.
    wait_ns = exposed_ns + hidden_ns.
    """

    label: Phrase
    iterator: str
    multiprocess: bool | None
    role: str | None
    position: int | None
    batches: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int
    first_batches: int
    first_batch_ns: int | None
    in_a_row: int


@dataclass(frozen=True)
class Loader:
    """What tells a loader from the others; see `LoaderRow`. recorded: its number in a recorder's files, else None."""

    iterator: str
    role: str | None
    position: int | None
    recorded: int | None
    in_a_row: int


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches that the steps take, one entry each, in time order; marks that only end an epoch are left out.

    row        of the event table: the wait
    loader     which of `loaders`
    first      the first batch of an epoch
    step       which of the span's steps asks for it, by the host's marks
    wait_ns = exposed_ns + hidden_ns
    """

    row: Int64
    loader: Int64
    first: Bool
    step: Int64
    wait_ns: Int64
    exposed_ns: Int64
    loaders: tuple[Loader, ...]

    def of(self, loader: int) -> Int64:
        """Entries of one loader's batches, without the first ones of an epoch."""
        return np.flatnonzero((self.loader == loader) & ~self.first)


@dataclass(frozen=True, eq=False)
class _Turns:
    """Of each mark: it is the how manieth of its kind in its chain, of how many, and of how many in most chains; 0
    where chains have no number in common."""

    turn: Int64
    number: Int64
    usual: Int64

    def of(self, kept: Bool) -> _Turns:
        return _Turns(self.turn[kept], self.number[kept], self.usual[kept])


@dataclass(frozen=True)
class WaitedFor:
    """The loader that is waited for most. batches: that a step takes of it; wait_ns, exposed_ns: of the mean step, with
    the first batches of epochs. in_a_row: see `LoaderRow`. steps: of the span."""

    steps: int
    loader: int
    iterator: str
    multiprocess: bool | None
    recorded: int | None
    batches: float
    in_a_row: int
    wait_ns: int
    exposed_ns: int


@per_trace
def find_batches(trace: Trace) -> Batches:
    """Of every loader of the span."""
    marks = find_marks(trace)
    trains, kept = _trains(trace, marks)
    marks, trains = marks.of(kept), trains[kept]
    kind = _kinds(trace, marks, trains)
    turns = _turns(marks, kind)
    ends, first = _epochs(marks, kind, turns)
    marks, trains, kind, turns, first = marks.of(~ends), trains[~ends], kind[~ends], turns.of(~ends), first[~ends]
    place = _places(trace, marks, kind, turns)
    number, loaders = _loaders(trace, marks, trains, turns, np.stack((kind, place), axis=1))
    start, end = trace.events.start_ns[marks.row], trace.events.ends(marks.row)
    exposed = exposed_waits(trace).overlap_ns(start, end)
    return Batches(marks.row, number, first, marks.step, end - start, exposed, loaders)


def loader_table(trace: Trace) -> list[LoaderRow]:
    """One row per loader, in order of first wait."""
    batches = find_batches(trace)
    return [_row(batches, number) for number in range(len(batches.loaders))]


def most_waited(batches: Batches) -> int | None:
    """The loader that costs most, by exposed wait, then by wait; None without batches.

    Of those that at least half of the steps take batches of, if any of these is waited for: an evaluation in a step or
    two may wait longer, and is not what the others wait for.
    """
    pairs = np.unique(np.stack((batches.loader, batches.step)), axis=1)
    steps = np.bincount(pairs[0], minlength=len(batches.loaders))
    often = 2 * steps >= len(np.unique(batches.step))
    cost = [
        (int(batches.exposed_ns[mine].sum()), int(batches.wait_ns[mine].sum()), -number)
        for number, mine in enumerate(batches.of(loader) for loader in range(len(batches.loaders)))
    ]
    of_most = [each for each in cost if often[-each[2]] and each[1] > 0]
    return -max(of_most or cost)[2] if cost else None


@per_trace
def waited_for(trace: Trace) -> WaitedFor | None:
    """None where no batch is asked for in the steps."""
    batches, waits = find_batches(trace), loader_waits(trace)
    number = most_waited(batches)
    if number is None or waits is None:
        return None
    loader, mine, steps = batches.loaders[number], batches.loader == number, len(waits.wait_ns)
    wait, exposed = float(waits.wait_ns.mean()), float(waits.exposed_ns.mean())
    if len(batches.loaders) > 1:
        wait, exposed = batches.wait_ns[mine].sum() / steps, batches.exposed_ns[mine].sum() / steps
    return WaitedFor(
        steps=steps,
        loader=number,
        iterator=loader.iterator,
        multiprocess=is_multiprocess((loader.iterator,)),
        recorded=loader.recorded,
        batches=int(mine.sum()) / steps,
        in_a_row=loader.in_a_row,
        wait_ns=round(wait),
        exposed_ns=round(exposed),
    )


def steady_wait_ns(trace: Trace, batches: Batches, loader: int) -> int | None:
    """What each wait lasts although its batch lies ready; None where waits tell of batches that come late.

    A batch that is late ends its wait when it is there, so a longer step makes a shorter wait: the waits of a loader
    that is too slow differ at least as the steps do. Waits that are alike whatever the step does are its own work.
    Batches in a row count as one: workers may have them at the same time, so nothing between them makes no longer wait.
    """
    mine = batches.of(loader)
    step = batches.step[mine]
    opens = np.flatnonzero(np.diff(step, prepend=-1) != 0 if batches.loaders[loader].in_a_row > 1 else step >= 0)
    if len(opens) < ENOUGH_WAITS:
        return None
    start, end = trace.events.start_ns[batches.row[mine]], trace.events.ends(batches.row[mine])
    low, high = np.percentile(np.add.reduceat(batches.wait_ns[mine], opens), (10, 90))
    least, most = np.percentile(start[opens[1:]] - end[opens[1:] - 1], (10, 90))
    middle = float(np.median(batches.wait_ns[mine]))
    return round(middle) if high - low < STEADY_FRACTION * (most - least) else None


def _row(batches: Batches, number: int) -> LoaderRow:
    loader, mine = batches.loaders[number], batches.of(number)
    first = np.flatnonzero((batches.loader == number) & batches.first)
    exposed, hidden = _mean(batches.exposed_ns[mine]), _mean((batches.wait_ns - batches.exposed_ns)[mine])
    return LoaderRow(
        label=_label(loader),
        iterator=loader.iterator,
        multiprocess=is_multiprocess((loader.iterator,)),
        role=loader.role,
        position=loader.position,
        batches=len(mine),
        wait_ns=exposed + hidden,
        exposed_ns=exposed,
        hidden_ns=hidden,
        first_batches=len(first),
        first_batch_ns=_mean(batches.wait_ns[first]) if len(first) else None,
        in_a_row=loader.in_a_row,
    )


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else 0


def _label(loader: Loader) -> Phrase:
    words = {"training": "Training loader", "evaluation": "Evaluation loader", None: "Loader"}[loader.role]
    if loader.position is None:
        return phrase(words)
    return phrase(words + " {place}", place=count(loader.position))


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


#: Of a mark whose kind is not several loaders for sure.
_TOGETHER = -1


def _places(trace: Trace, marks: Marks, kind: Int64, turns: _Turns) -> Int64:
    """Which of several loaders of one kind each mark is of, or _TOGETHER."""
    place = np.full(len(kind), _TOGETHER, np.int64)
    wait_ns = trace.events.dur_ns[marks.row]
    for each in np.unique(kind[(turns.usual > 1) & (marks.recorded == NOT_RECORDED)]).tolist():
        mine = kind == each
        if is_multiprocess((_iterator(trace, marks, int(mine.argmax())),)) is False:
            theirs = turns.of(mine)
            if _are_apart(theirs, wait_ns[mine]):
                place[mine] = np.maximum(theirs.turn - np.maximum(theirs.number - theirs.usual, 0), 0)
    return place


def _iterator(trace: Trace, marks: Marks, mark: int) -> str:
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


def _loaders(trace: Trace, marks: Marks, trains: Bool, turns: _Turns, key: Int64) -> tuple[Int64, tuple[Loader, ...]]:
    """For each mark the loader that it is of, and these in order of first wait. key: kind and place of each mark."""
    _, opens, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(opens)
    number: Int64 = np.argsort(order)[inverse.reshape(-1)].astype(np.int64)
    told = len(set(trains.tolist())) > 1
    roles = [("training" if trains[mark] else "evaluation") if told else None for mark in opens[order].tolist()]
    loaders = []
    for at, mark in enumerate(opens[order].tolist()):
        recorded = int(marks.recorded[mark])
        certain = recorded != NOT_RECORDED or key[mark, 1] != _TOGETHER
        loaders.append(
            Loader(
                iterator=_iterator(trace, marks, mark),
                role=roles[at],
                position=roles[: at + 1].count(roles[at]) if roles.count(roles[at]) > 1 else None,
                recorded=None if recorded == NOT_RECORDED else recorded,
                in_a_row=1 if certain else max(1, int(turns.usual[mark])),
            )
        )
    return number, tuple(loaders)
