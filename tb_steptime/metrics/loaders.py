"""Which loaders a span waits for, told apart.

thread     [train][work.....][train][work.....]      one loader; backward passes follow its batches
           [a][b][work......][a][b][work......]      two, zipped: the second is asked with nothing between
           [train][work..][eval][f][eval][f][train]  no backward pass follows the batches of an evaluation
           [work][end][first]                        a mark without a batch ends an epoch; the next batch is its first
           [train][work][end][eval][f][eval][f]...   so does one before an evaluation, whose loaders are told by itself
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading import (
    exposed_waits,
    is_multiprocess,
    iterator_of,
    loader_names,
    loader_rows,
)
from tb_steptime.phrases import Phrase, count, phrase
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: Fewer waits do not tell whether they are alike.
ENOUGH_WAITS = 6
#: Waits that differ by less than a quarter of what the times between them differ by do not depend on these.
STEADY_FRACTION = 0.25
#: A new iterator draws a seed for its workers: no work on a batch.
_SEEDING = ("aten::empty", "aten::random_", "aten::item", "aten::_local_scalar_dense")
#: Events that are looked at together; the first op after a wait is mostly among the first few.
_LOOK = 4096


class LoaderRow(msgspec.Struct, frozen=True):
    """One loader of the span, as far as the trace tells them apart; ns are means per batch.

    role: "training" or "evaluation" where both kinds are in the span, else None. position: 1, 2, ... within loaders
    that are asked one right after the other (zipped), else None. batches: of the means, without the first ones of an
    epoch; first_batches, first_batch_ns: those, with the start of the workers in them, None where there is none.
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


@dataclass(frozen=True)
class Loader:
    """What tells a loader from the others; see `LoaderRow`."""

    iterator: str
    role: str | None
    position: int | None


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


@per_trace
def find_batches(trace: Trace) -> Batches:
    """Of every loader of the span."""
    rows, step = _in_steps(trace, _outermost(trace))
    chain, place, length = _chains(trace, rows, step)
    trains = _trains(trace, rows, chain)
    together = np.where(trains, _zipped(length[trains]), _zipped(length[~trains]))
    kept = place >= length - together  # what stands before in a chain found its epoch at the end
    first = kept & (length > together)
    kept &= ~_lone(chain, trains)
    position = np.where(together > 1, place - (length - np.minimum(length, together)) + 1, 0)
    keys = _keys(trace, rows, trains, kept, position)
    rows, step, first = rows[kept], step[kept], first[kept]
    loaders = tuple(dict.fromkeys(key for key, keep in zip(keys, kept.tolist(), strict=True) if keep))
    number = np.array([loaders.index(key) for key, keep in zip(keys, kept.tolist(), strict=True) if keep], np.int64)
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    return Batches(rows, number, first, step, end - start, exposed_waits(trace).overlap_ns(start, end), loaders)


def loader_table(trace: Trace) -> list[LoaderRow]:
    """One row per loader, in order of first wait."""
    batches = find_batches(trace)
    return [_row(batches, number) for number in range(len(batches.loaders))]


def most_waited(batches: Batches) -> int | None:
    """The loader that costs most: by exposed wait, then by wait; None without batches."""
    cost = [
        (int(batches.exposed_ns[mine].sum()), int(batches.wait_ns[mine].sum()), -number)
        for number, mine in enumerate(batches.of(loader) for loader in range(len(batches.loaders)))
    ]
    return -max(cost)[2] if cost else None


def steady_wait_ns(trace: Trace, batches: Batches, loader: int) -> int | None:
    """What each wait lasts although its batch lies ready; None where waits tell of batches that come late.

    A batch that is late ends its wait when it is there, so a longer step makes a shorter wait: the waits of a loader
    that is too slow differ at least as the steps do. Waits that are alike whatever the step does are its own work.
    """
    mine = batches.of(loader)
    if len(mine) < ENOUGH_WAITS:
        return None
    start, end = trace.events.start_ns[batches.row[mine]], trace.events.ends(batches.row[mine])
    low, middle, high = np.percentile(batches.wait_ns[mine], (10, 50, 90))
    least, most = np.percentile(start[1:] - end[:-1], (10, 90))
    return round(float(middle)) if high - low < STEADY_FRACTION * (most - least) else None


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
    )


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else 0


def _label(loader: Loader) -> Phrase:
    words = {"training": "Training loader", "evaluation": "Evaluation loader", None: "Loader"}[loader.role]
    if loader.position is None:
        return phrase(words)
    return phrase(words + " {place}", place=count(loader.position))


def _outermost(trace: Trace) -> Int64:
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


def _chains(trace: Trace, rows: Int64, step: Int64) -> tuple[Int64, Int64, Int64]:
    """For each wait its chain, its place in it, and the chain's length: waits of a step with no op between are one."""
    opens = np.ones(len(rows), bool)
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    for i in np.flatnonzero(step[1:] == step[:-1]).tolist():
        opens[i + 1] = _works_between(trace, int(end[i]), int(start[i + 1]), int(rows[i]))
    chain = np.cumsum(opens) - 1
    begin = np.flatnonzero(opens)
    length = np.diff(np.append(begin, len(rows)))[chain]
    return chain, np.arange(len(rows)) - begin[chain], length


def _works_between(trace: Trace, low: int, high: int, wait: int) -> bool:
    """Whether the waiting thread begins an op, a range or a call between two instants, but for a new iterator's own."""
    events = trace.events
    first, past = np.searchsorted(events.start_ns, (low, high)).tolist()
    for at in range(first, past, _LOOK):
        part = slice(at, min(past, at + _LOOK))
        kind = events.kind[part]
        works = (kind == Kind.CPU_OP) | (kind == Kind.USER) | (kind == Kind.RUNTIME) | (kind == Kind.DRIVER)
        works &= (events.thread[part] == events.thread[wait]) & ~_own_names(trace)[events.name[part]]
        if works.any():
            return True
    return False


@per_trace
def _own_names(trace: Trace) -> Bool:
    """For each row of the string table: is it a loader's mark, or an op that a new iterator runs?"""
    own: Bool = loader_names(trace) | np.array([name in _SEEDING for name in trace.strings.strings], bool)
    return own


def _zipped(length: Int64) -> int:
    """How many loaders are asked one right after the other, in at least half of the chains; 1: each by itself.

    A chain of n waits is n entries of its length.
    """
    if not len(length):
        return 1
    chains = np.bincount(length) // np.maximum(np.arange(int(length.max()) + 1), 1)
    most = int(chains.argmax())
    return most if 2 * chains[most] >= chains.sum() else 1


def _trains(trace: Trace, rows: Int64, chain: Int64) -> Bool:
    """Whether a backward pass follows a wait's chain, or no chain of the span has one. What the last chain leads to may
    be cut off by the recording's end, so it is as the one before."""
    if not len(rows):
        return np.empty(0, bool)
    begin = np.flatnonzero(np.diff(chain, prepend=-1))
    opens = np.append(trace.events.start_ns[rows[begin]], np.iinfo(np.int64).max)
    nodes = np.sort(trace.events.start_ns[backward_nodes(trace).event])
    trains: Bool = np.diff(np.searchsorted(nodes, opens)) > 0
    if not trains.any():
        return np.ones(len(rows), bool)
    trains[-1] |= bool(trains[-2:].any())
    return trains[chain]


def _lone(chain: Int64, trains: Bool) -> Bool:
    """Single waits without a backward pass between two batches that train: no evaluation, but an epoch's end."""
    before, after = np.append(False, trains[:-1]), np.append(trains[1:], False)
    alone = np.bincount(chain, minlength=int(chain.max(initial=0)) + 1)[chain] == 1
    lone: Bool = ~trains & before & after & alone
    return lone


def _keys(trace: Trace, rows: Int64, trains: Bool, kept: Bool, position: Int64) -> list[Loader]:
    names = [iterator_of(trace.strings[int(name)]) for name in trace.events.name[rows]]
    roles = ["training" if train else "evaluation" for train in trains.tolist()]
    told = len(set(trains[kept].tolist())) > 1
    places = [place or None for place in position.tolist()]
    return [Loader(name, role if told else None, place) for name, role, place in zip(names, roles, places, strict=True)]
