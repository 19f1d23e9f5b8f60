"""Calls that block the host: recognised by name, and copies that stage pageable memory, whatever their name.

runtime   [cudaStreamSynchronize]  [cudaMemcpyAsync       ]  [cudaMalloc]
device    kkkkkkkkkkkkkkkkkkkkkk     Memcpy HtoD (Pageable)                   sync, pageable copy, allocator
"""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, UInt8, distinct_in, is_in

#: Calls that return only when the device has finished something. EventQuery and StreamWaitEvent do not block the host.
SYNC_CALL = expression(
    r"(cuda|cu|hip)(Device|Ctx|Stream|Event)Synchronize"
    r"|ur(QueueFinish|EventWait)$|ze(CommandQueue|CommandListHost|EventHost|FenceHost)Synchronize"  # XPU
)
COPY_CALL = expression(
    r"(cuda|hip)Memcpy(2D|3D|ToSymbol|FromSymbol)?$|(cu|hip)Memcpy(DtoH|HtoD|DtoD)(_v2)?$|hipMemcpyWithStream"
)
#: Copy calls with asynchronous names that still wait if the memory is pageable.
ASYNC_COPY_CALL = expression(r"(cuda|hip)Memcpy(2D|3D)?Async")
PAGEABLE_COPY = expression(r"Pageable")
#: Calls that allocate or free memory of the device or pinned memory of the host; growing segments are mapped.
ALLOCATOR_CALL = expression(
    r"(cuda|hip)(Ext)?(Malloc|Free|Host(Alloc|Malloc|Free|Register|Unregister))"
    r"|cuMem(Host)?(Alloc|Free|Create|Release|Map|Unmap|SetAccess|AddressReserve|AddressFree|HostRegister)"
    r"|hipMem(Create|Release|Map|Unmap|SetAccess|AddressReserve|AddressFree)"
)


class Blocks(enum.IntEnum):
    """How a call of the runtime or the driver blocks its thread."""

    NOT = 0
    SYNC = 1  # it waits for the device
    COPY = 2  # it copies and waits
    PAGEABLE_COPY = 3  # it stages pageable memory and waits, whatever its name says
    ALLOCATOR = 4  # it allocates or frees memory, which may wait for the device


#: Kinds that wait for the device: a host that never waited would not need these calls.
WAITING = (Blocks.SYNC, Blocks.COPY, Blocks.PAGEABLE_COPY)


class BlockingCalls(msgspec.Struct, frozen=True, eq=False):
    """Rows of the event table, ascending, and the `Blocks` of each. A call inside another one (the driver's inside the
    runtime's) is left out."""

    row: Int64
    kind: UInt8


@shared
def blocking_calls(trace: Trace) -> BlockingCalls:
    """Every call that blocks its thread, on any thread and at any time of the recording."""
    events = trace.events
    calls = events.rows(*CALL_KINDS)
    by_name = _blocks_by_name(trace, calls)
    named = calls[by_name[events.name[calls]] != Blocks.NOT]
    pageable = _pageable_copies(trace)
    rows = distinct_in(np.concatenate((named, pageable)))
    kind = by_name[events.name[rows]]
    kind[is_in(rows, pageable)] = Blocks.PAGEABLE_COPY
    outer = _outer(trace, rows)
    return BlockingCalls(rows[outer], kind[outer])


def _blocks_by_name(trace: Trace, calls: Int64) -> UInt8:
    """For each string of the table how a call of that name blocks its thread; each name is tested once."""
    result = np.zeros(len(trace.strings), np.uint8)
    for name in distinct_in(trace.events.name[calls]).tolist():
        result[name] = _blocks(trace.strings[name])
    return result


def _blocks(name: str) -> Blocks:
    patterns = ((SYNC_CALL, Blocks.SYNC), (COPY_CALL, Blocks.COPY), (ALLOCATOR_CALL, Blocks.ALLOCATOR))
    return next((kind for pattern, kind in patterns if pattern.match(name)), Blocks.NOT)


def _outer(trace: Trace, rows: Int64) -> Bool:
    """Which calls are not inside another one of them on their thread."""
    events, outer = trace.events, np.zeros(len(rows), bool)
    for thread in distinct_in(events.thread[rows]).tolist():
        mine = np.flatnonzero(events.thread[rows] == thread)
        reach = np.maximum.accumulate(events.ends(rows[mine]))
        outer[mine] = np.append(True, events.start_ns[rows[mine[1:]]] >= reach[:-1])
    return outer


def _pageable_copies(trace: Trace) -> Int64:
    """Copy calls that stage pageable memory: the wait is inside the call."""
    call = find_launches(trace).calls_of(rows_named(trace, (Kind.MEMCPY,), PAGEABLE_COPY.search))
    return distinct_in(call[call >= 0])
