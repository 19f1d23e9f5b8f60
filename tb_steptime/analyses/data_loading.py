"""Data loading: which waits for a batch cost GPU time and which hide behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from tb_steptime.analyses.base import Analysis, Series
from tb_steptime.metrics.catalogue import DATA_LOADING_TILES, measure
from tb_steptime.metrics.data_loading.background_reader import Unmarked
from tb_steptime.metrics.data_loading.batch_copies import BatchCopy, batch_copies
from tb_steptime.metrics.data_loading.epoch_starts import EpochStarts, find_epoch_starts
from tb_steptime.metrics.data_loading.lanes import LaneWindow, lane_window
from tb_steptime.metrics.data_loading.lines import Activity, LoaderLine, loader_activities, slow_lines, why_no_line
from tb_steptime.metrics.data_loading.loaders import (
    LoaderRow,
    find_batches,
    judged_loader,
    loader_table,
    waited_for,
    whose,
)
from tb_steptime.metrics.data_loading.overhead import (
    Jitter,
    Overhead,
    find_jitter,
    find_overhead,
    overhead_as_recorded,
)
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.data_loading.scaling.batch_production import (
    batches_per_step,
    burst_of,
    consumer_ns,
    find_making,
    find_unmarked,
    production_ns,
    what_is_recorded,
    why_unknown,
)
from tb_steptime.metrics.data_loading.scaling.bursts import Burst
from tb_steptime.metrics.data_loading.scaling.curve_input import MeanStep
from tb_steptime.metrics.data_loading.scaling.prefetch_depth import saved_ns, with_store
from tb_steptime.metrics.data_loading.scaling.worker_curve import WorkerCurve, store_note, worker_curve
from tb_steptime.metrics.data_loading.titles import (
    activities_title,
    batch_remarks,
    copy_title,
    lanes_title,
    steps_title,
    tile_remarks,
    unmarked_remarks,
)
from tb_steptime.metrics.data_loading.wait_shares import Elsewhere, WaitShares, find_elsewhere, shared_out
from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators, loader_waits
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.steps.loader_waits import LoaderStep, loader_steps, mean_of
from tb_steptime.text import Note, Phrase, phrase
from tb_steptime.trace.loader_marks import reads_elsewhere
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: Rows of the table of what the loader does; the rest is folded into the last.
ACTIVITY_ROWS = 6


class DataLoadingResult(msgspec.Struct, frozen=True):
    """unknown says why no waits can be told (no loader events); all figures are then None or empty, but what a recorder
    tells of a loader that a thread reads without marks: unmarked.

    main_loader: the row of loaders that is judged, see `most_waited`; judged_loader names it and says why it is that
    one, None where there is no other. These are of it: multiprocess, None where the iterator's name does not tell;
    batch_ns, what one process needs for one batch, where it is measured: a single process, bursts, a recorder;
    consumer_ns: what the steps take beside late batches of it, per batch;
    batches_per_step; needed_workers; why_unknown says why there is no number of workers and no curve.
    without_wait_ns: the mean step less its mean exposed wait.
    activities are the longest things that the loader does, more_activities folds the rest; together they are the batch.
    lines_missing: why not each of them has a line.
    shares: what the mean exposed wait is for; starts: where epochs begin, None where none does in these steps;
    elsewhere: waits for other loaders than main_loader, None where these cost nothing.
    burst: of a multi-process loader, with what cannot be told and why; curve: None where no production time is known.
    deeper_ns: what more batches in advance save of the mean step, see `deeper_store`.
    slow_lines: lines of the dataset, where a single process makes the batches and stacks are recorded. recorded: None
    without a recorder's files; recorder_notes: of files that lie beside the trace and were not used, too, and of
    batches that were made before the first step.
    """

    unknown: Phrase | None
    iterators: list[str]
    main_loader: int | None
    judged_loader: Phrase | None
    multiprocess: bool | None
    steps: list[LoaderStep]
    mean: LoaderStep | None
    batch_ns: int | None
    consumer_ns: int | None
    batches_per_step: float | None
    without_wait_ns: int | None
    needed_workers: int | None
    why_unknown: Phrase | None
    tiles: list[Series]
    tile_remarks: dict[str, Phrase]
    steps_title: Phrase
    activities: list[Activity]
    more_activities: int
    more_activities_ns: int
    activities_title: Phrase | None
    lines_missing: Phrase | None
    lanes: LaneWindow | None
    lanes_title: Phrase | None
    loaders: list[LoaderRow]
    copy: BatchCopy | None
    copy_title: Phrase | None
    shares: WaitShares | None
    starts: EpochStarts | None
    elsewhere: Elsewhere | None
    burst: Burst | None
    curve: WorkerCurve | None
    deeper_ns: int | None
    jitter: Jitter | None
    overhead: Overhead | None
    slow_lines: list[LoaderLine]
    recorded: Recorded | None
    recorder_notes: list[Note]
    unmarked: Unmarked | None


def analyse(trace: Trace) -> DataLoadingResult:
    waits = loader_waits(trace)
    if waits is None or find_unmarked(trace) is not None:
        return _unknown(trace)
    rows = loader_steps(trace, waits)
    mean = mean_of(rows)
    iterators = loader_iterators(trace)
    main = waited_for(trace)
    multiprocess = main.multiprocess if main else is_multiprocess(iterators)
    single = multiprocess is False
    activities = loader_activities(trace) if single else []
    on_device = has_device_activity(trace)
    making = find_making(trace)
    return DataLoadingResult(
        unknown=None,
        iterators=list(iterators),
        main_loader=main.loader if main else None,
        judged_loader=judged_loader(trace),
        multiprocess=multiprocess,
        steps=rows,
        mean=mean,
        batch_ns=production_ns(trace),
        consumer_ns=consumer_ns(trace),
        batches_per_step=batches_per_step(trace),
        without_wait_ns=mean.duration_ns - mean.exposed_ns,
        needed_workers=making.needed if making else None,
        why_unknown=why_unknown(trace),
        tiles=[measure(trace, metric, None) for metric in DATA_LOADING_TILES],
        tile_remarks=tile_remarks(mean, on_device) | batch_remarks(trace, single, making),
        steps_title=steps_title(mean, on_device),
        activities=activities[:ACTIVITY_ROWS],
        more_activities=len(activities[ACTIVITY_ROWS:]),
        more_activities_ns=sum(row.ns_per_batch for row in activities[ACTIVITY_ROWS:]),
        activities_title=activities_title(activities) if activities else None,
        lines_missing=why_no_line(activities, trace) if activities else None,
        lanes=lane_window(trace, waits.wait_ns),
        lanes_title=lanes_title(mean, on_device),
        loaders=loader_table(trace),
        copy=(copy := batch_copies(trace)),
        copy_title=copy_title(copy),
        slow_lines=slow_lines(trace) if single else [],
        unmarked=None,
        **_bursts(trace, mean),
    )


def _bursts(trace: Trace, mean: LoaderStep) -> dict[str, Any]:
    """What the waits are for; of worker processes, and of what is recorded of them."""
    burst, making, starts = burst_of(trace), find_making(trace), find_epoch_starts(trace)
    jitter, overhead = find_jitter(trace, burst), _overhead(trace, burst)
    elsewhere, steps = find_elsewhere(trace), len(find_steps(trace).steps)
    shares = shared_out(mean.exposed_ns, starts, jitter, overhead, elsewhere.exposed_ns // steps if elsewhere else 0)
    mean_step = _mean_step(trace, mean, shares, starts)
    curve = worker_curve(making, mean_step) if making else None
    return {
        "shares": shares,
        "starts": starts,
        "elsewhere": elsewhere,
        "burst": _burst_of_main(trace, burst) if burst else None,
        "curve": msgspec.structs.replace(curve, title=whose(trace, curve.title)) if curve else None,
        "deeper_ns": saved_ns(making, mean_step),
        "jitter": with_store(jitter, making, mean_step) if jitter else None,
        "overhead": overhead,
        "recorded": what_is_recorded(trace),
        "recorder_notes": _notes(trace, curve),
    }


def _burst_of_main(trace: Trace, burst: Burst) -> Burst:
    return msgspec.structs.replace(burst, sentence=whose(trace, burst.sentence)) if burst.sentence else burst


def _mean_step(trace: Trace, mean: LoaderStep, shares: WaitShares, starts: EpochStarts | None) -> MeanStep:
    main, loader = waited_for(trace), find_batches(trace).loader
    own = starts.of(main.loader) if starts and main else None
    first = shares.first_ns + (starts.making_ns if starts else 0)
    # Rare long waits are for late batches, too: fewer workers would have more of them.
    step = MeanStep(mean.duration_ns, shares.late_ns + shares.jitter_ns, first)
    if own is None:
        return step
    processes = {True: own.processes_ns, False: 0, None: None}[own.anew]
    return replace(step, processes_ns=processes, first_share=own.batches / int((loader == own.loader).sum()))


def _notes(trace: Trace, curve: WorkerCurve | None) -> list[Note]:
    notes = list(trace.loader_records.notes) if trace.loader_records else []
    in_store = store_note(curve) if curve else None
    return [*notes, in_store] if in_store else notes


def _overhead(trace: Trace, burst: Burst | None) -> Overhead | None:
    told, recorded = find_overhead(trace, burst), what_is_recorded(trace)
    return overhead_as_recorded(told, recorded, trace) if told and recorded else told


def _unknown(trace: Trace) -> DataLoadingResult:
    """What the loop waits for is not known; what is recorded of a loader is."""
    unmarked, recorded = find_unmarked(trace), what_is_recorded(trace)
    return DataLoadingResult(
        unknown=unmarked.why_no_waits if unmarked else _no_events(trace),
        iterators=[],
        main_loader=None,
        judged_loader=None,
        multiprocess=bool(unmarked.workers) if unmarked else None,
        steps=[],
        mean=None,
        batch_ns=production_ns(trace),
        consumer_ns=None,
        batches_per_step=batches_per_step(trace),
        without_wait_ns=None,
        needed_workers=unmarked.needed if unmarked else None,
        why_unknown=why_unknown(trace) if unmarked else None,
        tiles=[measure(trace, metric, None) for metric in DATA_LOADING_TILES] if unmarked else [],
        tile_remarks=unmarked_remarks(unmarked) if unmarked else {},
        steps_title=_OTHER_THREAD if unmarked or reads_elsewhere(trace) else phrase("No loader events"),
        unmarked=unmarked,
        recorded=recorded if unmarked else None,
        recorder_notes=_notes(trace, None),
        **_NO_WAITS,
    )


_OTHER_THREAD = phrase("The loader is read on another thread")


def _no_events(trace: Trace) -> Phrase:
    """A thread that the profiler does not record leaves no marks, so that there may be a loader all the same."""
    words = "This trace has no loader events: no torch DataLoader is read on a recorded thread inside its steps."
    then = " One that another thread reads ahead shows once two lines in the script record it."
    if reads_elsewhere(trace):
        words = "A torch DataLoader is read on another thread than the steps: what these wait for does not show."
        then = " Two lines in the script record how fast its batches are made."
    if trace.loader_records is not None:
        then = " Nor does the recorder know of a batch that is asked for in them."
    return phrase(words + then)


_NO_WAITS: dict[str, Any] = {
    "activities": [],
    "more_activities": 0,
    "more_activities_ns": 0,
    "activities_title": None,
    "lines_missing": None,
    "lanes": None,
    "lanes_title": None,
    "loaders": [],
    "copy": None,
    "copy_title": None,
    "shares": None,
    "starts": None,
    "elsewhere": None,
    "burst": None,
    "curve": None,
    "deeper_ns": None,
    "jitter": None,
    "overhead": None,
    "slow_lines": [],
}


ANALYSIS = Analysis("data_loading", "Data loading", DataLoadingResult, analyse)
