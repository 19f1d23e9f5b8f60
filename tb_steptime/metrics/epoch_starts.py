"""What it costs that an epoch ends and another one begins: a wait of its own kind, which no number of workers ends.

loader   l...l...m.nnnnnnn...l...l...      m: asked once more, there is no batch; n: the first batch of the next epoch
workers  ....end..start [batch...]         nothing is in store, and without `persistent_workers` processes start first
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading import device_busy, exposed_waits, is_multiprocess, loader_intervals, loader_rows
from tb_steptime.metrics.loader_marks import seeds_before
from tb_steptime.metrics.loaders import find_batches
from tb_steptime.metrics.recorded_batches import find_ways, way_of
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind

#: A new iterator draws a seed for its workers, a sampler that shuffles draws another one: two are never of a kept one,
#: none is never of a new one.
_SURELY_ANEW = 2


class EpochStarts(msgspec.Struct, frozen=True):
    """Of the span's steps. batches: first ones of an epoch; wait_ns: mean wait for one of them; exposed_ns: of the mean
    step, the marks that end an epoch included; making_ns: of it, too, but no wait for the loader: its new iterator is
    made, and starts processes; steps: that take them. produced_ns: of exposed_ns, at most so much is for making these
    batches, which kept workers do, too; None where it is not recorded of each.

    workers: worker processes make them, None where the iterator's name does not tell. anew: these are started anew for
    each epoch, None where neither a recorder nor the marks tell.
    """

    batches: int
    wait_ns: int
    exposed_ns: int
    making_ns: int
    workers: bool | None
    anew: bool | None
    steps: list[str]
    produced_ns: int | None


@per_trace
def find_epoch_starts(trace: Trace) -> EpochStarts | None:
    """None where no epoch begins in the steps."""
    batches, steps = find_batches(trace), find_steps(trace).steps
    first = np.flatnonzero(batches.first)
    if not len(first):
        return None
    loaders = {batches.loaders[number].iterator for number in batches.loader[first].tolist()}
    workers = is_multiprocess(tuple(loaders))
    return EpochStarts(
        batches=len(first),
        wait_ns=round(float(batches.wait_ns[first].mean())),
        exposed_ns=int(_exposed_ns(trace, batches.row[~batches.first]).sum()) // len(steps),
        making_ns=int(_making_ns(trace).sum()) // len(steps),
        workers=workers,
        anew=None if workers is False else _anew(trace),
        steps=list(dict.fromkeys(steps[step].name for step in batches.step[first].tolist())),
        produced_ns=_produced_ns(trace, first),
    )


def _produced_ns(trace: Trace, first: Int64) -> int | None:
    """Of the mean step. first: entries of the batches."""
    batches, ways = find_batches(trace), find_ways(trace)
    if ways is None:
        return None
    way = way_of(trace, ways, batches.row[first])
    if not ((way >= 0) & (ways.produced[way] >= 0)).all():
        return None
    made = ways.dataset_ns[way] + ways.collate_ns[way]
    return int(np.minimum(made, batches.exposed_ns[first]).sum()) // len(find_steps(trace).steps)


@per_trace
def between_epochs_ns(trace: Trace) -> Int64:
    """Of each step: time between the last batch of an epoch and asking for the first one of the next, without device
    work. What a step takes while batches are in time does not hold it, as it comes once an epoch."""
    return _exposed_ns(trace, find_batches(trace).row) + _making_ns(trace)


def _making_ns(trace: Trace) -> Int64:
    """Of each step: an epoch begins, its first batch is not asked for, and no device works. A new iterator drew its
    seed, or the recorder tells that iter(loader) is under way."""
    steps, batches, start = find_steps(trace), find_batches(trace), trace.events.start_ns
    asked = start[batches.row[batches.first]]
    begin = [int(start[seeds[0]]) if len(seeds) else wait for seeds, wait in zip(_seeds(trace), asked, strict=True)]
    making = Intervals.union(np.array(begin, np.int64), asked)
    if trace.loader_records is not None:
        begun = trace.loader_records.begun
        making = making | Intervals.union(begun.begin_ns, begun.ready_ns)
    return (making - device_busy(trace) - loader_intervals(trace)).overlap_ns(steps.start_ns, steps.end_ns)


def _exposed_ns(trace: Trace, others: Int64) -> Int64:
    """Exposed waits of each step, less those of other rows: what waits inside one of these is of it."""
    steps, events, rows = find_steps(trace), trace.events, loader_rows(trace)
    low, high = steps.steps[0].host_start_ns, steps.steps[-1].host_start_ns + steps.steps[-1].host_ns
    cut = rows[(events.start_ns[rows] < low) | (events.start_ns[rows] >= high)]  # nobody knows what these wait for
    others = np.concatenate((others, cut))
    apart = loader_intervals(trace) - Intervals.union(events.start_ns[others], events.ends(others))
    return (exposed_waits(trace) & apart).overlap_ns(steps.start_ns, steps.end_ns)


def _anew(trace: Trace) -> bool | None:
    """As the recorder wrote, else as the marks tell."""
    settings = trace.loader_records.loaders if trace.loader_records else ()
    kept = {each.persistent for each in settings if each.workers}
    if len(kept) == 1 and (persistent := kept.pop()) is not None:
        return not persistent
    if not (trace.events.kind == Kind.CPU_OP).any():
        return None  # nor would it hold a seed
    drawn = [len(seeds) for seeds in _seeds(trace)]
    if min(drawn) >= _SURELY_ANEW:
        return True
    return None if any(drawn) else False


@per_trace
def _seeds(trace: Trace) -> tuple[Int64, ...]:
    """For each first batch, rows of the seeds that are drawn before its wait."""
    batches = find_batches(trace)
    return tuple(seeds_before(trace, row) for row in batches.row[batches.first].tolist())
