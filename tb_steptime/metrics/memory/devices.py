"""Whose memory was recorded, and how much of it is allocated and reserved over time.

event      +4   +4   -4   +8   -8
allocated   4    8    4   12    4          as the allocator said it after each event
reserved   10   10   10   20   20          what the caching allocator holds of the device; the CPU has none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Int64

NOT_RECORDED = Reason("memory_not_recorded")
NO_TOTALS = Reason("memory_without_totals")

#: torch's number of the CPU among the kinds of devices.
CPU = 0


class Place(NamedTuple):
    """A device with memory of its own: torch's number of its kind, and its number among those; -1 for the CPU."""

    type: int
    device: int


@dataclass(frozen=True, eq=False)
class Curve:
    """Over the events of a device, in time order.

    row        int64, of the memory table
    ts         int64, ns
    allocated  int64, bytes from each event on
    reserved   likewise; None for a device without a caching allocator
    whole      allocated is all of the device; False where the file has no totals: then it counts from the first event
    """

    row: Int64
    ts: Int64
    allocated: Int64
    reserved: Int64 | None
    whole: bool

    @property
    def before(self) -> int:
        """Allocated before the first event, bytes; 0 where it is not known."""
        return int(self.allocated[0] - self.first_bytes) if len(self.row) else 0

    first_bytes: int = 0

    def at(self, instants: Int64) -> Int64:
        """Allocated at each instant, bytes: after the last event that is not later."""
        place = np.searchsorted(self.ts, instants, side="right") - 1
        return np.where(place >= 0, self.allocated[place], self.before)


def memory_devices(trace: Trace) -> tuple[Place, ...]:
    """GPUs by their number, then the CPU; none where memory was not recorded."""
    table = trace.memory
    places = [
        Place(kind, device)
        for kind in np.unique(table.device_type).tolist()
        for device in np.unique(table.device[table.device_type == kind]).tolist()
    ]
    return tuple(sorted(places, key=lambda place: (place.type == CPU, place)))


def memory_name(trace: Trace, place: Place) -> str:
    """What the device is called: "CPU", or as the trace names it."""
    return "CPU" if place.type == CPU else trace.device_name(place.device)


@shared()
def curve(trace: Trace, place: Place) -> Curve:
    """Of one of `memory_devices`."""
    table = trace.memory
    row = np.flatnonzero((table.device_type == place.type) & (table.device == place.device))
    size, allocated, reserved = table.bytes[row], table.allocated[row], table.reserved[row]
    whole = bool((allocated >= 0).all())
    return Curve(
        row=row,
        ts=table.ts[row],
        allocated=allocated if whole else np.cumsum(size),
        reserved=reserved if bool((reserved > 0).any()) else None,
        whole=whole,
        first_bytes=int(size[0]) if len(size) else 0,
    )
