"""Where the job's work begins and ends in a recording: the window of a recording that counts as one step.

    host    sync  op op op [cudaGraphLaunch]   [synchronize]        sync       the profiler's own, of an idle device
    device                       kkkkkkkkkkkkkkkkkkkkkk
    window        |---------------------------------|

Ops, ranges of the user, calls of the runtime and what they launch count as work. If a tenth of the recording lies
before or after these, functions of the user that are called and return there count too, such as one that prepares a
batch in numpy. A shorter time is the profiler's start and end. torch.profiler synchronizes as it starts and stops; if
nothing is left to wait for, that is not work of the job. Threads that only poll the state of the runtime, such as
NCCL's watchdog, do so as long as the process lives, and do not show work either. A file may have events of another
process too, since tools merge files: only processes that launch work count, if any does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import source_frames
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import are_named
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind, distinct_in, is_in

#: Calls that wait until a device has finished all its work.
_SYNCHRONIZE = expression(r"(cuda|cu|hip)(Device|Ctx)Synchronize")
#: A shorter synchronize found the device idle, which takes 5 to 20 us.
IDLE_SYNCHRONIZE_NS = 50_000
#: From this share of the recording on, functions of the user before the first op or after the last one count as work of
#: the job.
PYTHON_FRACTION = 0.1


class Extent(NamedTuple):
    """When the job's first recorded work begins and its last one ends, on the host; ns."""

    start_ns: int
    end_ns: int


@shared
def recorded_extent(trace: Trace) -> Extent:
    """The extent by ops, ranges and calls; by all events if the host is not recorded; 0, 0 without events."""
    rows = _of_launching_processes(
        trace, np.concatenate((trace.events.rows(Kind.CPU_OP, Kind.USER), _calls_of_the_job(trace)))
    )
    if not len(rows):
        rows = np.arange(len(trace.events))
    if not len(rows):
        return Extent(0, 0)
    found = Extent(int(trace.events.start_ns[rows].min()), int(trace.events.ends(rows).max()))
    return _with_functions(trace, found)


def _of_launching_processes(trace: Trace, rows: Int64) -> Int64:
    """Rows of the processes that launch what runs on a device; all of them if no launch is known."""
    call = find_launches(trace).call
    threads = distinct_in(trace.events.thread[call[call >= 0]]).tolist()
    processes = {trace.threads[thread].pid for thread in threads}
    if not processes:
        return rows
    theirs = [number for number, thread in enumerate(trace.threads) if thread.pid in processes]
    return rows[is_in(trace.events.thread[rows], theirs)]


def _with_functions(trace: Trace, found: Extent) -> Extent:
    """Extend it to the first call and the last return of a user's function, if these are far from all ops."""
    events, frames = trace.events, source_frames(trace)
    frames = frames[is_in(events.thread[frames], distinct_in(events.thread[events.rows(Kind.CPU_OP)]))]
    start, end = events.start_ns[frames], events.ends(frames)
    low, high = int(events.start_ns[0]), int(events.end_ns.max())
    inside = (start > low) & (end < high)  # others were called before the recording, or return after it
    begun, over = int(start[inside].min(initial=high)), int(end[inside].max(initial=low))
    least = PYTHON_FRACTION * (high - low)
    return Extent(
        begun if found.start_ns - begun >= least else found.start_ns,
        over if over - found.end_ns >= least else found.end_ns,
    )


def _calls_of_the_job(trace: Trace) -> Int64:
    """Calls of the threads that compute or launch, without synchronizes of an idle device."""
    events, calls = trace.events, trace.events.rows(*CALL_KINDS)
    if not len(calls):
        return calls
    launching = find_launches(trace).call
    working = np.concatenate((events.rows(Kind.CPU_OP, Kind.USER), launching[launching >= 0]))
    threads = distinct_in(events.thread[working]) if len(working) else distinct_in(events.thread[calls])
    waits = are_named(trace, calls, _SYNCHRONIZE.match)
    idle = waits & (events.dur_ns[calls] < IDLE_SYNCHRONIZE_NS)
    return calls[is_in(events.thread[calls], threads) & ~idle]
