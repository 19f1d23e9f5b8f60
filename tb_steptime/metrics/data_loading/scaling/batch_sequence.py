"""How batches differ from each other, and how what the loop does with them does, in the order in which it takes them.

production   |==0==|==1==|=======2=======|==3==|      a slow batch blocks those behind it
consumption    |-0-|-1-|------2------|-3-|            in a long step workers prefetch some, and no more than some
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.data_loading.loaders import WaitedFor, find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.batches import find_ways
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import EVEN, BatchSequence
from tb_steptime.metrics.steps.parts import has_device_activity
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.table import Bool, Int64

#: Of fewer batches the mean and the spread say as much.
ENOUGH = 16
_UNKNOWN = -1


@per_trace
def find_sequence(trace: Trace) -> BatchSequence:
    """Of the loader that is waited for most; empty where it is not known, or known of too few batches."""
    main = waited_for(trace)
    if main is None:
        return EVEN
    return _recorded(trace, main) if main.recorded is not None else _marked(trace, main)


def _marked(trace: Trace, main: WaitedFor) -> BatchSequence:
    """What a trace alone shows: only the training process shows how it produces batches, as it waits for each."""
    batches = find_batches(trace)
    mine = np.flatnonzero(batches.loader == main.loader)
    row, first = batches.row[mine], batches.first[mine]
    wait = batches.wait_ns[mine] if main.multiprocess is False else np.full(len(mine), _UNKNOWN)
    ends = np.append(first[1:], True) | first  # what is waited for a first batch is not all production
    return _sequence(trace, trace.events.start_ns[row], trace.events.ends(row), wait, ends)


def _recorded(trace: Trace, main: WaitedFor) -> BatchSequence:
    """Of an iterable dataset each worker has batches of its own: more of them would take these in another order."""
    records, ways = trace.loader_records, find_ways(trace)
    if records is None or ways is None:
        return EVEN
    taken = records.received
    mine = np.flatnonzero(taken.loader[ways.received] == main.recorded)
    mine = mine[np.argsort(taken.asked_ns[ways.received[mine]], kind="stable")]
    row, iterable = ways.received[mine], any(each.loader == main.recorded and each.iterable for each in records.loaders)
    known = (ways.produced[mine] >= 0) & (not iterable)
    production = np.where(known, ways.dataset_ns[mine] + ways.collate_ns[mine], _UNKNOWN)
    ends = np.append(taken.passage[row][1:] != taken.passage[row][:-1], True)
    return _sequence(trace, taken.asked_ns[row], taken.returned_ns[row], production, ends)


def _sequence(trace: Trace, asked: Int64, returned: Int64, production: Int64, ends: Bool) -> BatchSequence:
    """Of batches in the order of taking them; ends: no batch of the same epoch comes next."""
    whole = np.flatnonzero(~ends[:-1])
    if len(whole) < ENOUGH:
        return EVEN
    # A host that runs ahead of its device asks for batches at times of its own, which costs no device time.
    consumption = () if has_device_activity(trace) else _shares(asked[whole + 1] - returned[whole])
    return BatchSequence(_shares(production[whole]) if (production[whole] >= 0).all() else (), consumption)


def _shares(values: Int64) -> tuple[float, ...]:
    """Of their mean."""
    positive = np.maximum(values, 0)
    mean = float(positive.mean())
    return tuple((positive / mean).tolist()) if mean > 0 else ()
