"""Finds a clock of the host that is set back while it records.

thread, as called     [1][2][3][4][5][6][7][8]
as recorded           [1][2][3][4]
                         [5][6][7][8]              set back by three ops: 5 begins before 2 does

The profiler numbers ops as they are called, so on each thread a greater number comes later: no op of 60 real recordings
breaks this. Some time of such a recording is there twice, so no length that spans the instant is known, and by how much
the clock was set back is known only to the length of an op: nothing is repaired. Recordings that were joined into one
file count from the start again, but their times do not overlap. If they do, as where a tool merges the files of ranks,
numbers occur twice.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.text import Finding, ns
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64, Kind

#: Least fall: the start of two ops may be written to the microsecond.
TICK_NS = 2_000
#: Minimum number of ops that begin before one that was called earlier. Fewer may have been written in another order.
FEWEST_OPS = 3
#: Number of falls that are examined, the largest first: a clock is set back once, or a few times.
_MOST_FALLS = 100


def clock_step(trace: Trace) -> Finding | None:
    """Returns the finding about a clock that is set back, or None if all times are in the order of calls."""
    falls_ns = [
        _largest_fall_ns(numbers, trace.events.start_ns[rows])
        for rows, numbers in _numbered_ops(trace)
        if (np.diff(numbers) < 0).any()
    ]
    step_ns = max(falls_ns, default=0)
    if step_ns <= TICK_NS:
        return None
    return Finding("clock_set_back", "said", ("launches", "host_time", "steps"), "none", values={"step": ns(step_ns)})


def _numbered_ops(trace: Trace) -> list[tuple[Int64, Int64]]:
    """Returns the rows of the ops of each thread, in time order, and their numbers."""
    events, ops = trace.events, trace.events.rows(Kind.CPU_OP)
    ops = ops[events.external_id[ops] > 0]
    ops = ops[np.argsort(events.thread[ops], kind="stable")]
    by_thread = np.split(ops, np.flatnonzero(np.diff(events.thread[ops])) + 1)
    return [(rows, events.external_id[rows].astype(np.int64)) for rows in by_thread]


def _largest_fall_ns(numbers: Int64, start_ns: Int64) -> int:
    """Returns the largest time by which an op begins earlier than the op called before it. It counts only if several
    later ops begin before that one, and the ops from before and after it overlap in time. Returns 0 if none does, or if
    the numbers occur twice."""
    order = np.argsort(numbers, kind="stable")
    if (np.diff(numbers[order]) == 0).any():
        return 0
    start_ns = start_ns[order]
    first_before = np.minimum.accumulate(start_ns)[:-1]
    last_after = np.maximum.accumulate(start_ns[::-1])[::-1][1:]
    fall = np.where(first_before < last_after, start_ns[:-1] - start_ns[1:], 0)
    for place in np.argsort(-fall, kind="stable")[:_MOST_FALLS].tolist():
        if (start_ns[place + 1 :] < start_ns[place]).sum() >= FEWEST_OPS:
            return int(fall[place])
    return 0
