"""Allocations with their frees, joined on the address.

address 64   +512 ......... -512   +256 ...            two allocations, the second one alive at the end
address 96   ...... -128                               memory from before the recording
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.devices import Place
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool, Int32, Int64

#: Stands for "not freed": later than any event.
NEVER = np.iinfo(np.int64).max


class Allocations(msgspec.Struct, frozen=True, eq=False):
    """Rows of the memory table, ascending by birth.

    born   int32, row of the allocation
    died   int32, row of its free; -1 if it was not freed while recording. If the address was allocated again without a
           recorded free, the row of that allocation
    """

    born: Int32
    died: Int32

    def __len__(self) -> int:
        return len(self.born)


def are_on(trace: Trace, place: Place) -> Bool:
    """Which of the allocations are of this device's memory."""
    born, table = allocations(trace).born, trace.memory
    return np.asarray((table.device_type[born] == place.type) & (table.device[born] == place.device), bool)


@shared
def allocations(trace: Trace) -> Allocations:
    """Every allocation whose address was recorded; none in a file of 2021."""
    table = trace.memory
    known = np.flatnonzero((table.addr >= 0) & (table.bytes != 0))
    order = known[np.lexsort((known, table.addr[known], table.device[known], table.device_type[known]))]
    keys = (table.addr[order], table.device[order], table.device_type[order])
    follows = np.append(np.logical_and.reduce([key[1:] == key[:-1] for key in keys]), False) if len(order) else order
    is_born = table.bytes[order] > 0
    after = np.append(order[1:], -1)
    died = np.where(follows.astype(bool), after, -1)[is_born]
    born = order[is_born]
    by_birth = np.argsort(born)
    return Allocations(born[by_birth].astype(np.int32), died[by_birth].astype(np.int32))


def sizes(trace: Trace) -> Int64:
    """Bytes of each allocation."""
    return trace.memory.bytes[allocations(trace).born]


@shared
def ends_ns(trace: Trace) -> Int64:
    """When each allocation is freed; NEVER for one that outlives the recording."""
    died = allocations(trace).died
    return np.where(died >= 0, trace.memory.ts[died], NEVER)


def alive(trace: Trace, row: int) -> Bool:
    """Which allocations of its device are alive after this row of the memory table."""
    table, found = trace.memory, allocations(trace)
    here = (table.device_type[found.born] == table.device_type[row]) & (table.device[found.born] == table.device[row])
    result: Bool = here & (found.born <= row) & ((found.died < 0) | (found.died > row))
    return result
