"""Waits for copies to the CPU that the profiler of a device does not record, although it records what submits work.

op        [aten::_local_scalar_dense                 ]
call         [urEnqueueUSMMemcpy]                           as recorded
call         [urEnqueueUSMMemcpy                ]           until the copy has arrived, as here
device    kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk[copy]

For Intel's XPU, Kineto enables the one class of calls that submits kernels and memory operations (XpuptiActivityApi:
PTI_API_CLASS_GPU_OPERATION_CORE). Waits such as urEventWait occur in no such file; the op that waits ends after its
copy, and its time would count as work of the CPU. An op that ends before its copy did not wait for it, and neither did
one whose thread went on to another op or call meanwhile.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.text import Affected, Finding, count, ns, text
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named
from tb_steptime.trace.nesting import innermost, op_rows
from tb_steptime.trace.ops import SYNC_CALL
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind, distinct_in

#: Copies from a device to memory of the host, pinned or not, as Kineto names them for Intel's devices.
_TO_HOST = expression(r"Memcpy D2[MH]\b")

_AFFECTS: tuple[Affected, ...] = ("launches", "host_time")


def with_waits(trace: Trace) -> Trace:
    """The trace in which calls last until the copies that they wait for; unchanged where the device's waits are
    recorded, or its calls are not."""
    calls = trace.events.rows(*CALL_KINDS)
    if trace.job.accelerator != "XPU" or not len(calls) or len(rows_named(trace, CALL_KINDS, SYNC_CALL.match)):
        return trace
    rows, ends = _waits(trace)
    device = {"device": text(trace.job.accelerator)}
    if not len(rows):
        finding = Finding("waits_not_recorded", "said", _AFFECTS, "medium", values=device)
        return replace(trace, repaired=(*trace.repaired, finding), memo={})
    dur = trace.events.dur_ns.copy()
    waited = ends - trace.events.ends(rows)
    dur[rows] += waited.astype(dur.dtype)
    values = {"count": count(len(rows)), "time": ns(int(waited.sum()))} | device
    finding = Finding("waits_inferred", "repaired", _AFFECTS, "medium", len(rows), None, values)
    return replace(trace, events=replace(trace.events, dur_ns=dur), repaired=(*trace.repaired, finding), memo={})


def _waits(trace: Trace) -> tuple[Int64, Int64]:
    """Rows of the calls that wait for a copy, ascending, and when the copy ends; ns."""
    events, launches = trace.events, find_launches(trace)
    copies = np.flatnonzero((events.kind[launches.activity] == Kind.MEMCPY) & (launches.call >= 0))
    copies = copies[are_named(trace, launches.activity[copies], _TO_HOST.match)]
    call, arrived = launches.call[copies].astype(np.int64), events.ends(launches.activity[copies])
    op = innermost(trace, op_rows, call)
    waits = (op >= 0) & (events.ends(call) < arrived) & (arrived <= events.ends(np.maximum(op, 0)))
    waits &= arrived <= _next_start(trace, call)
    rows = distinct_in(call[waits])
    ends = np.zeros(len(rows), np.int64)
    np.maximum.at(ends, np.searchsorted(rows, call[waits]), arrived[waits])
    return rows, ends


def _next_start(trace: Trace, rows: Int64) -> Int64:
    """When the next op or call of the same thread begins after the end of each of these rows."""
    events = trace.events
    begins = events.rows(Kind.CPU_OP, *CALL_KINDS)
    later = np.full(len(rows), np.iinfo(np.int64).max)
    for thread in distinct_in(events.thread[rows]).tolist():
        on_thread = events.thread[rows] == thread
        start = events.start_ns[begins[events.thread[begins] == thread]]
        place = np.searchsorted(start, events.ends(rows[on_thread]))
        later[on_thread] = np.append(start, np.iinfo(np.int64).max)[place]
    return later
