"""Waits that the profiler of a device does not record, although it records what submits work.

Waits for copies to the CPU, of Intel's XPU:

op        [aten::_local_scalar_dense                 ]
call         [urEnqueueUSMMemcpy]                           as recorded
call         [urEnqueueUSMMemcpy                ]           until the copy has arrived, as here
device    kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk[copy]

Kineto enables the one class of calls that submits kernels and memory operations (XpuptiActivityApi:
PTI_API_CLASS_GPU_OPERATION_CORE). Waits such as urEventWait occur in no such file; the op that waits ends after its
copy, and its time would count as work of the CPU. An op that ends before its copy did not wait for it, and neither did
one whose thread went on to another op or call meanwhile.

Waits for events of a GPU, in which other streams still use memory:

op        [aten::empty                                         ]
call         [cudaMalloc]                  [cudaFree][cudaMalloc]        as recorded
call         [cudaMalloc                  ][cudaFree][cudaMalloc]        until the events have occurred, as here
device    kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk

Kineto left out cudaEventSynchronize up to 2023 (CuptiActivityProfiler.cpp: "Don't care about cudaEvents").
An allocator whose allocation failed waits for such events before it frees its cache, and does nothing else that takes
long (CUDACachingAllocator.cpp: release_cached_blocks begins with synchronize_and_free_events).
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.text import Affected, Finding, count, ns, text
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named
from tb_steptime.trace.nesting import innermost, op_rows
from tb_steptime.trace.ops import SYNC_CALL
from tb_steptime.trace.quality.memory_calls import allocation_retries
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind, distinct_in

#: Copies from a device to memory of the host, pinned or not, as Kineto names them for Intel's devices.
_TO_HOST = expression(r"Memcpy D2[MH]\b")

_AFFECTS: tuple[Affected, ...] = ("launches", "host_time")


def with_waits(trace: Trace) -> Trace:
    """Returns the trace in which calls last until the copies that they wait for; it is unchanged where the device's
    waits are recorded, or its calls are not."""
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


#: Between two calls the allocator itself takes microseconds.
LEAST_WAIT_NS = 100_000


def with_event_waits(trace: Trace) -> Trace:
    """Returns the trace in which allocations that fail last until the allocator frees memory; it is unchanged where
    calls between the two are recorded."""
    retries, events = allocation_retries(trace), trace.events
    if not retries.times:
        return trace
    waited = retries.frees_ns - events.ends(retries.failed)
    waits = (waited >= LEAST_WAIT_NS) & (_next_start(trace, retries.failed) == retries.frees_ns)
    if not waits.any():
        return trace
    dur = events.dur_ns.copy()
    dur[retries.failed[waits]] += waited[waits].astype(dur.dtype)
    values = {"count": count(int(waits.sum())), "time": ns(int(waited[waits].sum()))}
    finding = Finding("event_waits_inferred", "repaired", _AFFECTS, "medium", int(waits.sum()), None, values)
    return replace(trace, events=replace(events, dur_ns=dur), repaired=(*trace.repaired, finding), memo={})


def _waits(trace: Trace) -> tuple[Int64, Int64]:
    """Returns the rows of the calls that wait for a copy, ascending, and when the copy ends, in ns."""
    events, launches = trace.events, find_launches(trace)
    copies = np.flatnonzero((events.kind[launches.activity] == Kind.MEMCPY) & (launches.call >= 0))
    copies = copies[are_named(trace, launches.activity[copies], _TO_HOST.match)]
    call = launches.call[copies].astype(np.int64)
    arrived = events.ends(launches.activity[copies])
    op = innermost(trace, op_rows, call)
    waits = (op >= 0) & (events.ends(call) < arrived) & (arrived <= events.ends(np.maximum(op, 0)))
    waits &= arrived <= _next_start(trace, call)
    rows = distinct_in(call[waits])
    ends = np.zeros(len(rows), np.int64)
    np.maximum.at(ends, np.searchsorted(rows, call[waits]), arrived[waits])
    return rows, ends


def _next_start(trace: Trace, rows: Int64) -> Int64:
    """Returns when the next op or call of the same thread begins after the end of each of these rows."""
    events = trace.events
    begins = events.rows(Kind.CPU_OP, *CALL_KINDS)
    later = np.full(len(rows), NEVER)
    for thread in distinct_in(events.thread[rows]).tolist():
        on_thread = events.thread[rows] == thread
        start = events.start_ns[begins[events.thread[begins] == thread]]
        place = np.searchsorted(start, events.ends(rows[on_thread]))
        later[on_thread] = np.append(start, NEVER)[place]
    return later
