"""Which loader's epochs begin and end when: the time between its last batch of one and the first batch of the next.

loader   l...l...m.nnnnnnn...l...l...      m: asked once more, there is no batch; n: the first batch of the next epoch
workers  ....end..start [batch...]         nothing is in store, and without `persistent_workers` processes start first
making   ..........i.................      i: the new iterator is made, which is no wait for a batch
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.loaders import find_batches
from tb_steptime.metrics.data_loading.marks import outermost_marks, seed_names, seeds_before
from tb_steptime.metrics.data_loading.waits import device_busy, exposed_waits
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import iterator_of, loader_intervals, loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


@dataclass(frozen=True)
class BetweenEpochs:
    """Of one loader, times without device work: it waits for first batches of epochs, learns at ends that there is no
    batch, and its new iterators are made."""

    waits: Intervals
    ends: Intervals
    making: Intervals


@shared(find_batches, loader_rows, seed_names)
def seeds_of_first(trace: Trace) -> tuple[Int64, ...]:
    """For each entry of the batches, rows of the seeds that are drawn before its wait; of first ones alone."""
    batches = find_batches(trace)
    none = np.empty(0, np.int64)
    pairs = zip(batches.row.tolist(), batches.first.tolist(), strict=True)
    return tuple(seeds_before(trace, row) if first else none for row, first in pairs)


@shared(device_busy, find_batches, loader_intervals, seeds_of_first)
def all_making(trace: Trace) -> Intervals:
    """An epoch begins, its first batch is not asked for, and no device works. A new iterator drew its seed, or the
    recorder tells that iter(loader) is under way."""
    batches = find_batches(trace)
    making = _since_seeds(trace, batches.row[batches.first])
    if trace.loader_records is not None:
        begun = trace.loader_records.begun
        making = making | Intervals.union(begun.begin_ns, begun.ready_ns)
    return making - device_busy(trace) - loader_intervals(trace)


@shared(all_making, exposed_waits, find_batches, find_steps, loader_intervals, loader_rows)
def between_epochs_ns(trace: Trace) -> Int64:
    """Of each step: time between the last batch of an epoch and asking for the first one of the next, without device
    work. What a step takes while batches are in time does not hold it, as it comes once an epoch."""
    between = _apart(trace, find_batches(trace).row) | all_making(trace)
    return in_steps(trace, between)


def in_steps(trace: Trace, times: Intervals) -> Int64:
    """ns of each step."""
    steps = find_steps(trace)
    return times.overlap_ns(steps.start_ns, steps.end_ns)


def between_epochs(trace: Trace, loader: int) -> BetweenEpochs:
    """Of loaders' disjoint times, those of one of them."""
    batches, (ends, whose) = find_batches(trace), find_ends(trace)
    apart = _apart(trace, batches.row[~batches.first])
    waits = _of_rows(trace, batches.row[batches.first & (batches.loader == loader)])
    return BetweenEpochs(
        apart & waits, (apart & _of_rows(trace, ends[whose == loader])) - waits, _making(trace, loader)
    )


def _making(trace: Trace, loader: int) -> Intervals:
    """What seeds tell of this loader's epochs and the recorder of no other's, and what it tells of this one's."""
    batches, records = find_batches(trace), trace.loader_records
    making = _since_seeds(trace, batches.row[batches.first & (batches.loader == loader)])
    if records is not None:
        begun, mine = records.begun, records.begun.loader == batches.loaders[loader].recorded
        making = making - Intervals.union(begun.begin_ns[~mine], begun.ready_ns[~mine])
        making = making | Intervals.union(begun.begin_ns[mine], begun.ready_ns[mine])
    return making & all_making(trace)


@shared(find_batches, find_steps, loader_rows)
def find_ends(trace: Trace) -> tuple[Int64, Int64]:
    """Rows of the marks in the steps that bring no batch, and for each of them its loader: of the mark's class, not at
    its end yet, and the last of these that was asked."""
    batches, rows = find_batches(trace), outermost_marks(trace)
    low, high = _span(trace)
    start = trace.events.start_ns[rows]
    rows = rows[(start >= low) & (start < high) & ~np.isin(rows, batches.row)]
    entries = [np.flatnonzero(batches.loader == loader) for loader in range(len(batches.loaders))]
    ended = [-1] * len(entries)
    whose = []
    for row, before in zip(rows.tolist(), np.searchsorted(batches.row, rows).tolist(), strict=True):
        name = iterator_of(trace.strings[int(trace.events.name[row])])
        asked = [int(each[at - 1]) if (at := np.searchsorted(each, before)) else -1 for each in entries]
        names = [each.iterator == name for each in batches.loaders]
        order = [(last > end, same, last) for last, end, same in zip(asked, ended, names, strict=True)]
        whose.append(max(range(len(order)), key=order.__getitem__))
        ended[whose[-1]] = asked[whose[-1]]
    return rows, np.array(whose, np.int64)


def _since_seeds(trace: Trace, first: Int64) -> Intervals:
    """From the first seed before each of these waits until the wait."""
    seeds = dict(zip(find_batches(trace).row.tolist(), seeds_of_first(trace), strict=True))
    start = trace.events.start_ns
    told = [row for row in first.tolist() if len(seeds[row])]
    begin = np.array([start[seeds[row][0]] for row in told], np.int64)
    return Intervals.union(begin, start[np.array(told, np.int64)])


def _apart(trace: Trace, others: Int64) -> Intervals:
    """Exposed waits, less those of other rows: what waits inside one of these is of it."""
    events, rows = trace.events, loader_rows(trace)
    low, high = _span(trace)
    cut = rows[(events.start_ns[rows] < low) | (events.start_ns[rows] >= high)]  # nobody knows what these wait for
    return exposed_waits(trace) & (loader_intervals(trace) - _of_rows(trace, np.concatenate((others, cut))))


def _span(trace: Trace) -> tuple[int, int]:
    steps = find_steps(trace).steps
    return steps[0].host_start_ns, steps[-1].host_start_ns + steps[-1].host_ns


def _of_rows(trace: Trace, rows: Int64) -> Intervals:
    return Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))
