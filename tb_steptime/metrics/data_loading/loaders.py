"""The loaders that a span waits for, their batches, and the one that costs most."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loader_identity import (
    ENOUGH_WAITS,
    TOGETHER,
    MarksApart,
    mark_iterator,
    tell_apart,
)
from tb_steptime.metrics.data_loading.marks import NOT_RECORDED, idle_names, launch_names, seed_names
from tb_steptime.metrics.data_loading.waits import exposed_waits, is_multiprocess, loader_waits
from tb_steptime.text import Phrase, count, phrase
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.loader_marks import loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64

#: Waits that differ by less than a quarter of what the times between them differ by do not depend on these.
STEADY_FRACTION = 0.25


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


@shared(backward_nodes, exposed_waits, find_steps, idle_names, launch_names, loader_rows, seed_names)
def find_batches(trace: Trace) -> Batches:
    """Of every loader of the span."""
    apart = tell_apart(trace)
    marks = apart.marks
    number, loaders = _loaders(trace, apart)
    start, end = trace.events.start_ns[marks.row], trace.events.ends(marks.row)
    exposed = exposed_waits(trace).overlap_ns(start, end)
    return Batches(marks.row, number, apart.first, marks.step, end - start, exposed, loaders)


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
    cost = _costs(batches)
    of_most = [each for each in cost if often[-each[2]] and each[1] > 0]
    return -max(of_most or cost)[2] if cost else None


def _costs(batches: Batches) -> list[tuple[int, int, int]]:
    """Of each loader: exposed wait, wait, and its number, so that the first is the greatest of equals."""
    each = [batches.of(number) for number in range(len(batches.loaders))]
    return [
        (int(batches.exposed_ns[mine].sum()), int(batches.wait_ns[mine].sum()), -number)
        for number, mine in enumerate(each)
    ]


@shared(find_batches, loader_waits)
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


def whose(trace: Trace, said: Phrase) -> Phrase:
    """With the judged loader's name in front, where there are several."""
    main, loaders = waited_for(trace), find_batches(trace).loaders
    return with_label(label_of(loaders[main.loader]), said) if main is not None and len(loaders) > 1 else said


def with_label(label: Phrase, said: Phrase) -> Phrase:
    """
    >>> with_label(phrase("Loader {place}", place=count(2)), phrase("One worker would do")).template
    'Loader {place}: One worker would do'
    """
    return Phrase(label.template + ": " + said.template, {**label.values, **said.values})


def in_a_sentence(label: Phrase) -> Phrase:
    """
    >>> in_a_sentence(phrase("Evaluation loader")).template
    'the evaluation loader'
    """
    return Phrase(("" if label.values else "the ") + label.template.lower(), label.values)


def judged_loader(trace: Trace) -> Phrase | None:
    """Which of several loaders the figures are of, and why that one; None where there is one."""
    batches, main = find_batches(trace), waited_for(trace)
    if main is None or len(batches.loaders) < 2:
        return None
    most = -max(_costs(batches))[2] == main.loader
    why = ", which is waited for most" if most else ", which more steps ask than the one that is waited for most"
    name = in_a_sentence(label_of(batches.loaders[main.loader]))
    return Phrase(name.template + why, name.values)


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
        label=label_of(loader),
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


def label_of(loader: Loader) -> Phrase:
    words = {"training": "Training loader", "evaluation": "Evaluation loader", None: "Loader"}[loader.role]
    if loader.position is None:
        return phrase(words)
    return phrase(words + " {place}", place=count(loader.position))


def _loaders(trace: Trace, apart: MarksApart) -> tuple[Int64, tuple[Loader, ...]]:
    """For each mark the loader that it is of, and these in order of first wait."""
    key = np.stack((apart.kind, apart.place), axis=1)
    _, opens, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(opens)
    number: Int64 = np.argsort(order)[inverse.reshape(-1)].astype(np.int64)
    told = len(set(apart.trains.tolist())) > 1
    roles = [("training" if apart.trains[mark] else "evaluation") if told else None for mark in opens[order].tolist()]
    loaders = []
    for at, mark in enumerate(opens[order].tolist()):
        recorded = int(apart.marks.recorded[mark])
        certain = recorded != NOT_RECORDED or apart.place[mark] != TOGETHER
        loaders.append(
            Loader(
                iterator=mark_iterator(trace, apart.marks, mark),
                role=roles[at],
                position=roles[: at + 1].count(roles[at]) if roles.count(roles[at]) > 1 else None,
                recorded=None if recorded == NOT_RECORDED else recorded,
                in_a_row=1 if certain else max(1, int(apart.in_a_row[mark])),
            )
        )
    return number, tuple(loaders)
