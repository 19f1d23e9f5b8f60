"""Findings from the calls for device memory: memory ran short, or freed memory is not cached for the next allocation.

runtime   [cudaMalloc][cudaFree][cudaFree][cudaMalloc]      one op: the allocation failed, the allocator gave back all
op        [aten::empty_strided                       ]      that it kept, and asked again

runtime   [cudaMalloc] k [cudaMalloc] k [cudaFree] ...      in every op to the end: PYTORCH_NO_CUDA_MEMORY_CACHING
op        [empty     ]   [empty     ]
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text import Finding, code, count, fraction, ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import longest_ranges
from tb_steptime.trace.model import Trace, named_in, rows_named, shared
from tb_steptime.trace.nesting import innermost, op_rows
from tb_steptime.trace.ops import RUNTIME
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind

_MALLOC = expression(rf"{RUNTIME}Malloc$|cuMem(Create|Alloc)(_v2)?$")
FREES = expression(rf"{RUNTIME}Free$|cuMem(Release|Unmap|Free)(_v2)?$")
#: Other calls of the allocator between freeing and allocating again; a library that initialises itself makes further
#: ones.
_BESIDES = expression(
    rf"(cu|{RUNTIME})((Device|Ctx|Stream|Event)(Synchronize|Query)|(Get|Peek(At)?)LastError|MemGetInfo|(Get|Set)Device"
    r"|Mem(SetAccess|Map|AddressFree|AddressReserve)|EventDestroy|StreamIsCapturing|StreamGetCaptureInfo)"
)
_ALLOCATES = expression(r"aten::empty(_strided)?$")

#: A few ops may each have needed new memory. With more calls, and at least this share of allocations calling, there is
#: no cache.
LEAST_CALLS, UNCACHED_FRACTION = 20, 0.5


class Retries(msgspec.Struct, frozen=True, eq=False):
    """Allocations that failed and were tried again after memory had been freed.

    rows              the calls of all retries, as rows of the event table in time order
    failed            the call of each retry that failed
    frees_ns          when each retry begins to free memory
    start_ns, end_ns  when each retry begins and ends
    """

    rows: Int64
    failed: Int64
    frees_ns: Int64
    start_ns: Int64
    end_ns: Int64

    @property
    def times(self) -> int:
        return len(self.start_ns)


@shared
def allocation_retries(trace: Trace) -> Retries:
    """Finds the retries: within one op a call that allocates, calls that free, and a call that allocates again, with
    nothing else in between."""
    calls = trace.events.rows(*CALL_KINDS)
    allocates, frees = (named_in(trace, calls, pattern.match) for pattern in (_MALLOC, FREES))
    if not allocates.any() or not frees.any():  # in most recordings
        return Retries(*[calls[:0]] * 5)
    kind = _kinds(trace, calls, allocates, frees)
    relevant, kind = calls[kind != _NOTHING], kind[kind != _NOTHING]
    op = innermost(trace, op_rows, relevant)
    order = np.lexsort((relevant, trace.events.thread[relevant]))
    bursts = _bursts(kind[order], op[order], trace.events.thread[relevant][order])
    rows = [relevant[order][first : last + 1] for first, last in bursts]
    failed, released, last = (np.array([burst[place] for burst in rows], np.int64) for place in (0, 1, -1))
    start = trace.events.start_ns
    of_all = np.sort(np.concatenate(rows)) if rows else calls[:0]
    return Retries(of_all, failed, start[released], start[failed], trace.events.ends(last))


def waits_of_retries(trace: Trace) -> Int64:
    """Returns the rows of the calls that failed and last until memory is freed, as `with_event_waits` leaves them."""
    retries = allocation_retries(trace)
    return np.sort(retries.failed[trace.events.ends(retries.failed) == retries.frees_ns])


_NOTHING, _OTHER, _ALLOCATION, _RELEASE = range(4)


def _kinds(trace: Trace, calls: Int64, allocates: Bool, frees: Bool) -> Int64:
    """Returns whether each call allocates, frees, is a side call of the allocator, which counts as nothing, or is
    another call. allocates, frees: for each string of the table, whether calls of that name do so."""
    kind = np.full(len(trace.strings), _OTHER, np.int64)
    kind[allocates] = _ALLOCATION
    kind[frees] = _RELEASE
    kind[named_in(trace, calls, _BESIDES.match)] = _NOTHING
    return kind[trace.events.name[calls]]


def _bursts(kind: Int64, op: Int64, thread: Int64) -> list[tuple[int, int]]:
    """Returns the first and last place of each retry: a call that allocates, one or more that free, and one that
    allocates, in one op."""
    bursts: list[tuple[int, int]] = []
    at = np.flatnonzero(kind == _RELEASE)
    for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1):
        first, last = int(run[0]) - 1, int(run[-1]) + 1
        if first < 0 or last >= len(kind) or kind[first] != _ALLOCATION or kind[last] != _ALLOCATION:
            continue
        if op[first] >= 0 and (op[first : last + 1] == op[first]).all() and thread[first] == thread[last]:
            bursts.append((first, last))
    return bursts


def uncached_calls(trace: Trace) -> int:
    """Returns how many calls allocate memory, if nearly every allocation makes one up to the end of the recording, and
    0 otherwise."""
    calls = rows_named(trace, CALL_KINDS, _MALLOC.match)
    if len(calls) < LEAST_CALLS or (trace.memory.device_type > 0).any():
        return 0
    frees = rows_named(trace, CALL_KINDS, FREES.match)
    allocations = rows_named(trace, (Kind.CPU_OP,), _ALLOCATES.match)
    later = allocations[len(allocations) // 2 :]  # a cache that is filling allocates in the first steps
    late_count = int((calls > later[0]).sum()) if len(later) else 0
    each_time = len(later) > 0 and late_count >= UNCACHED_FRACTION * len(later)
    between = int((frees < calls[-1]).sum())  # a cache frees at the end of the program, or when memory runs short
    return len(calls) if each_time and between >= UNCACHED_FRACTION * len(calls) else 0


def memory_findings(trace: Trace) -> list[Finding]:
    findings = []
    retries = allocation_retries(trace)
    if retries.times:
        length = int(trace.events.dur_ns[retries.rows].sum())
        values = {"count": count(retries.times), "time": ns(length)}
        ranges = longest_ranges(retries.start_ns, retries.end_ns)
        findings.append(Finding("memory_short", "said", ("recurrence",), "high", retries.times, None, values, ranges))
    if calls := uncached_calls(trace):
        allocations = len(rows_named(trace, (Kind.CPU_OP,), _ALLOCATES.match))
        values = {
            "count": count(calls),
            "ops": count(allocations),
            "code": code("PYTORCH_NO_CUDA_MEMORY_CACHING"),
            "share": fraction(calls / allocations),
        }
        findings.append(Finding("caching_off", "said", ("memory", "host_time"), count=calls, values=values))
    return findings
