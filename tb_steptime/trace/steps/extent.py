"""From where to where a recording holds the job: the window of a recording that is one step.

    host    sync  op op op [cudaGraphLaunch]   [synchronize]        sync       the profiler's own, of an idle device
    device                       kkkkkkkkkkkkkkkkkkkkkk
    window        |---------------------------------|

Ops, ranges of the user and calls of the runtime count, and what they launch. torch.profiler synchronizes as it starts
and stops; where nothing is left to wait for, that is no work of the job. Threads that only ask the runtime for its
state, such as NCCL's watchdog, do that for as long as the process lives, and show no work either.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import named_in
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in

#: Calls that wait until a device has nothing left to do.
_SYNCHRONIZE = re.compile(r"(cuda|cu|hip)(Device|Ctx)Synchronize")
#: A synchronize of an idle device takes 5 to 20 us.
IDLE_SYNCHRONIZE_NS = 50_000


class Extent(NamedTuple):
    """When the job's first recorded work begins and its last one ends, on the host; ns."""

    start_ns: int
    end_ns: int


@shared
def recorded_extent(trace: Trace) -> Extent:
    """By ops, ranges and calls; by all events where the host is not recorded; 0, 0 without events."""
    rows = np.concatenate((trace.events.rows(Kind.CPU_OP, Kind.USER), _calls_of_the_job(trace)))
    if not len(rows):
        rows = np.arange(len(trace.events))
    if not len(rows):
        return Extent(0, 0)
    return Extent(int(trace.events.start_ns[rows].min()), int(trace.events.ends(rows).max()))


def launched_before(trace: Trace, activity: Int64) -> Bool:
    """Which of these activities were launched before the recording, as far as numbers tell. Launches are numbered in
    order, so an activity with a greater number than the first recorded launch has lost its call, and is the recording's
    own. Without any recorded launch all are."""
    launches, number = find_launches(trace), trace.events.correlation_id
    known = number[launches.activity[launches.call >= 0]]
    before: Bool = number[activity] < known.min(initial=np.iinfo(number.dtype).max) if len(known) else activity < 0
    return before


def _calls_of_the_job(trace: Trace) -> Int64:
    """Calls of the threads that compute or launch, without synchronizes of an idle device."""
    events, calls = trace.events, trace.events.rows(Kind.RUNTIME, Kind.DRIVER)
    if not len(calls):
        return calls
    launching = find_launches(trace).call
    working = np.concatenate((events.rows(Kind.CPU_OP, Kind.USER), launching[launching >= 0]))
    threads = distinct_in(events.thread[working]) if len(working) else distinct_in(events.thread[calls])
    waits = named_in(trace, calls, lambda name: _SYNCHRONIZE.match(name) is not None)[events.name[calls]]
    idle = waits & (events.dur_ns[calls] < IDLE_SYNCHRONIZE_NS)
    return calls[np.isin(events.thread[calls], threads) & ~idle]
