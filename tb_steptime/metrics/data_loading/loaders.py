"""The loaders that a span waits for, their batches, and the one that costs most.

thread     [train][work.....][train][work.....]      one loader; backward passes follow its batches
           [train][work..][eval][f][eval][f][train]  no backward pass follows the batches of an evaluation
           [work][end][first]                        a mark without a batch ends an epoch; the next batch is its first
           [a][b][work......][a][b][work......]      of one class: one loader or several, which only a recorder knows
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.marks import NO_SEED, NOT_RECORDED, Marks, find_marks
from tb_steptime.metrics.data_loading.waits import exposed_waits, is_multiprocess, loader_waits
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.loader_marks import iterator_of, loader_names, loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64

#: Single waits without a backward pass that are rarer end an epoch; others lead to one later.
RARE_FRACTION = 1 / 3
#: A recorded loader trains if a backward pass follows so many of its batches: some are asked for ahead.
TRAINS_FRACTION = 0.25
#: Fewer waits do not show whether they are alike.
ENOUGH_WAITS = 6
#: Waits that differ by less than a quarter of what the times between them differ by do not depend on these.
STEADY_FRACTION = 0.25


@dataclass(frozen=True)
class Loader:
    """See `loader_table.LoaderRow`. recorded: its number in a recorder's files, else None."""

    label: str
    iterator: str
    role: str | None
    recorded: int | None
    in_a_row: int


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches that the steps take, one entry each, in time order; marks that only end an epoch are left out.

    row        of the event table: the wait
    loader     which of `loaders`, in order of first wait
    first      the first batch of an epoch
    step       which of the span's steps asks for it, by the host's marks
    seed_ns    see `Marks`
    wait_ns = exposed_ns + hidden_ns
    """

    row: Int64
    loader: Int64
    first: Bool
    step: Int64
    seed_ns: Int64
    wait_ns: Int64
    exposed_ns: Int64
    loaders: tuple[Loader, ...]

    def of(self, loader: int) -> Int64:
        """Entries of one loader's batches, without the first ones of an epoch."""
        return np.flatnonzero((self.loader == loader) & ~self.first)


@dataclass(frozen=True)
class WaitedFor:
    """The loader that is waited for most. batches: that a step takes of it. steps: of the span."""

    steps: int
    loader: int
    multiprocess: bool | None
    recorded: int | None
    batches: float
    in_a_row: int


@shared(backward_nodes, exposed_waits, find_steps, loader_names, loader_rows)
def find_batches(trace: Trace) -> Batches:
    """Of every loader of the span."""
    marks = find_marks(trace)
    trains = _trains(trace, marks)
    kept = ~_ends_without_seed(marks, trains)
    marks, trains = marks.of(kept), _of_whole_loaders(marks.of(kept), trains[kept])
    kind = _kinds(trace, marks, trains)
    ends, first, usual = _epochs(marks, kind)
    marks, kind, trains, first, usual = marks.of(~ends), kind[~ends], trains[~ends], first[~ends], usual[~ends]
    start, end = trace.events.start_ns[marks.row], trace.events.ends(marks.row)
    number, opens = _by_first_wait(kind)
    return Batches(
        row=marks.row,
        loader=number,
        first=first,
        step=marks.step,
        seed_ns=marks.seed_ns,
        wait_ns=end - start,
        exposed_ns=exposed_waits(trace).overlap_ns(start, end),
        loaders=_loaders(trace, marks, trains, usual, opens),
    )


def most_waited(batches: Batches) -> int | None:
    """The loader that costs most, by exposed wait, then by wait; None without batches.

    Of those that at least half of the steps take batches of, if any of these is waited for: an evaluation in a step or
    two may wait longer, and is not what the others wait for.
    """
    pairs = np.unique(np.stack((batches.loader, batches.step)), axis=1)
    often = 2 * np.bincount(pairs[0], minlength=len(batches.loaders)) >= len(np.unique(batches.step))
    cost = []
    for number in range(len(batches.loaders)):
        mine = batches.of(number)
        exposed, wait = int(batches.exposed_ns[mine].sum()), int(batches.wait_ns[mine].sum())
        cost.append((bool(often[number]) and wait > 0, exposed, wait, -number))
    return -max(cost)[-1] if cost else None


@shared(find_batches, loader_waits)
def waited_for(trace: Trace) -> WaitedFor | None:
    """None where no batch is asked for in the steps."""
    batches, waits = find_batches(trace), loader_waits(trace)
    number = most_waited(batches)
    if number is None or waits is None:
        return None
    loader, steps = batches.loaders[number], len(waits.wait_ns)
    return WaitedFor(
        steps=steps,
        loader=number,
        multiprocess=is_multiprocess((loader.iterator,)),
        recorded=loader.recorded,
        batches=int((batches.loader == number).sum()) / steps,
        in_a_row=loader.in_a_row,
    )


def steady_wait_ns(trace: Trace, batches: Batches, loader: int) -> int | None:
    """What each wait lasts although its batch lies ready; None where waits depend on batches that come late.

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


def _trains(trace: Trace, marks: Marks) -> Bool:
    """Which marks a backward pass follows before the next chain; all where none is recorded. What the last chain leads
    to may be cut off by the recording's end, so it is as the one before, but for another iterator's."""
    begin = np.flatnonzero(np.diff(marks.chain, prepend=-1))
    opens = np.append(trace.events.start_ns[marks.row[begin]], np.iinfo(np.int64).max)
    nodes = np.sort(trace.events.start_ns[backward_nodes(trace).event])
    follows = np.diff(np.searchsorted(nodes, opens)) > 0
    if not follows.any():
        return np.ones(len(marks.row), bool)
    last = begin[-2:]
    if marks.seed_ns[last[-1]] == NO_SEED and len(np.unique(marks.recorded[last])) == 1:
        follows[-1] |= bool(follows[-2:].any())
    alone = _alone(marks, follows)
    if alone.sum() > RARE_FRACTION * follows.sum():  # batches are asked for ahead of the work on them
        return np.asarray(follows[marks.chain] | alone)
    return np.asarray(follows[marks.chain])


def _alone(marks: Marks, follows: Bool) -> Bool:
    """Marks that no recorder knows, alone in a chain without a backward pass between two chains with one."""
    before, after = np.append(True, follows[:-1]), np.append(follows[1:], False)
    alone = ~follows & before & after & (np.bincount(marks.chain, minlength=len(follows)) == 1)
    return np.asarray(alone[marks.chain] & (marks.seed_ns == NO_SEED) & (marks.recorded == NOT_RECORDED))


def _ends_without_seed(marks: Marks, trains: Bool) -> Bool:
    """Marks that bring no batch, where no new iterator shows it: of a training's loader, a lone one without a backward
    pass; of an evaluation's, one with no work until the training's is asked."""
    if not len(trains):
        return trains
    follows = np.zeros(int(marks.chain[-1]) + 1, bool)
    follows[marks.chain] = trains
    ends = _alone(marks, follows) & (marks.chain > 0)
    untold = marks.recorded == NOT_RECORDED
    ends[:-1] |= untold[:-1] & ~marks.works[1:] & ~trains[:-1] & trains[1:]
    return ends


def _of_whole_loaders(marks: Marks, trains: Bool) -> Bool:
    """Of a recorded loader all batches train, or none."""
    for loader in np.unique(marks.recorded[marks.recorded != NOT_RECORDED]).tolist():
        mine = marks.recorded == loader
        trains = np.where(mine, trains[mine].mean() > TRAINS_FRACTION, trains)
    return trains


def _kinds(trace: Trace, marks: Marks, trains: Bool) -> Int64:
    """Marks of different kinds are of different loaders: of another class, in another role, or by the recorder."""
    known = np.stack((trace.events.name[marks.row].astype(np.int64), trains.astype(np.int64), marks.recorded), axis=1)
    known[marks.recorded != NOT_RECORDED, :2] = 0
    kind: Int64 = np.unique(known, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return kind


def _epochs(marks: Marks, kind: Int64) -> tuple[Bool, Bool, Int64]:
    """Which marks only end an epoch, which bring the first batch of one, and how many of its kind most chains hold, 0
    where these have no number in common.

    A new iterator's seed, or the recorder, shows the first. Where neither does, what stands in a chain before as many
    as usual found its epoch at the end.
    """
    _, row, turn, number = _in_chains(marks.chain * (int(kind.max(initial=0)) + 1) + kind)
    usual = np.zeros(len(kind), np.int64)
    for each in np.unique(kind).tolist():
        counts = number[(kind == each) & (turn == 0)]
        most = int(np.bincount(counts).argmax())
        usual[kind == each] = most if 2 * (counts == most).sum() >= len(counts) else 0
    recorded = marks.recorded != NOT_RECORDED
    first = np.where(recorded, marks.begins, marks.seed_ns != NO_SEED)
    longer = ~recorded & ~np.isin(row, row[first]) & (usual > 0) & (number > usual)
    return longer & (turn < number - usual), first | (longer & (turn == number - usual)), usual


def _in_chains(key: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """Groups of equal keys; and of each entry its group, its place in it, and how many are in it."""
    groups, row, counts = np.unique(key, return_inverse=True, return_counts=True)
    row = row.reshape(-1).astype(np.int64)
    order, turn = np.argsort(row, kind="stable"), np.empty(len(key), np.int64)
    turn[order] = np.arange(len(key)) - np.repeat(np.cumsum(counts) - counts, counts)
    return groups, row, turn, counts[row].astype(np.int64)


def _by_first_wait(kind: Int64) -> tuple[Int64, list[int]]:
    """The number of each mark's loader, and the first mark of each."""
    _, opens, inverse = np.unique(kind, return_index=True, return_inverse=True)
    order = np.argsort(opens)
    return np.argsort(order)[inverse.reshape(-1)].astype(np.int64), opens[order].tolist()


def _loaders(trace: Trace, marks: Marks, trains: Bool, usual: Int64, opens: list[int]) -> tuple[Loader, ...]:
    """opens: the first mark of each."""
    both = len(set(trains.tolist())) > 1
    roles = [("training" if trains[mark] else "evaluation") if both else None for mark in opens]
    loaders = []
    for at, mark in enumerate(opens):
        recorded = int(marks.recorded[mark])
        place = f" {roles[: at + 1].count(roles[at])}" if roles.count(roles[at]) > 1 else ""
        loaders.append(
            Loader(
                label=f"{roles[at]} loader".capitalize() + place if roles[at] else "Loader" + place,
                iterator=iterator_of(trace.strings[int(trace.events.name[marks.row[mark]])]),
                role=roles[at],
                recorded=None if recorded == NOT_RECORDED else recorded,
                in_a_row=max(1, int(usual[mark])) if recorded == NOT_RECORDED else 1,
            )
        )
    return tuple(loaders)
