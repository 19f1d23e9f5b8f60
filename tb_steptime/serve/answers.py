"""The server's answers about the runs of a log directory, compared runs, the ranks of a job, and memory snapshots."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tb_steptime.comparison.changes import ChangeId
from tb_steptime.comparison.comparison import ChainLink, Comparison
from tb_steptime.insights.base import Headline, Insight, NoteText
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.memory.contents import CategoryBytes
from tb_steptime.metrics.memory.curves import MemoryBins
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.ranks.result import JobRanks
from tb_steptime.snapshots.lines import DeviceGrowth, Strip
from tb_steptime.snapshots.summary import SnapshotSummary
from tb_steptime.text import Phrase, Reason
from tb_steptime.timeline.flame import FlamePage


class RunLine(msgspec.Struct, frozen=True):
    """A run, by one span that is read of its first worker: the one whose card it has, else the newest.

    work: the number of its group: runs whose steps do the same on the same machine, as far as the recordings show
    (`comparison.fairness`); None where that cannot be told. others: how many processes of the run do other work and
    are no ranks of its job; the line says nothing of them. ranks: how many ranks the job has whose step and first card
    the line has; 1 where both are of the span. step_ns: mean step of the span, or the job's step. trend_ns: mean step
    of each span that is read, of a single span each step. parts_ns: of the span. fix: title of the first card that
    saves time, with what it gains per step, at most: that on which the newest spans agree, or that of the job whose
    ranks they are (`insights.run_advice`); None: none does. agreement: how far spans agree; None where they say the
    same.
    """

    run: str
    worker: str
    number: int
    span: str
    work: int | None
    others: int
    ranks: int
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


class SnapshotPage(msgspec.Struct, frozen=True, kw_only=True):
    """One device of a snapshot. device: its place in `summary.devices`. Times are ns from its oldest entry, and all are
    before `end_ns`; timed: False where entries have no times, and each lasts a microsecond.

    curve: None where no history was recorded. peak_ns: when most is in use. at_ns: the moment of which the stacks are,
    the peak where none was asked for; at_bytes, at_count: of all allocations in use then; at_categories: parts of
    at_bytes. strips: segments with their blocks at the end; more_strips: how many others there are. growth: since
    another snapshot, if that was asked for.
    """

    headline: Headline
    out_of_memory: list[Phrase] = []
    summary: SnapshotSummary
    device: int = 0
    timed: bool = True
    end_ns: int = 1
    peak_ns: int = 0
    curve: MemoryBins | None = None
    at_ns: int = 0
    at_bytes: int = 0
    at_count: int = 0
    at_categories: list[CategoryBytes] = []
    stacks: FlamePage | None = None
    strips: list[Strip] = []
    more_strips: int = 0
    growth: DeviceGrowth | None = None


#: In JSON a plain string; in TypeScript a union of the ids that exist.
RanksTitleId = Annotated[str, msgspec.Meta(title="RanksTitleId")]


class WhatIfTexts(msgspec.Struct, frozen=True):
    """The texts of a `JobReplay`. replay: how well the replay reproduces the recording; changes, larger: one sentence
    for each item of the field of that name; remark: why there is no estimate for more ranks, else None."""

    replay: Phrase
    changes: list[Phrase]
    larger: list[Phrase]
    remark: Phrase | None


class RanksPage(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of the job that a span is of.

    job: None where fewer than two ranks are read; its step_time has no values, which a RankMap has. caused_ns: of each
    of its ranks, what each of the others waits for it and no computation hides, a step, as a mean; empty where nothing
    is matched. spans: ids of the spans that the page is of, in the order of the ranks; read, found: how many of its
    ranks are read, of how many. causes: why each of job.late is late, in words; turns: each of job.imbalance_causes,
    which are of the late rank of each step. path: what the step consists of, None where that is not known; pipeline:
    which one the ranks are, None for none. experts: why the tokens of its experts are not known, a sentence each.
    what_if: job.what_if in words. do_first: what the first of the insights says to do and what it gains; None where no
    gain is computed for it, as then what limits each rank says more. simulated: what a simulator says of it.
    """

    headline: Headline
    job: JobRanks | None = None
    caused_ns: list[int] = []
    spans: list[str]
    read: int
    found: int
    titles: dict[RanksTitleId, Phrase] = {}
    causes: list[Phrase] = []
    turns: list[Phrase] = []
    path: Phrase | None = None
    pipeline: Phrase | None = None
    experts: list[Phrase] = []
    what_if: WhatIfTexts | None = None
    notes: list[NoteText] = []
    insights: list[Insight] = []
    do_first: Phrase | None = None
    simulated: str | None


class LanePiece(msgspec.Struct, frozen=True):
    """row: of the picture; times from its begin, ns."""

    row: int
    from_ns: int
    to_ns: int


class LaneArrivals(msgspec.Struct, frozen=True):
    """A collective: who arrives when. last: the row that arrives last; wait_ns: of the row that waits longest; end_ns:
    when it ends. rows, arrived_ns: of each of its ranks, in the same order."""

    label: str
    last: int
    wait_ns: int
    end_ns: int
    rows: list[int]
    arrived_ns: list[int]


class JobTimeline(msgspec.Struct, frozen=True):
    """A step of a job on one clock, [from_ns, to_ns) of [0, length_ns) in bins of equal length.

    steps: those that can be shown. spans, ranks: of the rows; shift_ns: added to a time of the picture to have one from
    the origin of the row's span. cells: base64 of bytes: a zero, then row by row for each bin what the rank does most
    of it: 0 nothing of this step, 1 its own time, 2 it waits for other ranks, 3 it transfers. path: what decides the
    step, in time order, without what is shorter than a bin. arrivals: of the collectives on it, those in the window
    that others wait for longest.
    """

    steps: list[str]
    step: str
    spans: list[str]
    ranks: list[int]
    shift_ns: list[int]
    length_ns: int
    from_ns: int
    to_ns: int
    bins: int
    cells: bytes
    path: list[LanePiece]
    arrivals: list[LaneArrivals]


class RankMap(msgspec.Struct, frozen=True):
    """One metric of a job by rank and step.

    spans: a row each, the span of a rank; steps: a column each. values: base64 of 32-bit floats, little endian: a zero,
    so that no text begins like a path (`ingest.private_paths`), then row by row; NaN where a rank has no such step or
    the metric is not known in it. least_high: the colours reach at least so far up, so that what is small looks small;
    0: as far as the values. reason: why none of them is known.
    """

    metric: str
    spans: list[str]
    steps: list[str]
    values: bytes
    least_high: float
    reason: Reason | None
