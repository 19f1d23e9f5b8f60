"""Ops and ranges of the host that take far longer the first time than ever again: something is set up inside.

op      [ aten::addmm, 981 ms        ]  |  |  |  |        later ones take 50 us: a library's handle, lazily made
op      [ aten::copy_                ]  [           ]     as long again: work
runtime    [ synchronize            ]                     waits for the device, for room in its queue and for batches
                                                          are not what makes a first call long
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.launches.blocked import blocked_intervals
from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.metrics.set_aside.loading import loading_rows
from tb_steptime.metrics.set_aside.start_up import firsts, set_up_calls
from tb_steptime.trace.host_ranges import is_host_range
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality.memory_calls import allocation_retries
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, distinct_in

#: Shorter ones are not worth a name; the host's noise makes some of a few milliseconds.
FIRST_CALL_NS = 10_000_000
#: A batch that is converted on the CPU as it is copied takes a tenth of a second at most.
SURELY_NS = 500_000_000
#: Calls that set up or load take such a share of an op that does.
SET_UP_FRACTION = 0.1


def first_calls(trace: Trace) -> Int64:
    """Rows of these ops and ranges on the threads of the training, in time order. One around others is among them where
    it is as long without them."""
    events, rows = trace.events, _of_long_names(trace)
    start, end = events.start_ns[rows], events.ends(rows)
    waits, found = blocked_intervals(trace) | loader_intervals(trace) | _retries(trace), np.empty(0, np.int64)
    for row in firsts(trace, rows, FIRST_CALL_NS, events.dur_ns[rows] - waits.overlap_ns(start, end))[::-1].tolist():
        alike = events.name[rows] == events.name[row]
        without = waits | Intervals.union(events.start_ns[found], events.ends(found))
        own_ns = events.dur_ns[rows[alike]] - without.overlap_ns(start[alike], end[alike])
        if row in firsts(trace, rows[alike], FIRST_CALL_NS, own_ns) and _sets_up(trace, row, rows[alike]):
            found = np.append(found, row)
    return np.sort(found)


def _retries(trace: Trace) -> Intervals:
    """While an allocation that failed is tried again, which may happen to any op in any step."""
    rows = allocation_retries(trace).rows
    return Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))


def _of_long_names(trace: Trace) -> Int64:
    """Ops and ranges of every name that one of them takes long under, on threads that train or launch."""
    events, call = trace.events, find_launches(trace).call
    threads = np.zeros(len(trace.threads), bool)
    threads[[*training_threads(trace), *autograd_threads(trace)]] = True
    threads[distinct_in(events.thread[call[call >= 0]])] = True
    mask = is_host_range(trace) & threads[events.thread]
    long = np.zeros(len(trace.strings), bool)
    long[events.name[mask & (events.dur_ns >= FIRST_CALL_NS)]] = True
    return np.flatnonzero(mask & long[events.name])


def _sets_up(trace: Trace, row: int, alike: Int64) -> bool:
    """Whether the length cannot come from the op's own work: a later step shows the same op short. Of what comes in one
    step only, an op that launches is believed where calls in it set up or load, or where no work on the host takes as
    long."""
    step = np.searchsorted(find_steps(trace).start_ns, trace.events.start_ns[alike], side="right")
    if not has_device_activity(trace):
        return bool(step[-1] > step[0])
    if not _launches(trace, row):
        return False
    calls = np.concatenate((set_up_calls(trace), loading_rows(trace)))
    inside_ns = int(trace.events.dur_ns[calls[_inside(trace, row, calls)]].sum())
    length = int(trace.events.dur_ns[row])
    sure = length >= SURELY_NS or inside_ns >= SET_UP_FRACTION * length
    return bool(step[-1] > step[0]) or (sure and trace.strings[int(trace.events.name[row])].startswith("aten::"))


def _launches(trace: Trace, row: int) -> bool:
    """Whether work is launched inside the op."""
    call = find_launches(trace).call
    return bool(_inside(trace, row, call[call >= 0]).any())


def _inside(trace: Trace, row: int, rows: Int64 | Int32) -> Bool:
    """Which of some events are within another one, on its thread."""
    events, end = trace.events, trace.events.start_ns[row] + trace.events.dur_ns[row]
    within: Bool = (events.thread[rows] == events.thread[row]) & (events.start_ns[rows] >= events.start_ns[row])
    within &= events.ends(rows) <= end
    return within
