"""What it costs that an epoch ends and another one begins: a wait of its own kind, which no number of workers ends."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.epoch_marks import all_making, between_epochs, find_ends, in_steps, seeds_of_first
from tb_steptime.metrics.data_loading.loaders import find_batches
from tb_steptime.metrics.data_loading.recorded.batches import find_ways, way_of
from tb_steptime.metrics.data_loading.waits import is_multiprocess
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind

#: A new iterator draws a seed for its workers, a sampler that shuffles draws another one: two are never of a kept one,
#: none is never of a new one.
_SURELY_ANEW = 2


class LoaderStarts(msgspec.Struct, frozen=True):
    """One loader's epochs, or passes over its data. loader: its row of the loaders; batches: first ones of an epoch;
    whole: passes from whose first batch to whose end no other loader is asked, as an evaluation's; wait_ns: mean wait
    for a first batch, None without one; exposed_ns: of the mean step, the marks that end an epoch included; making_ns:
    of it, too, but no wait for the loader: its new iterator is made, and starts processes; steps: that take them.
    produced_ns: of exposed_ns, at most so much is for making these batches, which kept workers do, too; None where it
    is not recorded of each. processes_ns: of exposed_ns and making_ns, what more workers take longer for where they
    start anew: ends of epochs, and making iterators.

    workers: worker processes make them, None where the iterator's name does not tell. anew: these are started anew for
    each epoch, None where neither a recorder nor the marks tell.
    """

    loader: int
    batches: int
    whole: int
    wait_ns: int | None
    exposed_ns: int
    making_ns: int
    workers: bool | None
    anew: bool | None
    steps: list[str]
    produced_ns: int | None
    processes_ns: int


class EpochStarts(msgspec.Struct, frozen=True):
    """Of the span's steps, and the mean one of them: what `loaders` have in all, each loader whose epochs begin or end
    there. making_ns: with iterators that are asked for no batch."""

    batches: int
    exposed_ns: int
    making_ns: int
    loaders: list[LoaderStarts]

    def of(self, loader: int | None) -> LoaderStarts | None:
        return next((each for each in self.loaders if each.loader == loader), None)


def find_epoch_starts(trace: Trace) -> EpochStarts | None:
    """None where no epoch begins in the steps."""
    batches = find_batches(trace)
    if not batches.first.any():
        return None
    begun_or_ended = np.unique(np.append(batches.loader[batches.first], find_ends(trace)[1]))
    loaders = [_starts_of(trace, loader) for loader in begun_or_ended.tolist()]
    return EpochStarts(
        batches=int(batches.first.sum()),
        exposed_ns=sum(each.exposed_ns for each in loaders),
        making_ns=_mean_ns(trace, all_making(trace)),
        loaders=loaders,
    )


def _starts_of(trace: Trace, loader: int) -> LoaderStarts:
    batches, steps = find_batches(trace), find_steps(trace).steps
    first = np.flatnonzero(batches.first & (batches.loader == loader))
    workers, between = is_multiprocess((batches.loaders[loader].iterator,)), between_epochs(trace, loader)
    return LoaderStarts(
        loader=loader,
        batches=len(first),
        whole=_whole(trace, loader),
        wait_ns=round(float(batches.wait_ns[first].mean())) if len(first) else None,
        exposed_ns=_mean_ns(trace, between.waits | between.ends),
        making_ns=_mean_ns(trace, between.making),
        workers=workers,
        anew=None if workers is False else _anew(trace, loader),
        steps=list(dict.fromkeys(steps[step].name for step in batches.step[first].tolist())),
        produced_ns=_produced_ns(trace, first),
        processes_ns=_mean_ns(trace, between.ends | between.making),
    )


def _mean_ns(trace: Trace, times: Intervals) -> int:
    return int(in_steps(trace, times).sum()) // len(find_steps(trace).steps)


def _whole(trace: Trace, loader: int) -> int:
    """The last pass ends in the steps where a mark says so, or another loader is asked after it."""
    batches, (ends, whose) = find_batches(trace), find_ends(trace)
    mine = np.flatnonzero(batches.loader == loader)
    opens = np.flatnonzero(batches.first[mine])
    if not len(opens):
        return 0
    past = np.append(opens[1:], len(mine))
    alone = mine[past - 1] - mine[opens] == past - 1 - opens
    last = mine[-1]
    alone[-1] &= bool(last < len(batches.row) - 1 or (ends[whose == loader] > batches.row[last]).any())
    return int(alone.sum())


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


def _anew(trace: Trace, loader: int) -> bool | None:
    """As the recorder wrote, else as the marks tell."""
    persistent = _recorded_persistent(trace, loader)
    if persistent is not None:
        return not persistent
    if not (trace.events.kind == Kind.CPU_OP).any():
        return None  # nor would it hold a seed
    batches = find_batches(trace)
    drawn = [len(seeds_of_first(trace)[entry]) for entry in np.flatnonzero(batches.first & (batches.loader == loader))]
    if drawn and min(drawn) >= _SURELY_ANEW:
        return True
    return None if any(drawn) or not drawn else False


def _recorded_persistent(trace: Trace, loader: int) -> bool | None:
    """Whether it keeps its workers. Where no loader of the steps is matched with a recorded one, as all of these do."""
    loaders = find_batches(trace).loaders
    settings = [each for each in (trace.loader_records.loaders if trace.loader_records else ()) if each.workers]
    if any(each.recorded is not None for each in loaders):
        settings = [each for each in settings if each.loader == loaders[loader].recorded]
    kept = {each.persistent for each in settings}
    return kept.pop() if len(kept) == 1 else None
