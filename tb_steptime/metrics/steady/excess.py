"""The time that calls took beyond the steady duration of their site, as intervals.

call       [ 5 us ]   [            60 us            ]   [ 5 us ]
excess                       [#########55 us########]             at the end of what was too long
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec
import numpy as np

from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, is_in


class ExcessKind(enum.IntEnum):
    """Why a call took longer than usual for its site.

    ONCE         The first calls of a site, or work that the recording names as that of a first use.
                 Alike: real work of other sizes, so calls whose work depends on data are compared only where shapes
                 are recorded or another step shows the same place; clocks that warm up, which stay below two times.
    INTERRUPTED  One call among equal ones, not the first.
                 Alike: the healthy noise of a host, which stays below three times the steady duration or 50 us; sites
                 with two habits, of which one is not rare; kernels that share the device with others.
    PROFILER     The profiler's own work, by its rows. Alike: the loading of code, which has such rows and is the job's.
    PERIODIC     Every k-th call of a site, three times at least. Alike: sites that alternate between two sizes.
    EDGE         The device runs work from before the recording, or has none because the recording ends.
                 Alike: a device that is idle at the end of every step.
    UNKNOWN      Far longer than calls that are alike, and nothing shows that its work is the same; also a collective in
                 the only step, which may wait for another rank in every step.
                 Alike: everything above, and real work: conclusions do not leave this out.
    """

    ONCE = 0
    INTERRUPTED = 1
    PROFILER = 2
    PERIODIC = 3
    EDGE = 4
    UNKNOWN = 5


class Excess(msgspec.Struct, frozen=True, eq=False):
    """Excess intervals, sorted by (track, start); those of one track are disjoint.

    track             int32, row of `Trace.threads`: a host thread, or a stream of a device
    start_ns, end_ns  int64, relative to `Trace.origin_ns`
    kind              uint8, an `ExcessKind`
    event             int32, row of the event table: the innermost event that took too long, or beside which the
                      thread did; -1 where no event is beside it
    """

    track: Int32
    start_ns: Int64
    end_ns: Int64
    kind: UInt8
    event: Int32

    def __len__(self) -> int:
        return len(self.track)

    @property
    def dur_ns(self) -> Int64:
        return self.end_ns - self.start_ns

    def where(self, rows: Bool | Int64) -> Excess:
        """Returns only the rows chosen by a mask or by row numbers, in their order."""
        return Excess(self.track[rows], self.start_ns[rows], self.end_ns[rows], self.kind[rows], self.event[rows])

    def on(self, *tracks: int) -> Excess:
        """Returns the excess of these tracks only."""
        return self.where(is_in(self.track, tracks))

    def of(self, *kinds: ExcessKind) -> Excess:
        """Returns the excess of these kinds only."""
        return self.where(is_in(self.kind, kinds))

    def intervals(self, *kinds: ExcessKind) -> Intervals:
        """Returns when there is excess of these kinds, or of any if none is given, on any track."""
        rows = is_in(self.kind, kinds) if kinds else np.ones(len(self), bool)
        return Intervals.union(self.start_ns[rows], self.end_ns[rows])


def no_excess() -> Excess:
    narrow, wide = np.empty(0, np.int32), np.empty(0, np.int64)
    return Excess(narrow, wide, wide, np.empty(0, np.uint8), narrow)


def joined(parts: Iterable[Excess]) -> Excess:
    """Joins several tables. No two of them may have excess on one track at the same time."""
    tables = [no_excess(), *parts]
    columns = ("track", "start_ns", "end_ns", "kind", "event")
    table = Excess(*(np.concatenate([getattr(each, column) for each in tables]) for column in columns))
    return table.where(np.lexsort((table.start_ns, table.track)))
