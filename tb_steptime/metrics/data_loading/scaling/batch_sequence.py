"""How batches differ from each other, and how what the loop does with them does, in the order in which it takes them.

making  |==0==|==1==|=======2=======|==3==|      a slow batch holds up those behind it
using     |-0-|-1-|------2------|-3-|            in a long step the workers make some in advance, and no more than some
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.loaders import WaitedFor, find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.batches import find_ways
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import EVEN, Rhythm
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool, Int64

#: Of fewer batches the mean and the spread tell as much.
ENOUGH = 16


@dataclass(frozen=True)
class _Taken:
    """Batches of one loader in the order of taking them. making_ns: -1 where not known; ends: no batch of the same pass
    comes next."""

    asked_ns: Int64
    taken_ns: Int64
    making_ns: Int64
    ends: Bool


@shared(find_batches, find_ways, has_device_activity, waited_for)
def find_rhythm(trace: Trace) -> Rhythm:
    """Of the loader that is waited for most; nothing of what is not known, or known of too few batches."""
    main = waited_for(trace)
    if main is None:
        return EVEN
    taken = _recorded(trace, main) or _marked(trace, main)
    whole = np.flatnonzero(~taken.ends[:-1])
    making, using = taken.making_ns[whole], taken.asked_ns[whole + 1] - taken.taken_ns[whole]
    if len(whole) < ENOUGH:
        return EVEN
    # A host that runs ahead of its device asks for batches in a rhythm of its own, which costs no device time.
    of_steps = () if has_device_activity(trace) else _shares(using)
    return Rhythm(_shares(making) if (making >= 0).all() else (), of_steps)


def _shares(values: Int64) -> tuple[float, ...]:
    """Of their mean."""
    mean = float(np.maximum(values, 0).mean())
    return tuple((np.maximum(values, 0) / mean).tolist()) if mean > 0 else ()


def _marked(trace: Trace, main: WaitedFor) -> _Taken:
    """What a trace alone tells: only the training process shows how it makes batches, as it waits for each."""
    batches = find_batches(trace)
    mine = np.flatnonzero(batches.loader == main.loader)
    row, first = batches.row[mine], batches.first[mine]
    wait = batches.wait_ns[mine] if main.multiprocess is False else np.full(len(mine), -1, np.int64)
    ends = np.append(first[1:], True) | first  # what is waited for a first batch is not all its making
    return _Taken(trace.events.start_ns[row], trace.events.ends(row), wait, ends)


def _recorded(trace: Trace, main: WaitedFor) -> _Taken | None:
    records, ways = trace.loader_records, find_ways(trace)
    if records is None or ways is None or main.recorded is None:
        return None
    mine = np.flatnonzero(records.received.loader[ways.received] == main.recorded)
    mine = mine[np.argsort(records.received.asked_ns[ways.received[mine]], kind="stable")]
    if not len(mine):
        return None
    row = ways.received[mine]
    passage = records.received.passage[row]
    making = np.where(ways.produced[mine] >= 0, ways.dataset_ns[mine] + ways.collate_ns[mine], -1)
    if _is_iterable(records, main.recorded):
        making = np.full(len(mine), -1, np.int64)
    ends = np.append(passage[1:] != passage[:-1], True)
    return _Taken(records.received.asked_ns[row], records.received.returned_ns[row], making, ends)


def _is_iterable(records: LoaderRecords, loader: int) -> bool:
    """Then each worker has batches of its own, and another number of workers would take them in another order."""
    return any(each.loader == loader and each.iterable for each in records.loaders)
