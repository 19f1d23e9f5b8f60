"""The server's answers about memory snapshots."""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Headline
from tb_steptime.metrics.memory.bins import MemoryBins
from tb_steptime.snapshots.growth import DeviceGrowth
from tb_steptime.snapshots.strips import Strip
from tb_steptime.snapshots.summary import SnapshotSummary
from tb_steptime.text import Phrase
from tb_steptime.timeline.flame import FlamePage


class SnapshotEntry(msgspec.Struct, frozen=True):
    """A memory snapshot in the pickers. rank, step: as its name has them. written_ns: epoch time."""

    id: str
    run: str
    name: str
    rank: int | None
    step: int | None
    file: str
    file_bytes: int
    written_ns: int


class SnapshotPage(msgspec.Struct, frozen=True):
    """One device of a snapshot. device: its place in `summary.devices`. Times are ns from its oldest entry, and all are
    before `end_ns`; timed: False where entries have no times, and each lasts a microsecond.

    curve: None where no history was recorded. peak_ns: when most is in use. at_ns: the moment of which the stacks are,
    the peak where none was asked for; at_bytes, at_count: of all allocations in use then. strips: segments with their
    blocks at the end; more_strips: how many others there are. growth: since another snapshot, if that was asked for.
    """

    headline: Headline
    out_of_memory: list[Phrase]
    summary: SnapshotSummary
    device: int
    timed: bool
    end_ns: int
    peak_ns: int
    curve: MemoryBins | None
    at_ns: int
    at_bytes: int
    at_count: int
    stacks: FlamePage | None
    strips: list[Strip]
    more_strips: int
    growth: DeviceGrowth | None
