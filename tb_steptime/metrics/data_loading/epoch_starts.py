"""The cost of ending an epoch and beginning the next one, which no number of workers can avoid.

loader   l...l...m.nnnnnnn...l...l...      m: asked once more, there is no batch; n: the first batch of the next epoch
workers  ....end..start [batch...]         none is prefetched, and without `persistent_workers` processes start first
setup    ..........i.................      i: the new iterator is set up, which is no wait for a batch
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loaders import find_batches
from tb_steptime.metrics.data_loading.marks import NO_SEED, work_rows
from tb_steptime.metrics.data_loading.waits import device_busy, exposed_waits
from tb_steptime.trace.host_ranges import loader_intervals, loader_rows
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


class EpochStarts(msgspec.Struct, frozen=True):
    """The starts of epochs of all loaders in the span's steps. batches: number of first batches of an epoch, or of
    another pass such as an evaluation; wait_ns: mean wait for one; exposed_ns: exposed wait in the mean step, including
    the marks that end an epoch; setup_ns: time in the mean step in which new iterators are set up, which is no wait.
    respawned: whether worker processes start again for each epoch; produced_ns: mean production of these batches; both
    None without a recorder. steps: names of the steps that wait for these batches."""

    batches: int
    wait_ns: int
    exposed_ns: int
    setup_ns: int
    respawned: bool | None
    produced_ns: int | None
    steps: list[str]


def find_epoch_starts(trace: Trace) -> EpochStarts | None:
    """The starts of epochs; None if no epoch begins in the steps."""
    batches, steps = find_batches(trace), find_steps(trace).steps
    first = np.flatnonzero(batches.first)
    if not len(first):
        return None
    return EpochStarts(
        batches=len(first),
        wait_ns=round(float(batches.wait_ns[first].mean())),
        exposed_ns=int(_in_steps(trace, _exposed(trace, batches.row[~batches.first])).sum()) // len(steps),
        setup_ns=int(_in_steps(trace, _setup(trace)).sum()) // len(steps),
        respawned=_respawned(trace),
        produced_ns=_produced_ns(trace),
        steps=list(dict.fromkeys(steps[step].name for step in batches.step[first].tolist())),
    )


@shared
def between_epochs_ns(trace: Trace) -> Int64:
    """For each step the time without device work between the last batch of an epoch and the request for the first one
    of the next. The step time with batches in time does not include it, because it occurs once an epoch."""
    return _in_steps(trace, _exposed(trace, find_batches(trace).row) | _setup(trace))


def _in_steps(trace: Trace, times: Intervals) -> Int64:
    steps = find_steps(trace)
    return steps.overlap_ns(times)


def _exposed(trace: Trace, others: Int64) -> Intervals:
    """Exposed waits, without those of other rows and of marks that are only partly in the span."""
    events, rows, (low, high) = trace.events, loader_rows(trace), find_steps(trace).host_window
    others = np.concatenate((others, rows[(events.start_ns[rows] < low) | (events.start_ns[rows] >= high)]))
    return exposed_waits(trace) - Intervals.of_events(events, others)


def _setup(trace: Trace) -> Intervals:
    """From a new iterator's first seed until a batch is requested from it, if the loop does no other work in between,
    and while a recorder saw it being set up; without device work."""
    batches, works = find_batches(trace), np.sort(trace.events.start_ns[work_rows(trace)])
    new = np.flatnonzero(batches.first & (batches.seed_ns != NO_SEED))
    seed_ns, requested_ns = batches.seed_ns[new], trace.events.start_ns[batches.row[new]]
    alone = np.searchsorted(works, seed_ns) == np.searchsorted(works, requested_ns)
    setup = Intervals.union(seed_ns[alone], requested_ns[alone])
    if trace.loader_records is not None:
        setup = setup | Intervals.union(trace.loader_records.begun.begin_ns, trace.loader_records.begun.ready_ns)
    return setup - device_busy(trace) - loader_intervals(trace)


def _produced_ns(trace: Trace) -> int | None:
    made = trace.loader_records.produced if trace.loader_records else None
    times = (made.end_ns - made.start_ns)[made.batch == 0] if made else np.empty(0)
    return round(float(times.mean())) if len(times) else None


def _respawned(trace: Trace) -> bool | None:
    """Whether workers start again for each epoch, if all recorded loaders with workers agree; else None."""
    settings = trace.loader_records.loaders if trace.loader_records else ()
    kept = {each.persistent for each in settings if each.workers}
    return not kept.pop() if len(kept) == 1 and None not in kept else None
