"""How much memory of each device is allocated and reserved over time.

event      +4   +4   -4   +8   -8
allocated   4    8    4   12    4          as the allocator said it after each event
reserved   10   10   10   20   20          what the caching allocator holds of the device; the CPU has none

Tensors that a loader's worker hands over are in shared memory, which is mapped and not allocated. torch writes these
events among those of the CPU, with a total of 0 allocated bytes and their own size as reserved:

event      +4  map +9   +4  unmap -9   -8
said        4       0    8         0    0
allocated   4      13   17         8    0   what the allocator said last, and what is mapped

The bins of a curve have its exact minimum and maximum, at any zoom.

allocated   2 2 5 5 9 1 1 1
bins        |--a--|--b--|--c--|         a: 2-5, b: 1-9, c: 1-1; a bin begins with what is allocated before it
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import Int64, distinct

NOT_RECORDED = Reason("memory_not_recorded")
NO_TOTALS = Reason("memory_without_totals")

#: The number that torch gives the CPU device type.
CPU = 0


class Place(NamedTuple):
    """A device with memory of its own: torch's number of its type, and its number among devices of that type, which is
    -1 for the CPU."""

    type: int
    device: int


class Curve(msgspec.Struct, frozen=True, eq=False):
    """The memory over the events of a device, in time order.

    row        int64, row of the memory table
    ts         int64, ns
    allocated  int64, bytes from each event on
    reserved   likewise; None for a device without a caching allocator
    whole      whether allocated includes all memory of the device; False if the file has no totals, so that it counts
               from the first event
    """

    row: Int64
    ts: Int64
    allocated: Int64
    reserved: Int64 | None
    whole: bool
    first_bytes: int = 0

    @property
    def before(self) -> int:
        """The bytes allocated before the first event; 0 if unknown."""
        return int(self.allocated[0] - self.first_bytes) if len(self.row) else 0

    def at(self, instants: Int64) -> Int64:
        """Returns the bytes allocated at each instant, including the events at that instant."""
        place = np.searchsorted(self.ts, instants, side="right") - 1
        return np.where(place >= 0, self.allocated[place], self.before)


def memory_devices(trace: Trace) -> tuple[Place, ...]:
    """Returns the GPUs by number, then the CPU; none if memory was not recorded."""
    table = trace.memory
    places = [
        Place(kind, device)
        for kind in distinct(table.device_type).tolist()
        for device in distinct(table.device[table.device_type == kind]).tolist()
    ]
    return tuple(sorted(places, key=lambda place: (place.type == CPU, place)))


def memory_name(trace: Trace, place: Place) -> str:
    """Returns the device's name, which is "CPU" or the name in the trace."""
    return "CPU" if place.type == CPU else trace.device_name(place.device)


@shared
def curve(trace: Trace, place: Place) -> Curve:
    """Returns the curve of one of `memory_devices`."""
    table = trace.memory
    row = np.flatnonzero((table.device_type == place.type) & (table.device == place.device))
    size = table.bytes[row]
    allocated = table.allocated[row]
    reserved = table.reserved[row]
    whole = bool((allocated >= 0).all())
    if whole and place.type == CPU:
        allocated = _with_mapped(size, allocated, table.addr[row])
    return Curve(
        row=row,
        ts=table.ts[row],
        allocated=allocated if whole else np.cumsum(size),
        reserved=reserved if place.type != CPU and bool((reserved > 0).any()) else None,
        whole=whole,
        first_bytes=int(size[0]) if len(size) else 0,
    )


def _with_mapped(size: Int64, recorded: Int64, addr: Int64) -> Int64:
    """Returns the recorded totals of the CPU's allocator, each with the shared memory that is mapped at that time. An
    allocation never leaves a total of 0, and a free only does if it frees everything. Memory that is unmapped at an
    address without an earlier map was there from the start."""
    last = np.maximum.accumulate(np.where(recorded > 0, np.arange(len(recorded)), -1))
    mapped = (recorded == 0) & ((size > 0) | (np.where(last >= 0, recorded[last], 0) + size != 0))
    own = np.flatnonzero(~mapped)
    if len(own) == len(recorded):
        return recorded
    first = size[mapped][np.unique(addr[mapped], return_index=True)[1]]
    shared_bytes: Int64 = np.cumsum(np.where(mapped, size, 0)) - int(first[first < 0].sum())
    place = np.cumsum(~mapped) - 1
    if not len(own):
        return shared_bytes
    totals: Int64 = np.where(place >= 0, recorded[own[place]], recorded[own[0]] - size[own[0]])
    return totals + shared_bytes


class MemoryBins(msgspec.Struct, frozen=True):
    """[start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins. least, most: minimum and
    maximum allocated bytes. reserved_most: maximum reserved bytes; empty without a caching allocator."""

    start_ns: int
    end_ns: int
    least: list[int]
    most: list[int]
    reserved_most: list[int]


def memory_bins(memory: Curve, start_ns: int, end_ns: int, bins: int) -> MemoryBins:
    """Returns the bins of the window, at most this many, none shorter than a nanosecond."""
    edges = bin_edges(start_ns, end_ns, max(1, min(bins, end_ns - start_ns)))
    least, most = extremes(memory.ts, memory.allocated, memory.before, edges)
    if memory.reserved is None:
        return MemoryBins(start_ns, end_ns, least.tolist(), most.tolist(), [])
    _, reserved = extremes(memory.ts, memory.reserved, int(memory.reserved[0]), edges)
    return MemoryBins(start_ns, end_ns, least.tolist(), most.tolist(), reserved.tolist())


def bin_edges(start_ns: int, end_ns: int, bins: int) -> Int64:
    """Returns the edges of the bins, computed without products that would overflow for a window of years."""
    whole, rest = divmod(end_ns - start_ns, bins)
    number = np.arange(bins + 1, dtype=np.int64)
    return start_ns + number * whole + number * rest // bins


def extremes(ts: Int64, values: Int64, before: int, edges: Int64) -> tuple[Int64, Int64]:
    """Returns the least and the most of each bin. values[i] holds from ts[i] on, and `before` until the first of
    them."""
    all_of = np.append(before, values)
    first = np.searchsorted(ts, edges[:-1], side="right")  # an event on an edge belongs to the bin that begins there
    end = np.maximum(np.searchsorted(ts, edges[1:], side="left"), first) + 1
    pairs = np.stack((first, end), axis=1).ravel()
    padded = np.append(all_of, all_of[-1])
    return np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]
