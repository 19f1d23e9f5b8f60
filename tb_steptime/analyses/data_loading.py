"""Data loading: which waits for a batch cost GPU time and which are hidden by its work."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import NOT_COMPUTED, Analysis, Series
from tb_steptime.metrics.catalogue import DATA_LOADING_TILES, measure
from tb_steptime.metrics.data_loading.bursts import Burst, find_burst
from tb_steptime.metrics.data_loading.lines import Activity, LoaderLine, loader_activities, slow_lines
from tb_steptime.metrics.data_loading.loaders import (
    MOST_LOADERS,
    LoaderRow,
    loader_table,
    main_loader,
    shows_iterable,
)
from tb_steptime.metrics.data_loading.recorded import Recorded, what_is_recorded
from tb_steptime.metrics.data_loading.throughput import (
    WorkerCurve,
    consumer_ns,
    find_throughput,
    production_ns,
    why_unknown,
)
from tb_steptime.metrics.data_loading.wait_shares import WaitCauses, step_waits
from tb_steptime.metrics.data_loading.waits import (
    LaneWindow,
    LoaderStep,
    is_multiprocess,
    lane_window,
    loader_iterators,
    loader_waits,
)
from tb_steptime.text import Note, Reason
from tb_steptime.trace.host_ranges import reads_elsewhere
from tb_steptime.trace.model import Trace

#: Maximum number of rows in the table of the loader's activities; the rest is folded into the last one.
ACTIVITY_ROWS = 6


class LoaderActivities(msgspec.Struct, frozen=True):
    """The longest activities of a loader in the main process. more, more_ns: number and time of the others. slow_lines:
    lines of the dataset, if call stacks are recorded."""

    rows: list[Activity]
    more: int
    more_ns: int
    slow_lines: list[LoaderLine]


class DataLoadingResult(msgspec.Struct, frozen=True):
    """The result of the data loading view. unknown: why no waits are known. Figures are then None or empty, except
    those that a recorder has of a loader that another thread reads.

    main_loader: place in `loaders` of the one with the longest total wait (`most_waited`). Figures of this loader:
    multiprocess, None where the iterator's name does not show it; batch_ns: time that one process needs for a batch;
    consumer_ns: time per batch of the steps without late batches; batches_per_step; needed_workers; why_unknown: why
    there is no number of workers and no curve; burst: if it has several processes.
    iterable: whether the main loader's dataset is an iterable one; None if nothing shows it.
    recorded: None without a recorder's files; recorder_notes: including files that were not used.
    """

    unknown: Reason | None = None
    iterators: list[str] = []
    main_loader: int | None = None
    multiprocess: bool | None = None
    steps: list[LoaderStep] = []
    mean: LoaderStep | None = None
    batch_ns: int | None = None
    consumer_ns: int | None = None
    batches_per_step: float | None = None
    needed_workers: int | None = None
    why_unknown: Reason | None = None
    tiles: list[Series] = []
    activities: LoaderActivities | None = None
    lanes: LaneWindow | None = None
    loaders: list[LoaderRow] = []
    causes: WaitCauses | None = None
    burst: Burst | None = None
    curve: WorkerCurve | None = None
    recorded: Recorded | None = None
    recorder_notes: list[Note] = []
    iterable: bool | None = None


def analyse(trace: Trace) -> DataLoadingResult:
    waits = loader_waits(trace)
    recorded = what_is_recorded(trace)
    main = main_loader(trace)
    found = step_waits(trace)
    if waits is None or found is None or (recorded is not None and main is None):
        return _unknown(trace, recorded)
    iterators, throughput = loader_iterators(trace), find_throughput(trace)
    multiprocess = main.multiprocess if main else is_multiprocess(iterators)
    return DataLoadingResult(
        iterators=list(iterators[:MOST_LOADERS]),
        main_loader=main.loader if main else None,
        multiprocess=multiprocess,
        steps=found.steps,
        mean=found.mean,
        batch_ns=production_ns(trace),
        consumer_ns=consumer_ns(trace),
        batches_per_step=main.batches if main and main.in_a_row == 1 else None,
        needed_workers=throughput.needed if throughput else None,
        why_unknown=why_unknown(trace),
        tiles=[measure(trace, metric, None) for metric in DATA_LOADING_TILES],
        activities=_activities(trace) if multiprocess is False else None,
        lanes=lane_window(trace, waits.wait_ns),
        loaders=loader_table(trace),
        causes=found.causes,
        burst=find_burst(trace),
        curve=found.curve,
        recorded=recorded,
        recorder_notes=_notes(trace),
        iterable=recorded.main_loader.iterable if recorded else shows_iterable(trace) or None,
    )


def _activities(trace: Trace) -> LoaderActivities | None:
    rows = loader_activities(trace)
    more = rows[ACTIVITY_ROWS:]
    more_ns = sum(row.ns_per_batch for row in more)
    return LoaderActivities(rows[:ACTIVITY_ROWS], len(more), more_ns, slow_lines(trace)) if rows else None


def _notes(trace: Trace) -> list[Note]:
    return list(trace.loader_records.notes) if trace.loader_records else []


def _unknown(trace: Trace, recorded: Recorded | None) -> DataLoadingResult:
    """Returns the result if the loop's waits are not known. It contains what was recorded of a loader."""
    elsewhere = recorded is not None or reads_elsewhere(trace)
    why = Reason("loader_on_other_thread") if elsewhere else Reason("no_loader_events")
    if recorded is None:
        return DataLoadingResult(unknown=why, recorder_notes=_notes(trace))
    return DataLoadingResult(
        unknown=why,
        multiprocess=recorded.main_loader.workers > 0,
        batch_ns=recorded.production_ns,
        why_unknown=why,
        tiles=[measure(trace, metric, None) for metric in DATA_LOADING_TILES],
        recorded=recorded,
        recorder_notes=_notes(trace),
    )


ANALYSIS = Analysis("data_loading", "Data loading", DataLoadingResult, analyse, DataLoadingResult(NOT_COMPUTED))
