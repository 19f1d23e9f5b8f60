"""The loaders for which a span waits, their batches, the wait per batch of each, and the loader that costs most.

thread     [train][work.....][train][work.....]      one loader; backward passes follow its batches
           [train][work..][eval][f][eval][f][train]  no backward pass follows the batches of an evaluation
           [work][end][first]                        a mark without a batch ends an epoch; the next batch is its first
           [a][b][work......][a][b][work......]      of one class: one loader or several, which only a recorder knows
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.waits import (
    NO_SEED,
    NOT_RECORDED,
    Marks,
    device_busy,
    exposed_waits,
    find_marks,
    is_multiprocess,
    loader_waits,
    work_rows,
)
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.host_ranges import iterator_of, loader_intervals, loader_rows
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named, shared
from tb_steptime.trace.nesting import innermost, top_level
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct, is_in, median, percentile

#: Maximum number of rows of loaders; all beyond it are merged into the last row. None of our recorded jobs has five.
MOST_LOADERS = 50
#: A recorded loader trains if a backward pass follows more than this share of its batches. Some batches are requested
#: ahead.
TRAINS_FRACTION = 0.25
#: Maximum wait that receiving alone explains: a batch of one tensor of 256 bytes is received in 0.1 to 1.3 ms, with a
#: profiler and on two busy cores; ...
RECEIVING_NS = 1_500_000
#: ... but if steps are so short that this is more than the given share of them, it is a cost that larger batches lower.
RECEIVING_FRACTION = 0.08


class Loader(msgspec.Struct, frozen=True):
    """A loader of the job, as far as the trace distinguishes it from others.

    label      "Training loader 2"
    iterator   class of its iterator
    recorded   its number in a recorder's files; None if no recorder has it
    in_a_row   number of batches that are requested directly one after another, perhaps from as many loaders; 1 if it is
               certainly one loader
    """

    label: str
    iterator: str
    recorded: int | None
    in_a_row: int


class Batches(msgspec.Struct, frozen=True, eq=False):
    """The batches that the steps take, one entry each, in time order. Marks that only end an epoch are left out.

    row        the wait, a row of the event table
    loader     place in `loaders`, which are in order of first wait
    first      whether it is the first batch of an epoch
    step       place of the step that asks for it, by the host's marks
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
        """Returns the entries of one loader's batches, without the first batch of each epoch."""
        return np.flatnonzero((self.loader == loader) & ~self.first)


class MainLoader(msgspec.Struct, frozen=True):
    """The loader with the most waiting. batches: number of its batches that a step takes. The other fields are as in
    `Loader` and `LoaderRow`."""

    loader: int
    multiprocess: bool | None
    recorded: int | None
    batches: float
    in_a_row: int


class LoaderRow(msgspec.Struct, frozen=True):
    """One loader of the span; times are means per batch in ns, and wait_ns = exposed_ns + hidden_ns.

    label            "Training loader 2"
    batches          number of batches without the first ones of epochs
    first_batches, first_batch_ns   number of these first ones, and the mean wait for one; None if there are none
    """

    label: str
    iterator: str
    multiprocess: bool | None
    batches: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int
    first_batches: int
    first_batch_ns: int | None


@shared
def find_batches(trace: Trace) -> Batches:
    """Finds the batches of every loader of the span."""
    marks = find_marks(trace)
    trains = _trains(trace, marks)
    # A mark brings no batch if no work follows until the training's loader is asked.
    no_batch = np.append(~marks.works[1:] & ~trains[:-1] & trains[1:], False)[: len(trains)]
    training = ~(no_batch & (marks.recorded == NOT_RECORDED))
    marks, trains = marks.of(training), trains[training]
    kind = _kinds(trace, marks, trains)
    ends, first, usual = _epochs(marks, kind)
    marks = marks.of(~ends)
    kind = kind[~ends]
    trains = trains[~ends]
    first = first[~ends]
    usual = usual[~ends]
    opens = np.unique(kind, return_index=True)[1]
    start, end = trace.events.start_ns[marks.row], trace.events.ends(marks.row)
    return Batches(
        row=marks.row,
        loader=kind,
        first=first,
        step=marks.step,
        seed_ns=marks.seed_ns,
        wait_ns=end - start,
        exposed_ns=exposed_waits(trace).overlap_ns(start, end),
        loaders=_loaders(trace, marks, trains, usual, opens),
    )


def loader_table(trace: Trace) -> list[LoaderRow]:
    """Returns one row per loader, in order of first wait."""
    batches = find_batches(trace)
    return [_row(batches, number) for number in range(len(batches.loaders))]


def _row(batches: Batches, number: int) -> LoaderRow:
    loader, rows = batches.loaders[number], batches.of(number)
    first = np.flatnonzero((batches.loader == number) & batches.first)
    exposed, hidden = _mean(batches.exposed_ns[rows]), _mean((batches.wait_ns - batches.exposed_ns)[rows])
    return LoaderRow(
        label=loader.label,
        iterator=loader.iterator,
        multiprocess=is_multiprocess((loader.iterator,)),
        batches=len(rows),
        wait_ns=exposed + hidden,
        exposed_ns=exposed,
        hidden_ns=hidden,
        first_batches=len(first),
        first_batch_ns=_mean(batches.wait_ns[first]) if len(first) else None,
    )


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else 0


def most_waited(batches: Batches) -> int | None:
    """Returns the loader that costs most, by exposed wait, then by total wait; None without batches.

    Only loaders from which at least half of the steps take batches are considered, if any of these is waited for. An
    evaluation in a step or two may wait longer, but the other steps do not wait for it.
    """
    steps = len(distinct(batches.step))
    cost = []
    for number in range(len(batches.loaders)):
        rows = batches.of(number)
        asks = len(distinct(batches.step[batches.loader == number]))
        exposed, wait = int(batches.exposed_ns[rows].sum()), int(batches.wait_ns[rows].sum())
        cost.append((2 * asks >= steps and wait > 0, exposed, wait, -number))
    return -max(cost)[-1] if cost else None


@shared
def main_loader(trace: Trace) -> MainLoader | None:
    """Returns the loader with the most waiting; None if no batch is requested in the steps."""
    batches, waits = find_batches(trace), loader_waits(trace)
    number = most_waited(batches)
    if number is None or waits is None:
        return None
    loader, steps = batches.loaders[number], len(waits.wait_ns)
    return MainLoader(
        loader=number,
        multiprocess=is_multiprocess((loader.iterator,)),
        recorded=loader.recorded,
        batches=int((batches.loader == number).sum()) / steps,
        in_a_row=loader.in_a_row,
    )


#: The function in which torch produces a batch. That of an iterable dataset calls `next` for each sample or batch, and
#: that of other datasets never does.
_FETCHES = expression(r"(?:.*[/\\])?torch[/\\]utils[/\\]data[/\\]_utils[/\\]fetch\.py\(\d+\): fetch$")
_NEXT = "<built-in function next>"
#: Number of batches that are looked at: all of a loader are produced alike, and the recording may cut the first one.
_ASKED = 3


def shows_iterable(trace: Trace) -> bool:
    """Returns whether call stacks show that the main loader reads an iterable dataset in the training process.

    loader   [                        ]
    frame     |- fetch.py: fetch -----|
    frame      |next| |next| |collate|
    """
    batches = find_batches(trace)
    fetches = rows_named(trace, (Kind.PYTHON,), _FETCHES.match)
    number = most_waited(batches)
    if number is None or not len(fetches):
        return False
    fetches = fetches[innermost(trace, batches.row[batches.of(number)], fetches) >= 0]
    return any(_calls_next(trace, fetch) for fetch in fetches[:_ASKED].tolist())


def _calls_next(trace: Trace, frame: int) -> bool:
    """Returns whether this frame itself calls `next`."""
    events = trace.events
    inside = slice(frame + 1, int(np.searchsorted(events.start_ns, events.start_ns[frame] + events.dur_ns[frame])))
    own = (events.kind[inside] == Kind.PYTHON) & (events.thread[inside] == events.thread[frame])
    called = top_level(trace, frame + 1 + np.flatnonzero(own))
    return bool(are_named(trace, called, _NEXT.__eq__).any())


def unavoidable_ns(trace: Trace) -> int:
    """Returns the part of each wait that any process needs to be woken, and to unpickle and map a single small
    tensor."""
    return min(RECEIVING_NS, round(RECEIVING_FRACTION * float(find_steps(trace).duration_ns.mean())))


def short_wait_ns(trace: Trace, batches: Batches, loader: int) -> int | None:
    """Returns the median wait if three of four are as short as for a batch that is ready; None if batches may be late.
    Batches in a row count as one, because workers may produce them at the same time."""
    waits = batches.wait_ns[batches.of(loader)]
    usual, most = (median(waits), percentile(waits, 75)) if len(waits) else (0, np.inf)
    return round(usual) if most * batches.loaders[loader].in_a_row <= unavoidable_ns(trace) else None


def _trains(trace: Trace, marks: Marks) -> Bool:
    """Returns which marks are followed by a backward pass before the next chain; all if no backward pass is recorded.
    Of a loader that a recorder knows, all batches train, or none."""
    chain, unknown = marks.chain, marks.recorded == NOT_RECORDED
    begin = np.flatnonzero(np.diff(chain, prepend=-1))
    opens = np.append(trace.events.start_ns[marks.row[begin]], NEVER)
    follows = np.diff(np.searchsorted(np.sort(trace.events.start_ns[backward_nodes(trace).event]), opens)) > 0
    if not follows.any():
        return np.ones(len(marks.row), bool)
    # A single chain without a backward pass between two with one was requested ahead, or is cut off by the recording's
    # end.
    between = np.append(True, follows[:-1]) & np.append(follows[1:], True) & (unknown & ~marks.begins)[begin]
    trains = np.asarray((follows | between)[chain])
    for loader in distinct(marks.recorded[~unknown]).tolist():
        of_loader = marks.recorded == loader
        trains[of_loader] = trains[of_loader].mean() > TRAINS_FRACTION
    return trains


def _kinds(trace: Trace, marks: Marks, trains: Bool) -> Int64:
    """Returns each mark's loader, numbered by first wait: the recorder's, or else one loader for each class and role.
    The last one may be the merged rest."""
    columns = (marks.recorded.tolist(), trace.events.name[marks.row].tolist(), trains.tolist())
    keys = [
        (loader, *((name, role) if loader == NOT_RECORDED else ())) for loader, name, role in zip(*columns, strict=True)
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.minimum(np.array([numbers[key] for key in keys], np.int64), MOST_LOADERS - 1)


def _epochs(marks: Marks, kind: Int64) -> tuple[Bool, Bool, Int64]:
    """Returns the marks that only end an epoch, the marks that bring the first batch of one, and the usual number of
    marks in a chain of their kind, which is 0 if the chains have no usual number.

    The seed of a new iterator, or the recorder, shows the first batch. If neither does, a mark that precedes the usual
    number of marks in a chain found its epoch at the end. If the loop never works between two marks, as one that only
    times its loader, only steps separate its chains, and the lengths of these show nothing.
    """
    kinds = int(kind.max(initial=0)) + 1
    groups, group, number = np.unique(marks.chain * kinds + kind, return_inverse=True, return_counts=True)
    usual = np.array([_most_common(number[groups % kinds == each]) for each in range(kinds)], np.int64)[kind]
    left, seen = np.empty(len(kind), np.int64), np.zeros(len(groups), np.int64)
    for i in range(len(kind) - 1, -1, -1):
        seen[group[i]] += 1
        left[i] = seen[group[i]]
    longer = (marks.recorded == NOT_RECORDED) & ~is_in(group, group[marks.begins]) & (number[group] > usual)
    longer &= (usual > 0) & marks.works[1:].any()
    return longer & (left > usual), marks.begins | (longer & (left == usual)), usual


def _most_common(counts: Int64) -> int:
    """Returns the count shared by at least half of them, or 0."""
    most = int(np.bincount(counts, minlength=1).argmax())
    return most if 2 * (counts == most).sum() >= len(counts) else 0


def _loaders(trace: Trace, marks: Marks, trains: Bool, usual: Int64, opens: Int64) -> tuple[Loader, ...]:
    """Returns the loaders, each with a label. opens: the first mark of each."""
    if len(opens) == MOST_LOADERS:
        others = Loader("Other loaders", "", None, 1)
        return (*_loaders(trace, marks, trains, usual, opens[:-1]), others)
    roles = np.where(trains[opens], "Training loader", "Evaluation loader").tolist()
    if len(set(roles)) == 1:
        roles = ["Loader"] * len(roles)
    loaders = []
    for i, (word, mark) in enumerate(zip(roles, opens.tolist(), strict=True)):
        is_recorded = marks.recorded[mark] != NOT_RECORDED
        loaders.append(
            Loader(
                label=f"{word} {roles[: i + 1].count(word)}" if roles.count(word) > 1 else word,
                iterator=iterator_of(trace.name_of(marks.row[mark])),
                recorded=int(marks.recorded[mark]) if is_recorded else None,
                in_a_row=1 if is_recorded else max(1, int(usual[mark])),
            )
        )
    return tuple(loaders)


# Ending an epoch and beginning the next one has a cost that no number of workers can avoid.
#
# loader   l...l...m.nnnnnnn...l...l...      m: asked once more, there is no batch; n: the first batch of the next epoch
# workers  ....end..start [batch...]         none is prefetched, and without `persistent_workers` processes start first
# setup    ..........i.................      i: the new iterator is set up, which is no wait for a batch


class EpochStarts(msgspec.Struct, frozen=True):
    """The starts of epochs of all loaders in the span's steps.

    batches       number of first batches of an epoch, or of another pass such as an evaluation
    wait_ns       mean wait for one of them
    exposed_ns    exposed wait in the mean step, including the marks that end an epoch
    setup_ns      time of the mean step in which new iterators are set up, which is no wait
    respawned     whether worker processes start again for each epoch; None without a recorder
    produced_ns   mean production time of these batches; None without a recorder
    steps         names of the steps that wait for these batches
    """

    batches: int
    wait_ns: int
    exposed_ns: int
    setup_ns: int
    respawned: bool | None
    produced_ns: int | None
    steps: list[str]


def opens_epoch(trace: Trace) -> Bool:
    """Returns which batches are the first ones of an epoch, for which nothing is prefetched yet.

    A loader in the training process never prefetches. Where the loop makes an iterator for each batch, as
    `next(iter(loader))` does, a batch takes as long as any other. An epoch of one batch looks different: a mark that
    brings no batch ends it.
    """
    batches = find_batches(trace)
    opens: Bool = batches.first.copy()
    if len(find_marks(trace).row) > len(batches.row):
        return opens
    for number, loader in enumerate(batches.loaders):
        own = batches.loader == number
        if is_multiprocess((loader.iterator,)) is False and own.sum() > 1 and batches.first[own].all():
            opens[own] = False
    return opens


def find_epoch_starts(trace: Trace, chosen: Steps | None = None) -> EpochStarts | None:
    """Returns the starts of epochs in some steps; None if no epoch begins in these. chosen: None for all steps."""
    batches = find_batches(trace)
    steps = find_steps(trace).steps
    among = chosen or find_steps(trace)
    opens = opens_epoch(trace)
    first = np.flatnonzero(opens)
    first = first[among.holding_on_host(trace.events.start_ns[batches.row[first]]) >= 0]
    if not len(first):
        return None
    number, waits = len(among.steps), _exposed(trace, batches.row[~opens])
    settings = trace.loader_records.loaders if trace.loader_records else ()
    persistent = {each.persistent for each in settings if each.workers}
    produced = trace.loader_records.produced if trace.loader_records else None
    times = (produced.end_ns - produced.start_ns)[produced.batch == 0] if produced else np.empty(0)
    return EpochStarts(
        batches=len(first),
        wait_ns=round(float(batches.wait_ns[first].mean())),
        exposed_ns=int(among.overlap_ns(waits).sum()) // number,
        setup_ns=int(among.overlap_ns(setup_intervals(trace)).sum()) // number,
        respawned=not persistent.pop() if len(persistent) == 1 and None not in persistent else None,
        produced_ns=round(float(times.mean())) if len(times) else None,
        steps=list(dict.fromkeys(steps[step].name for step in batches.step[first].tolist())),
    )


@shared
def between_epochs_ns(trace: Trace) -> Int64:
    """Returns for each step the time without device work between the last batch of an epoch and the request for the
    first batch of the next one. The step time with batches in time does not include it, because it occurs once per
    epoch."""
    return find_steps(trace).overlap_ns(_exposed(trace, find_batches(trace).row) | setup_intervals(trace))


def _exposed(trace: Trace, others: Int64) -> Intervals:
    """Returns the exposed waits, without those of other rows and of marks that are only partly in the span."""
    events, rows, (low, high) = trace.events, loader_rows(trace), find_steps(trace).host_window
    others = np.concatenate((others, rows[(events.start_ns[rows] < low) | (events.start_ns[rows] >= high)]))
    return exposed_waits(trace) - Intervals.of_events(events, others)


@shared
def setup_intervals(trace: Trace) -> Intervals:
    """Returns when new iterators are set up while no device works: from an iterator's first seed until a batch is
    requested from it, if the loop does no other work in between, and while a recorder saw the setup."""
    batches = find_batches(trace)
    works = np.sort(trace.events.start_ns[work_rows(trace)])
    new = np.flatnonzero(batches.first & (batches.seed_ns != NO_SEED))
    seed_ns = batches.seed_ns[new]
    requested_ns = trace.events.start_ns[batches.row[new]]
    alone = np.searchsorted(works, seed_ns) == np.searchsorted(works, requested_ns)
    setup = Intervals.union(seed_ns[alone], requested_ns[alone])
    if trace.loader_records is not None:
        setup = setup | Intervals.union(trace.loader_records.begun.begin_ns, trace.loader_records.begun.ready_ns)
    return setup - device_busy(trace) - loader_intervals(trace)
