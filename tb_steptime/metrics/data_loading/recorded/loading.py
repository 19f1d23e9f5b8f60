"""What the recorder's files tell of the worker processes, on the trace's clock.

worker 0   [dataset...][col]  [dataset...][col]        busy = dataset + collate; then the batch is handed over
worker 1        [dataset...][col]    [dataset...][col]
on its way                    [transfer][ready....]    from the batch's end in the worker to its arrival; till asked for
queue depth     0   1      0  1  2   1                 batches that lie ready in the training process
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.columns import WorkerLimit
from tb_steptime.metrics.data_loading.loaders import with_label
from tb_steptime.metrics.data_loading.recorded.batches import Ways, find_ways
from tb_steptime.metrics.data_loading.recorded.lanes import ProductionLane, ReadyQueue, lanes, ready_queues
from tb_steptime.metrics.data_loading.recorded.lines import RecordedLines, recorded_lines
from tb_steptime.metrics.data_loading.recorded.names import loader_names, recorded_loader
from tb_steptime.metrics.data_loading.recorded.pace import batches_beside, find_pace, main_loader
from tb_steptime.metrics.data_loading.recorded.workers import (
    COMPUTES_FRACTION,
    RecordedWorker,
    SlowBatch,
    is_few,
    kind_of,
    looked_shares,
    recorded_workers,
    slowest_batches,
)
from tb_steptime.text import Phrase, agreeing, count, fraction, phrase
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords, LoaderSettings, Received
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Batches that lie ready in a quarter of the cases tell what taking them over costs; a few are chance.
READY_FRACTION = 0.25


class RecordedLoader(LoaderSettings, frozen=True):
    """A loader as its recorder wrote it. batches: taken within the steps; main: it is waited for most. production_ns:
    of one of them, None where it is not recorded; batches_per_step: None where the main loader's steps mostly take none
    of it. label: its name in the table of loaders, or one that is not in it."""

    label: Phrase
    batches: int
    main: bool
    production_ns: int | None
    batches_per_step: float | None


class Recorded(msgspec.Struct, frozen=True):
    """Of the batches that the span's steps received; ns are means per batch, None where no batch tells.

    whose: the loader that is waited for most, of which all but the lanes, the queues, the workers and the slowest
    batches is; None where there is no other. Loaders, with their workers, lanes and queues, stand in the order of the
    table of loaders.

    looked: how many of the batches the recorder looked at: cpu_share, core_wait_share, kind and bytes are of these;
    few_looked: kind is an estimate, see `is_few`.

    production_ns = dataset_ns + collate_ns. transfer_ns: from the batch's end in the worker until it is an object of
    the training process (and pinned); ready_ns: it lies there until asked for; wait_ns: the training loop stands.
    consumer_ns: the step without late batches, per batch, None where the steps hold no mark of this loader;
    taken_every_ns: the step with them, per batch; and batches_per_step: of the steps of which batches are recorded;
    waited_share: see `Pace`. lanes: of the window [start_ns, end_ns), all its pieces; steps that begin in it, and when
    each of them does. overhead_ns: what the loop does with a batch that is there, at best; unpickle_ns, pin_ns: until a
    message is an object, until it is pinned on a thread of its own. files: how many were used. lines: None for a loader
    without workers, of which call stacks in the trace tell more.
    """

    files: int
    whose: Phrase | None
    batches: int
    dataset_ns: int | None
    collate_ns: int | None
    production_ns: int | None
    production_spread_ns: int | None
    transfer_ns: int | None
    ready_ns: int | None
    wait_ns: int | None
    looked: int
    cpu_share: float | None
    core_wait_share: float | None
    kind: WorkerLimit | None
    few_looked: bool
    bytes: int | None
    samples: int | None
    consumer_ns: int | None
    taken_every_ns: int
    waited_share: float | None
    batches_per_step: float
    overhead_ns: int | None
    unpickle_ns: int | None
    pin_ns: int | None
    cores: int | None
    loaders: list[RecordedLoader]
    workers: list[RecordedWorker]
    start_ns: int
    end_ns: int
    steps: list[str]
    marks_ns: list[int]
    lanes: list[ProductionLane]
    queues: list[ReadyQueue]
    slowest: list[SlowBatch]
    lines: RecordedLines | None
    lanes_title: Phrase
    split_title: Phrase

    @property
    def main_loader(self) -> RecordedLoader | None:
        return next((each for each in self.loaders if each.main), None)


def recorded_loading(trace: Trace) -> Recorded | None:
    """What is recorded of the batches that the steps received; None where nothing is."""
    records, ways = trace.loader_records, find_ways(trace)
    if records is None or ways is None:
        return None
    steps = find_steps(trace).steps
    low, high = steps[0].host_start_ns, steps[-1].host_start_ns + steps[-1].host_ns
    main = main_loader(trace, records, ways)
    mine = np.flatnonzero(records.received.loader[ways.received] == main)
    names = loader_names(trace, records)
    place = {number: place for place, number in enumerate(names)}
    workers = sorted(recorded_workers(records, low, high), key=lambda each: place[each.loader])
    figures = _Figures(trace, records, ways, mine, main)
    whose = recorded_loader(trace, names, main)
    return Recorded(
        files=records.files,
        whose=whose,
        batches=len(mine),
        dataset_ns=figures.dataset_ns,
        collate_ns=figures.collate_ns,
        production_ns=figures.production_ns,
        production_spread_ns=figures.spread_ns,
        transfer_ns=_mean(ways.transfer_ns[mine]),
        ready_ns=_mean(ways.ready_ns[mine]),
        wait_ns=_mean(ways.wait_ns[mine]),
        looked=figures.looked,
        cpu_share=figures.cpu_share,
        core_wait_share=figures.core_wait_share,
        kind=kind_of(records, figures.produced, low, high),
        few_looked=is_few(figures.looked, len(mine)),
        bytes=_mean(records.produced.bytes[figures.produced]),
        samples=_mean(records.produced.samples[figures.produced]),
        consumer_ns=figures.pace.consumer_ns,
        taken_every_ns=figures.pace.taken_every_ns,
        waited_share=figures.pace.waited_share,
        batches_per_step=figures.pace.batches,
        overhead_ns=figures.overhead_ns,
        unpickle_ns=figures.unpickle_ns,
        pin_ns=figures.pin_ns,
        cores=records.cores,
        loaders=_loaders(trace, records, ways, main, names),
        workers=workers,
        start_ns=low,
        end_ns=high,
        steps=[step.name for step in steps],
        marks_ns=[step.host_start_ns for step in steps],
        lanes=sorted(lanes(records, low, high), key=lambda each: place[each.loader]),
        queues=sorted(ready_queues(records, low, high), key=lambda each: place[each.loader]),
        slowest=slowest_batches(trace, records, ways),
        lines=recorded_lines(records, main, figures.production_ns, (low, high)) if figures.has_workers else None,
        lanes_title=_lanes_title(workers, main, names[main] if whose else None),
        split_title=_split_title(figures),
    )


class _Figures:
    """Means over the batches of the loader that is waited for most."""

    def __init__(self, trace: Trace, records: LoaderRecords, ways: Ways, mine: Int64, main: int) -> None:
        made, taken = records.produced, records.received
        known = mine[ways.produced[mine] >= 0]
        self.produced = ways.produced[known]
        self.dataset_ns = _mean(ways.dataset_ns[known])
        self.collate_ns = _mean(ways.collate_ns[known])
        lengths = ways.dataset_ns[known] + ways.collate_ns[known]
        told = self.dataset_ns is not None and self.collate_ns is not None
        self.production_ns = (self.dataset_ns or 0) + (self.collate_ns or 0) if told else None
        self.spread_ns = round(float(lengths.std())) if len(known) else None
        looked = looked_shares(made, self.produced)
        self.looked, self.cpu_share, self.core_wait_share = looked.batches, looked.cpu, looked.core_wait
        rows = ways.received[mine]
        self.has_workers = has_workers = any(each.workers for each in records.loaders if each.loader == main)
        self.overhead_ns = _overhead(taken, rows, ways.there_ns[mine], self.cpu_share) if has_workers else None
        self.unpickle_ns = _between(taken.arrived_ns[rows], taken.unpickled_ns[rows]) if has_workers else None
        self.pin_ns = _between(taken.unpickled_ns[rows], taken.pinned_ns[rows])
        self.pace = find_pace(trace, records, ways, mine, self.overhead_ns or 0)


def _overhead(taken: Received, rows: Int64, made_ns: Int64, cpu_share: float | None) -> int | None:
    """What the loop does with a batch that is there: the tenth percentile. With a thread that pins, that one unpickles.

    made_ns: when each batch was made. Of those that lay ready, if they are many: a worker that computes its next batch
    gives the memory of this one away late, as Python runs one of its threads at a time, and workers that keep up stand
    still for a while. None where workers compute and batches come late.
    """
    asked, arrived, returned = taken.asked_ns[rows], taken.arrived_ns[rows], taken.returned_ns[rows]
    unpickled, pinned = taken.unpickled_ns[rows], taken.pinned_ns[rows]
    known = (arrived != UNKNOWN_TIME) & (unpickled != UNKNOWN_TIME)
    lay = known & (made_ns != UNKNOWN_TIME) & (made_ns <= asked)
    many = lay.sum() >= READY_FRACTION * max(1, known.sum())
    if not many and cpu_share is not None and cpu_share >= COMPUTES_FRACTION:
        return None
    by_loop = np.where(pinned == UNKNOWN_TIME, unpickled - arrived, 0)
    there = np.where(pinned == UNKNOWN_TIME, unpickled, pinned)
    each = (by_loop + returned - np.maximum(asked, there))[lay if many else known]
    return round(float(np.percentile(each, 10))) if len(each) else None


def _mean(values: Int64) -> int | None:
    known = values[values >= 0]
    return round(float(known.mean())) if len(known) else None


def _between(first: Int64, then: Int64) -> int | None:
    known = (first != UNKNOWN_TIME) & (then != UNKNOWN_TIME)
    return _mean(then[known] - first[known])


def _loaders(
    trace: Trace, records: LoaderRecords, ways: Ways, main: int, names: dict[int, Phrase]
) -> list[RecordedLoader]:
    number = records.received.loader[ways.received]
    mine, lengths = np.flatnonzero(number == main), ways.dataset_ns + ways.collate_ns
    steps, found = len(find_steps(trace).steps), []
    settings = {each.loader: each for each in records.loaders}
    for each in (settings[number] for number in names):
        theirs = np.flatnonzero(number == each.loader)
        found.append(
            RecordedLoader(
                **msgspec.structs.asdict(each),
                label=names[each.loader],
                batches=len(theirs),
                main=each.loader == main,
                production_ns=_mean(lengths[theirs[ways.produced[theirs] >= 0]]),
                batches_per_step=batches_beside(ways.step[mine], ways.step[theirs], steps),
            )
        )
    return found


def _lanes_title(workers: list[RecordedWorker], main: int, label: Phrase | None) -> Phrase:
    """label: the main loader's, where there are others."""
    mine = [each for each in workers if each.loader == main and each.worker >= 0]
    if not mine:
        return phrase("What does the loader do, and when?")
    busy = sum(each.busy_share for each in mine) / len({each.worker for each in mine})
    number = len({each.worker for each in mine})
    said = phrase(
        agreeing("{workers} (worker makes|workers make) batches for {busy} of the time", number),
        workers=count(number),
        busy=fraction(min(busy, 1.0)),
    )
    return with_label(label, said) if label else said


def _split_title(figures: _Figures) -> Phrase:
    if not figures.production_ns or figures.dataset_ns is None:
        return phrase("How batches were made is not recorded")
    share = figures.dataset_ns / figures.production_ns
    if share >= 0.5:
        return phrase("The dataset takes {share} of dataset and collate_fn", share=fraction(share))
    return phrase("collate_fn takes {share} of dataset and collate_fn", share=fraction(1 - share))
