"""What the recorder's files hold of the worker processes, on the trace's clock.

worker 0   [dataset...][col]  [dataset...][col]        busy = dataset + collate; then the batch is handed over
worker 1        [dataset...][col]    [dataset...][col]
batch                         [transfer][ready....]    from the batch's end in the worker to its arrival; till asked for
queue depth     0   1      0  1  2   1                 batches that are ready in the training process
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.epoch_starts import between_epochs_ns
from tb_steptime.metrics.data_loading.loaders import find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.batches import Ways, find_ways
from tb_steptime.metrics.data_loading.recorded.lanes import ProductionLane, ReadyQueue, lanes, ready_queues
from tb_steptime.metrics.data_loading.recorded.lines import RecordedLines, recorded_lines
from tb_steptime.metrics.data_loading.recorded.pace import find_pace, main_loader
from tb_steptime.metrics.data_loading.recorded.workers import (
    COMPUTES_FRACTION,
    Kind,
    RecordedWorker,
    SlowBatch,
    recorded_workers,
    sampled_shares,
    slowest_batches,
)
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords, LoaderSettings
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Batches that are ready in a quarter of the cases show what taking them over costs; a few are chance.
READY_FRACTION = 0.25


class RecordedLoader(LoaderSettings, frozen=True):
    """A loader as its recorder wrote it. label: its name in the table of loaders, or one that is not in it; batches:
    taken within the steps."""

    label: str
    batches: int


class Recorded(msgspec.Struct, frozen=True):
    """Of the batches that the span's steps received; ns are means per batch, None where no batch shows it.

    main: the loader that is waited for most, of which all but the lanes, the queues, the workers and the slowest
    batches is. loaders, and their workers, lanes and queues, stand in the order of the table of loaders.

    sampled: how many of the batches the recorder sampled: cpu_share, core_wait_share, kind and bytes are of these; kind
    is None where they are too few.

    production_ns = dataset_ns + collate_ns. transfer_ns: from the batch's end in the worker until it is an object of
    the training process (and pinned); ready_ns: until asked for; wait_ns: the training loop stands. consumer_ns,
    late_ns, batches_per_step: see `Pace`. lanes: of the window [start_ns, end_ns); steps that begin in it, and when
    each of them does. overhead_ns: what the loop does with a batch that is ready, at best; unpickle_ns, pin_ns: until a
    message is an object, until it is pinned on a thread of its own. files: how many were used. lines: None for a loader
    without workers, of which call stacks in the trace show more.
    """

    files: int
    main: int
    batches: int
    dataset_ns: int | None
    collate_ns: int | None
    production_ns: int | None
    production_spread_ns: int | None
    transfer_ns: int | None
    ready_ns: int | None
    wait_ns: int | None
    sampled: int
    cpu_share: float | None
    core_wait_share: float | None
    kind: Kind | None
    bytes: int | None
    samples: int | None
    consumer_ns: int | None
    late_ns: int
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

    @property
    def main_loader(self) -> RecordedLoader:
        return next(each for each in self.loaders if each.loader == self.main)


@shared(between_epochs_ns, find_batches, find_steps, find_ways, waited_for)
def what_is_recorded(trace: Trace) -> Recorded | None:
    """Of the batches that the steps received; None where nothing is."""
    records, ways = trace.loader_records, find_ways(trace)
    if records is None or ways is None:
        return None
    steps = find_steps(trace).steps
    window = (steps[0].host_start_ns, steps[-1].host_start_ns + steps[-1].host_ns)
    main = main_loader(trace, records, ways)
    loaders = _loaders(trace, records, ways)
    of = _of_main(records, ways, main)
    overhead, (unpickle, pin) = _overhead_ns(of), _receiving_ns(of)
    shares = sampled_shares(records.produced, of.produced)
    pace = find_pace(trace, ways.step[of.entries], main, overhead or 0)
    place = {each.loader: place for place, each in enumerate(loaders)}
    dataset, collate = _mean(ways.dataset_ns[of.known]), _mean(ways.collate_ns[of.known])
    production = None if dataset is None or collate is None else dataset + collate
    return Recorded(
        files=records.files,
        main=main,
        batches=len(of.entries),
        dataset_ns=dataset,
        collate_ns=collate,
        production_ns=production,
        production_spread_ns=_spread(ways.dataset_ns[of.known] + ways.collate_ns[of.known]),
        transfer_ns=_mean(ways.transfer_ns[of.entries]),
        ready_ns=_mean(ways.ready_ns[of.entries]),
        wait_ns=_mean(ways.wait_ns[of.entries]),
        sampled=shares.batches,
        cpu_share=shares.cpu,
        core_wait_share=shares.core_wait,
        kind=shares.kind_of(len(of.known)),
        bytes=_mean(records.produced.bytes[of.produced]),
        samples=_mean(records.produced.samples[of.produced]),
        consumer_ns=pace.consumer_ns,
        late_ns=pace.late_ns,
        batches_per_step=pace.batches,
        overhead_ns=overhead,
        unpickle_ns=unpickle,
        pin_ns=pin,
        cores=records.cores,
        loaders=loaders,
        workers=sorted(recorded_workers(records, *window), key=lambda each: place[each.loader]),
        start_ns=window[0],
        end_ns=window[1],
        steps=[step.name for step in steps],
        marks_ns=[step.host_start_ns for step in steps],
        lanes=sorted(lanes(records, *window), key=lambda each: place[each.loader]),
        queues=sorted(ready_queues(records, *window), key=lambda each: place[each.loader]),
        slowest=slowest_batches(trace, records, ways),
        lines=recorded_lines(records, main, production, window) if of.has_workers else None,
    )


def _loaders(trace: Trace, records: LoaderRecords, ways: Ways) -> list[RecordedLoader]:
    """As in the table of loaders, then those that are not in it, whose names no row of the table has."""
    settings, taken = {each.loader: each for each in records.loaders}, records.received.loader[ways.received]
    waited = {each.recorded: each.label for each in find_batches(trace).loaders if each.recorded is not None}
    labels = {number: label for number, label in waited.items() if number in settings}
    others = sorted(settings.keys() - labels.keys())
    for place, number in enumerate(others, 1):
        labels[number] = "Recorded loader" + (f" {place}" if len(others) > 1 else "")
    return [
        RecordedLoader(**msgspec.structs.asdict(settings[number]), label=label, batches=int((taken == number).sum()))
        for number, label in labels.items()
    ]


@dataclass(frozen=True, eq=False)
class _OfMain:
    """Of the loader that is waited for most: its entries of the ways, those whose production is known, and the rows
    of the records that these are."""

    records: LoaderRecords
    ways: Ways
    entries: Int64
    known: Int64
    produced: Int64
    received: Int64
    has_workers: bool


def _of_main(records: LoaderRecords, ways: Ways, main: int) -> _OfMain:
    entries = np.flatnonzero(records.received.loader[ways.received] == main)
    known = entries[ways.produced[entries] >= 0]
    has_workers = any(each.workers for each in records.loaders if each.loader == main)
    return _OfMain(records, ways, entries, known, ways.produced[known], ways.received[entries], has_workers)


def _overhead_ns(of: _OfMain) -> int | None:
    """What the loop does with a batch that is ready: the tenth percentile. With a thread that pins, that one unpickles.

    Of those that were ready, if they are many: a worker that computes its next batch gives the memory of this one away
    late, as Python runs one of its threads at a time. None where workers compute and batches come late.
    """
    taken, rows, arrived = of.records.received, of.received, of.ways.arrived_ns[of.entries]
    asked, unpickled, pinned = taken.asked_ns[rows], taken.unpickled_ns[rows], taken.pinned_ns[rows]
    known = (taken.arrived_ns[rows] != UNKNOWN_TIME) & (unpickled != UNKNOWN_TIME)
    ready = known & (arrived != UNKNOWN_TIME) & (arrived <= asked)
    many = ready.sum() >= READY_FRACTION * max(1, known.sum())
    cpu_share = sampled_shares(of.records.produced, of.produced).cpu
    if not of.has_workers or (not many and cpu_share is not None and cpu_share >= COMPUTES_FRACTION):
        return None
    by_loop = np.where(pinned == UNKNOWN_TIME, unpickled - taken.arrived_ns[rows], 0)
    there = np.where(pinned == UNKNOWN_TIME, unpickled, pinned)
    each = (by_loop + taken.returned_ns[rows] - np.maximum(asked, there))[ready if many else known]
    return round(float(np.percentile(each, 10))) if len(each) else None


def _receiving_ns(of: _OfMain) -> tuple[int | None, int | None]:
    """Until a message is an object, and until that is pinned."""
    taken, rows = of.records.received, of.received
    unpickle = _between(taken.arrived_ns[rows], taken.unpickled_ns[rows]) if of.has_workers else None
    return unpickle, _between(taken.unpickled_ns[rows], taken.pinned_ns[rows])


def _between(first: Int64, then: Int64) -> int | None:
    known = (first != UNKNOWN_TIME) & (then != UNKNOWN_TIME)
    return _mean(then[known] - first[known])


def _mean(values: Int64) -> int | None:
    known = values[values >= 0]
    return round(float(known.mean())) if len(known) else None


def _spread(values: Int64) -> int | None:
    return round(float(values.std())) if len(values) else None
