"""Limits on the values of columns. A value outside counts as missing, so that nothing later overflows or indexes
wrongly.

A file may contain any number: device -2147483648, a grid of 10**18 blocks, a time in the year 2262. The limits are far
beyond what hardware and PyTorch use, and low enough that sums and products over a whole trace fit 64 bits.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from tb_steptime.trace.kineto.columns import NO_DURATION, Columns
from tb_steptime.trace.kineto.numbers import TOO_MANY_BYTES, UNKNOWN, products
from tb_steptime.trace.table import Bool, EventTable, Int64, Kind, MemoryTable, StringTable, distinct_in, is_in

#: Maximum distance of an event from the others, and maximum duration: a day. No recording is as long, and a float
#: holding that many ns still has six more digits.
MOST_NS = 86_400 * 10**9
#: A gap after events at time 0 that may still lie within one recording. If times count from months ago, the other
#: events are hours away.
_LONG_GAP_NS = 60 * 10**9
#: Maximum product of a grid's three sizes: hardware allows 2**31 x 2**16 x 2**16. The same limit applies to a block as
#: it is written, since some profilers write all work-items there (`mended`).
_MOST_BLOCKS = 2.0**52


#: Maximum length of a name, in characters. The longest in our traces, a kernel's name, has 5,123. Every table contains
#: names in full.
MOST_CHARACTERS = 2**14
#: Shorter maximum, used if all names longer than it have more than MOST_OF_LONG characters together; few kernels' names
#: are as long.
USUAL_CHARACTERS, MOST_OF_LONG = 2**11, 2**19

#: Maximum total length of all kernel names, in characters. Rules read each of them. It is forty times as much as in any
#: of our traces.
MOST_OF_KERNELS = 2**21


class Limit(msgspec.Struct, frozen=True):
    """Values from 0 to `most` are possible; `what`: the note that counts values outside."""

    most: float
    what: str


_IDS, _SIZES, LAUNCHES = "impossible-ids", "impossible-sizes", "impossible-launches"
TIMES, NAMES, KERNELS = "impossible-times", "long-names", "many-kernels"
_LIMITS = {
    "device": Limit(127, _IDS),  # of one machine, whose GPUs may be partitioned; each is compared with all others
    "stream": Limit(2**24, _IDS),
    "correlation": Limit(2**63 - 1, _IDS),
    "external": Limit(2**63 - 1, _IDS),
    "sequence": Limit(2**62, _IDS),
    "bytes": Limit(TOO_MANY_BYTES, _SIZES),
    "elements": Limit(TOO_MANY_BYTES, _SIZES),
    "group_size": Limit(2**24, _SIZES),
    "exchange_number": Limit(2**62, _IDS),
    "peer": Limit(2**24, _IDS),
    "graph": Limit(2**63 - 1, _IDS),
    "graph_node": Limit(2**63 - 1, _IDS),
    "lane": Limit(2**24, _IDS),
    "annotated_stream": Limit(2**24, _IDS),
    "forward_thread": Limit(2**31 - 1, _IDS),
    "registers": Limit(2**12, LAUNCHES),
    "shared_memory": Limit(2**30, LAUNCHES),
    "shaped_memory": Limit(2**30, LAUNCHES),
    "blocks_per_sm": Limit(2**32, LAUNCHES),
    "occupancy": Limit(100, LAUNCHES),
}
#: Columns with three sizes per row.
_TRIPLES = {"grid", "block", "shaped_grid", "shaped_block"}


def possible_names(names: StringTable, impossible: Counter[str]) -> StringTable:
    """Shortens names that are too long, and keeps them distinct. `impossible` counts them."""
    lengths = np.array([len(name) for name in names.strings], np.int64)
    in_all = int(lengths[lengths > USUAL_CHARACTERS].sum())
    most = MOST_CHARACTERS if in_all <= MOST_OF_LONG else USUAL_CHARACTERS
    long = np.flatnonzero(lengths > most).tolist()
    if not long:
        return names
    impossible[NAMES] += len(long)
    strings = list(names.strings)
    for number in long:
        strings[number] = f"{strings[number][:most]}… (name {number}, {len(strings[number])} characters)"
    return StringTable(strings)


def with_fewer_kernels(
    names: StringTable, events: EventTable, impossible: Counter[str]
) -> tuple[StringTable, EventTable]:
    """Gives one shared name to the kernels whose own names would exceed the limit of all names together. `impossible`
    counts these names."""
    kernels = events.kind == Kind.KERNEL
    used = distinct_in(events.name[kernels])
    room = np.cumsum([len(names[number]) for number in used.tolist()]) <= MOST_OF_KERNELS
    if room.all():
        return names, events
    rest = used[~room]
    impossible[KERNELS] += len(rest)
    shared = [*names.strings, f"(one of {len(rest)} more kernels)"]
    renamed = np.where(kernels & is_in(events.name, rest), len(names), events.name)
    return StringTable(shared), replace(events, name=renamed.astype(np.int32))


def possible_memory(table: MemoryTable, impossible: Counter[str]) -> MemoryTable:
    """Leaves out rows that are too far from the events, and sets impossible totals to -1. `impossible` counts both."""
    too_far = np.abs(table.ts) > MOST_NS
    totals = [(total < UNKNOWN) | (total > TOO_MANY_BYTES) for total in (table.allocated, table.reserved)]
    impossible[TIMES] += int(too_far.sum())
    impossible[_SIZES] += sum(int(outside.sum()) for outside in totals)
    allocated, reserved = (
        np.where(outside, UNKNOWN, total)
        for outside, total in zip(totals, (table.allocated, table.reserved), strict=True)
    )
    return replace(table, allocated=allocated, reserved=reserved).where(~too_far)


def _at_the_base(start: Int64, dur: Int64, near: Bool) -> Bool:
    """Returns which events are at exactly 0 while all others are far later: their time is not known. A profiler whose
    times count from months ago writes 0 for events from before that."""
    base = near & (start == 0)
    others = near & ~base
    if not base.any() or not others.any():
        return np.zeros(len(start), bool)
    first, last = int(start[others].min()), int((start[others] + dur[others]).max())
    gap = first - int(dur[base].max())
    return base if gap > max(_LONG_GAP_NS, last - first) else np.zeros(len(start), bool)


class PossibleColumns:
    """Columns with only possible values; `impossible` counts the others by the id of their note."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.labels = columns.labels
        self.impossible: Counter[str] = Counter()

    def take(self, name: str) -> npt.NDArray[Any]:
        """Returns what `Columns.take` does, with -1 or NaN in place of impossible values."""
        values = self._columns.take(name)
        if name in _TRIPLES:
            return self._triples(values)
        limit = _LIMITS.get(name)
        if limit is None:
            return values
        if values.dtype.kind == "f":
            outside = (values < 0) | (values > limit.most)  # both comparisons are false for NaN
        else:
            outside = (values < UNKNOWN) | (values > limit.most)
        return self._replaced(values, outside, limit.what)

    def durations(self) -> Int64:
        """Returns the durations in ns, with 0 for those that are too long."""
        dur = self._columns.take("dur")
        long = (dur > MOST_NS) | ((dur < -MOST_NS) & (dur != NO_DURATION))
        self.impossible[TIMES] += int(long.sum())
        return np.where(long, 0, dur) if long.any() else dur

    def starts(self, dur: Int64) -> tuple[Int64, Bool]:
        """Returns the start times in ns, and which events are too far from the others to belong to the same recording.
        These get the median event's start."""
        start = self._columns.take("start")
        if not len(start):
            return start, np.zeros(0, bool)
        usual = np.partition(start, len(start) // 2)[len(start) // 2]
        too_far = (start < usual - MOST_NS) | (start > usual + MOST_NS)
        too_far |= _at_the_base(start, dur, ~too_far)
        self.impossible[TIMES] += int(too_far.sum())
        return np.where(too_far, usual, start) if too_far.any() else start, too_far

    def _triples(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        rows = values.reshape(-1, 3)
        x, y, z = rows.T
        outside = (np.minimum(np.minimum(x, y), z) < UNKNOWN) | (products(rows) > _MOST_BLOCKS)
        return self._replaced(rows, outside, LAUNCHES).reshape(-1)

    def _replaced(self, values: npt.NDArray[Any], outside: Bool, what: str) -> npt.NDArray[Any]:
        count = int(outside.sum())
        if not count:
            return values
        self.impossible[what] += count
        values = values.copy()
        values[outside] = np.nan if values.dtype.kind == "f" else UNKNOWN
        return values
