"""The server's answers about all runs of a log directory, about compared runs, and about memory snapshots."""

from __future__ import annotations

import msgspec

from tb_steptime.comparison.changes import ChangeId
from tb_steptime.comparison.comparison import ChainLink, Comparison
from tb_steptime.insights.base import Headline, NoteText
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.memory.allocations import MemoryBins
from tb_steptime.metrics.memory.peak import CategoryBytes
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.snapshots.lines import DeviceGrowth, Strip
from tb_steptime.snapshots.summary import SnapshotSummary
from tb_steptime.text import Phrase
from tb_steptime.timeline.flame import FlamePage


class RunLine(msgspec.Struct, frozen=True):
    """A run, by the newest span that is read of its first worker.

    work: the number of its group: runs whose steps do the same on the same machine, as far as the recordings show
    (`comparison.fairness`); None where that cannot be told. others: how many processes of the run do other work and
    are no ranks of its job; the line says nothing of them. trend_ns: mean step of each span that is read, of a single
    span each step. fix: title of the first card that saves time, with what it gains per step, at most: that on which
    the newest spans agree, or that of the job whose ranks they are (`insights.run_advice`); None: none does.
    agreement: how far spans agree; None where they say the same.
    """

    run: str
    worker: str
    number: int
    span: str
    work: int | None
    others: int
    step_ns: int
    trend_ns: list[int]
    parts_ns: Parts
    bound: Bound
    fix: Phrase | None
    agreement: Phrase | None
    gain_ns: int
    gain_fraction: float
    job: Phrase
    machine: Phrase


class RunsPage(msgspec.Struct, frozen=True):
    """headline: of all lines; None where there are none. lines: in the order of the pickers. left: runs that are read
    and whose lines are still to be made."""

    headline: Phrase | None
    lines: list[RunLine]
    left: int


class ComparedSpans(msgspec.Struct, frozen=True):
    """The spans of one side of a comparison: ids, in time order."""

    run: str
    worker: str
    spans: list[str]


class ComparePage(msgspec.Struct, frozen=True):
    """One run compared with another. headline names both as {base} and {candidate}. below: how sure the headline is, or
    which part changed most; None where neither is known. labels: labels of waterfall rows by id, except for modules,
    ops and kernels, whose id is their name. changes: the changes that were detected in the candidate. residuals: for
    each prediction, why the measured gain differs from it. scaling: compares all ranks of the two runs, where one of
    them has several."""

    headline: Phrase
    below: Phrase | None
    comparison: Comparison
    warnings: list[NoteText]
    labels: dict[str, str]
    changes: dict[ChangeId, str]
    residuals: list[Phrase]
    base: ComparedSpans
    candidate: ComparedSpans
    scaling: Phrase | None = None


class LinkOfChain(msgspec.Struct, frozen=True):
    of: ComparedSpans
    link: ChainLink


class ChainPage(msgspec.Struct, frozen=True):
    """Experiments in the order of recording. Simulated ones form a chain of their own after all others."""

    links: list[LinkOfChain]


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
    the peak where none was asked for; at_bytes, at_count: of all allocations in use then; at_categories: parts of
    at_bytes. strips: segments with their
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
    at_categories: list[CategoryBytes]
    stacks: FlamePage | None
    strips: list[Strip]
    more_strips: int
    growth: DeviceGrowth | None
