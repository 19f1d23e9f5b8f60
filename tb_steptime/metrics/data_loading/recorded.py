"""The recorder's data about the worker processes, on the trace's clock.

worker 0   [dataset...][col]  [dataset...][col]        busy = dataset + collate; then the batch is handed over
worker 1        [dataset...][col]    [dataset...][col]
batch                         [transfer][ready....]    from the batch's end in the worker to its arrival; until
                              requested
loop       ....[late  received]...                     a wait is for a batch that is not produced yet, or to receive one
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.lines import RecordedLines, recorded_lines
from tb_steptime.metrics.data_loading.loaders import between_epochs_ns, find_batches, main_loader
from tb_steptime.metrics.data_loading.recorded_workers import (
    COMPUTES_FRACTION,
    BatchTimings,
    Kind,
    ProductionLane,
    ReadyQueue,
    RecordedWorker,
    SlowBatch,
    find_timings,
    lanes,
    ready_queues,
    recorded_workers,
    sampled_shares,
    sampler_ns,
    slowest_batches,
)
from tb_steptime.metrics.data_loading.waits import exposed_waits
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_records import LoaderRecords, LoaderSettings
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, median

#: Minimum share of ready batches that shows what receiving them costs. A smaller share may be chance.
READY_FRACTION = 0.25
#: Minimum delay of a batch if the interpreter is held. Python switches to another thread of a process after 5 ms
#: (sys.getswitchinterval), or when the running thread releases the interpreter. So a worker whose dataset computes in
#: Python hands over its batch, or the batch's memory, that much later, ...
HELD_NS = 4_000_000
#: ... in at least this share of cases. If it is rarer, other pauses are the cause.
HELD_FRACTION = 0.5
#: A message that was there when the loop asked is read within this time.
READ_NS = 500_000
#: Minimum share of a core that must be left for the training process, which needs a core most of the time.
LEFT_CORES = 0.5
#: Copying a batch into shared memory or through a pipe is no such delay. This is its speed on slow machines, bytes per
#: ns.
COPIED = 1.0


class RecordedLoader(LoaderSettings, frozen=True):
    """A loader as its recorder wrote it. label: its name in the table of loaders, or a new one if that has no row for
    it. batches: number of its batches that are taken within the steps."""

    label: str
    batches: int


class Recorded(msgspec.Struct, frozen=True):
    """The recorder's data about the batches that the span's steps received. Times are means per batch in ns. A field is
    None if no batch has the value.

    main              the loader with the most waiting; all fields are about it, except lanes, queues, workers and
                      slowest
    loaders           in the order of the table of loaders, which workers, lanes and queues share
    sampled           number of batches that the recorder sampled
    cpu_share, core_wait_share, kind, bytes   of the sampled batches; kind is None if these are too few
    production_ns     = dataset_ns + collate_ns, see `settled_batches`
    transfer_ns       from the end of the batch in the worker until it is an object of the main process (and pinned)
    ready_ns          from then until the training loop requests it
    wait_ns           wait of the training loop
    consumer_ns       time of the steps without waits for late batches
    late_ns           these waits; if the steps contain no mark of this loader, late_ns is 0 and consumer_ns None
    batches_per_step  mean over the steps whose batches are recorded
    steps, marks_ns   steps that begin in the window [start_ns, end_ns) of the lanes, and when each does
    overhead_ns       time to receive a batch that is ready, see `_receiving_ns`
    sampler_ns        time in which the loader draws the indices of a later batch
    files             number of the recorder's files that were used
    lines             None for a loader without workers, for which call stacks in the trace show more
    held_ns           how long a produced batch waits in its worker because Python code of the dataset holds the
                      interpreter; None if that does not happen
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
    sampler_ns: int | None = None
    held_ns: int | None = None

    @property
    def main_workers(self) -> list[RecordedWorker]:
        """The worker processes of the main loader; none if the training process makes its batches."""
        return [each for each in self.workers if each.loader == self.main and each.worker >= 0]

    @property
    def main_loader(self) -> RecordedLoader:
        return next(loader for loader in self.loaders if loader.loader == self.main)


@shared
def what_is_recorded(trace: Trace) -> Recorded | None:
    """Summarizes the batches that the steps received; None if nothing is recorded."""
    records, timings = trace.loader_records, find_timings(trace)
    if records is None or timings is None:
        return None
    steps = find_steps(trace).steps
    window = find_steps(trace).host_window
    main, loaders = _main_loader(trace, timings), _loaders(trace, records, timings)
    of_loader = timings.where(timings.loader == main)
    main_batches = _of_main(records, timings, main)
    settled = settled_batches(records, timings, main)
    shares = sampled_shares(records.produced, main_batches.timings.produced)
    consumer, late_ns, per_step = _pace(trace, of_loader.step, main_batches)
    place = {each.loader: place for place, each in enumerate(loaders)}
    dataset, collate = _mean(settled.dataset_ns), _mean(settled.collate_ns)
    production = None if dataset is None or collate is None else dataset + collate
    values = settled.dataset_ns + settled.collate_ns
    return Recorded(
        files=records.files,
        main=main,
        batches=len(of_loader),
        dataset_ns=dataset,
        collate_ns=collate,
        production_ns=production,
        production_spread_ns=round(float(values.std())) if len(values) else None,
        transfer_ns=_mean(of_loader.transfer_ns),
        ready_ns=_mean(of_loader.ready_ns),
        wait_ns=_mean(of_loader.wait_ns),
        sampled=shares.batches,
        cpu_share=shares.cpu,
        core_wait_share=shares.core_wait,
        kind=shares.kind_of(len(main_batches.timings)),
        bytes=_mean(records.produced.bytes[main_batches.timings.produced]),
        samples=_mean(records.produced.samples[main_batches.timings.produced]),
        consumer_ns=consumer,
        late_ns=late_ns,
        batches_per_step=per_step,
        overhead_ns=_receiving_ns(main_batches),
        cores=records.cores,
        loaders=loaders,
        workers=sorted(recorded_workers(records, *window), key=lambda each: place[each.loader]),
        start_ns=window[0],
        end_ns=window[1],
        steps=[step.name for step in steps],
        marks_ns=[step.host_start_ns for step in steps],
        lanes=sorted(lanes(records, *window), key=lambda each: place[each.loader]),
        queues=sorted(ready_queues(records, *window), key=lambda each: place[each.loader]),
        slowest=slowest_batches(trace, records, timings),
        lines=recorded_lines(records, main, production, window) if main_batches.has_workers else None,
        sampler_ns=sampler_ns(main_batches.timings) if main_batches.has_workers else None,
        held_ns=main_batches.held_ns if main_batches.has_workers else None,
    )


def _loaders(trace: Trace, records: LoaderRecords, timings: BatchTimings) -> list[RecordedLoader]:
    """Returns the loaders as in the table, then those without a row in it, whose names differ from those of all
    rows."""
    settings = {loader.loader: loader for loader in records.loaders}
    waited = {loader.recorded: loader.label for loader in find_batches(trace).loaders if loader.recorded is not None}
    labels = {number: label for number, label in waited.items() if number in settings}
    others = sorted(settings.keys() - labels.keys())
    for place, number in enumerate(others, 1):
        labels[number] = "Recorded loader" + (f" {place}" if len(others) > 1 else "")
    batches = {number: int((timings.loader == number).sum()) for number in labels}
    return [
        RecordedLoader(**msgspec.structs.asdict(settings[number]), label=label, batches=batches[number])
        for number, label in labels.items()
    ]


def _main_loader(trace: Trace, timings: BatchTimings) -> int:
    """Returns the loader for which the trace shows waits, if its batches are recorded; otherwise the recorded one with
    the most waiting. First batches of a pass count only if there are no others."""
    main = main_loader(trace)
    if main is not None and main.recorded is not None and main.recorded in timings.loader:
        return main.recorded
    later = np.where(timings.batch != 0, timings.wait_ns, 0)
    return int(np.bincount(timings.loader, later if later.any() else timings.wait_ns).argmax())


class _OfMain(msgspec.Struct, frozen=True, eq=False):
    """The loader with the most waiting: its batches whose production is known, and when each could be sent.

    held_ns: as in `Recorded`. computes: its workers mostly compute while they have a core. short_of_cores: they also
    leave no core for the training process.
    """

    loader: int
    timings: BatchTimings
    end_ns: Int64
    held_ns: int | None
    computes: bool
    has_workers: bool
    short_of_cores: bool


def _of_main(records: LoaderRecords, timings: BatchTimings, main: int) -> _OfMain:
    produced = timings.where((timings.loader == main) & (timings.produced >= 0))
    own = sampled_shares(records.produced, produced.produced).own_cpu
    computes = own is not None and own >= COMPUTES_FRACTION
    end_ns = records.produced.end_ns[produced.produced]
    nbytes = records.produced.bytes[produced.produced]
    came_late = produced.arrived_ns > np.maximum(end_ns, produced.next_called_ns + READ_NS)
    sent = np.where(came_late, produced.arrived_ns - end_ns - _copied_ns(nbytes), 0)
    # A thread of the worker opens a batch's memory while the worker computes the next batch. Many tensors take long in
    # any case.
    memory_ns = produced.returned_ns - np.maximum(produced.arrived_ns, produced.next_called_ns) - _copied_ns(nbytes)
    memory_ns = np.where(memory_ns < produced.dataset_ns + produced.collate_ns, memory_ns, 0)
    held_ns = np.maximum(sent, memory_ns)
    there_ns = np.where(memory_ns > sent, produced.returned_ns, end_ns + sent)
    is_held = (held_ns >= HELD_NS) & computes
    workers = _workers(records, main)
    often = len(produced) > 0 and is_held.sum() >= HELD_FRACTION * len(produced)
    return _OfMain(
        loader=main,
        timings=produced,
        end_ns=np.where(is_held, there_ns, end_ns),
        held_ns=round(median(held_ns[is_held])) if often else None,
        computes=computes,
        has_workers=workers > 0,
        short_of_cores=computes and records.cores is not None and _busy(produced) > records.cores - LEFT_CORES,
    )


def _busy(timings: BatchTimings) -> float:
    """Returns how many workers produce these batches at the same time, on average."""
    if not len(timings):
        return 0.0
    produced_ns = int((timings.dataset_ns + timings.collate_ns).sum())
    return produced_ns / max(1, int(timings.returned_ns[-1] - timings.next_called_ns[0]))


def _copied_ns(nbytes: Int64) -> int:
    counted = nbytes[nbytes >= 0]
    return round(median(counted) / COPIED) if len(counted) else 0


def _workers(records: LoaderRecords, loader: int) -> int:
    return max((each.workers for each in records.loaders if each.loader == loader), default=0)


def settled_batches(records: LoaderRecords, timings: BatchTimings, main: int) -> BatchTimings:
    """Returns the batches whose production is known, without each worker's first one of a pass if there are others. In
    its first batch the dataset opens files, and no number of workers ends the wait for it."""
    produced = timings.where((timings.loader == main) & (timings.produced >= 0))
    later = produced.where(produced.batch >= max(1, _workers(records, main)))
    return later if len(later) else produced


def _receiving_ns(batches: _OfMain) -> int | None:
    """Returns the median time from when a batch can be received until the loop has it. Pauses of the host do not
    lengthen a median.

    If many batches were ready, only these count: a worker that computes its next batch hands over the memory of this
    one late, because Python runs one of its threads at a time. The result is None if workers compute and batches come
    late; if they leave no core for the training process, which then waits for one; and for a loader without workers.
    """
    ready, there = _ready(batches)
    many = ready.sum() >= READY_FRACTION * max(1, len(ready))
    if not batches.has_workers or batches.short_of_cores or (not many and batches.computes):
        return None
    each = (batches.timings.returned_ns - there)[ready if many else slice(None)]
    return round(median(each)) if len(each) else None


def _ready(batches: _OfMain) -> tuple[Bool, Int64]:
    """Returns which batches were produced before the loop asked for them, and when each could be received. That is when
    it was requested or, for a late batch, when its message arrived or, with a pinning thread, when it was pinned."""
    timings = batches.timings
    requested, ready = timings.next_called_ns, batches.end_ns <= timings.next_called_ns
    # A time that is not recorded is far below 0.
    came = np.maximum(np.maximum(timings.arrived_ns, timings.pinned_ns), batches.end_ns)
    return ready, np.where(ready, requested, np.clip(came, requested, timings.returned_ns))


def _late_waits(batches: _OfMain) -> Intervals:
    """Returns when the loop waits for batches that are not produced yet. If the cost of receiving is unknown, this is
    the whole of such waits."""
    ready, there = _ready(batches)
    until = batches.timings.returned_ns if _receiving_ns(batches) is None else there
    return Intervals.union(batches.timings.next_called_ns[~ready], until[~ready])


def late_waits(trace: Trace) -> Intervals | None:
    """Returns the late waits for the recorded loader with the longest total wait; None without a recorder's files."""
    records, timings = trace.loader_records, find_timings(trace)
    if records is None or timings is None:
        return None
    return _late_waits(_of_main(records, timings, _main_loader(trace, timings)))


def _pace(trace: Trace, step: Int64, batches: _OfMain) -> tuple[int | None, int, float]:
    """Returns consumer_ns, late_ns and batches_per_step of `Recorded`. step: for each batch of the loader the step that
    requested it.

    Only steps whose batches are recorded count. Otherwise each of the others would be a step without batches.
    """
    steps = find_steps(trace)
    covered = covered_steps(step, len(steps.steps))
    number, of_steps = max(int(covered[step].sum()), 1), max(int(covered.sum()), 1)
    if not any(loader.recorded == batches.loader for loader in find_batches(trace).loaders):
        return None, 0, number / of_steps
    late_ns = steps.overlap_ns(exposed_waits(trace) & _late_waits(batches)) + between_epochs_ns(trace)
    waited_ns, total = int(late_ns[covered].sum()), int(steps.duration_ns[covered].sum())
    return round((total - waited_ns) / number), round(waited_ns / number), number / of_steps


def covered_steps(step: Int64, number: int) -> Bool:
    """Returns for which steps it is recorded which batches they took. step: that of each recorded batch.

    >>> covered_steps(np.array([0, 0, 1, 1, 2]), 4).tolist()  # the recording ended in step 2
    [True, True, False, False]
    >>> covered_steps(np.array([0, 4]), 6).tolist()  # a batch is for several steps
    [True, True, True, True, True, False]
    """
    counts = np.bincount(step, minlength=number)
    with_batches = np.flatnonzero(counts)
    ended = with_batches[-1] < number - 1 and counts[with_batches[-1]] < median(counts[with_batches])
    steps = np.arange(number)
    return np.asarray((steps >= with_batches[0]) & (steps <= with_batches[-1] - ended))


def _mean(values: Int64) -> int | None:
    measured = values[values >= 0]
    return round(float(measured.mean())) if len(measured) else None
