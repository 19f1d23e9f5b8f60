"""What is sent to the tab: the index of a log directory, pages of a span, the catalogue of meanings.

This module is the only serializer. Results are msgspec Structs, so encoding them is one call. The module adds the
envelopes. From the types of all answers `python -m tb_steptime.serve.api` generates `frontend/src/api.gen.ts`.

    route (relative)                answers
    index                           200 Index. With an ETag: 304 to an If-None-Match of the same version.
    catalogue                       200 Catalogue
    opening?view=VIEW_ID            200 Opening: both, and the page with which the tab opens. With an ETag.
          &run=R&worker=W&number=N  What its address names, each optional.
          &steps=recording          With the recording as one step.
    view?span=ID&view=VIEW_ID       200 SpanPage · 202 Waiting · 404 Problem (unknown span, view) · 422 Problem (failed)
    trends?run=R&worker=W&span=ID   200 TrendsPage. Every parameter is optional and may repeat; without any, all spans.
          &focus=R                  The run (with one run "span N" too) that the titles speak of; else the last run.
          &metric=M&strips=N        Of these metrics; with time bins of the N spans with the longest steps.
    series?run=R&metric=M           200 TrendSeries: one metric of the spans of these runs (none named: of all).
    ranks?span=ID                   200 RanksPage of the job that the span is of, as far as its ranks are read · 404
    rank_map?span=ID&metric=M       200 RankMap of a metric of the catalogue · 404 (unknown span, metric)
    job_timeline?span=ID&bins=N     200 JobTimeline of a step of the job on one clock, in so many bins · 404 (or
                                    clocks of the ranks do not agree)
          &step=S&from=NS&to=NS     Each optional: else the usual step, and all of it.
    scalars?run=R&tag=T             200 Scalars: the job's own, of event files. Without a tag no series.
    job_steps?run=R                 200 JobSteps: every step of the run, as the recorder timed them; empty without.
    timeline?span=ID&from=NS&to=NS&detail=NS
                                    200 TimelinePage · 202 Waiting (the trace is being read again) · 404 Problem · 422
                                    Problem (failed, or the trace itself is gone and only its summary is left)
    busy?span=ID&from=NS&to=NS&bins=N
                                    200 BusyBins, how busy the GPUs are in so many bins · 202, 400, 404, 422 likewise
    memory?span=ID&device=N&from=NS&to=NS&bins=N
                                    200 MemoryPage of the Nth device of the view · 202, 400, 404, 422 likewise
          &at=NS                    Optional: what is alive at this instant, too.
    snapshot?id=ID&device=N&bins=N  200 SnapshotPage of its Nth device · 202, 400, 404, 422 likewise
          &from=NS&to=NS&at=NS&since=ID
                                    Each optional: the window, the moment of the stacks, an earlier snapshot.
    flame?span=ID&by=stack|module|op&where=ran|made
                                    200 FlamePage, call paths over the steps · 202, 422 likewise · 404 (not recorded)
    source?span=ID&file=NAME        200 SourceText of a file that lines of the Operators view name; without text where
                                    none is at hand · 202 likewise · 404 (no such span, or no line is of this file)
    event?span=ID&event=N           200 EventDetail · 202, 404, 422 likewise. Both: 400 Problem (no whole number)
          &frames=own               Of both: Python stacks folded to the user's code; else with every frame.
    search?span=ID&words=W&from=NS  200 SearchPage: hits from this instant on · 202, 400, 404, 422 likewise
          &first=N&track=N&frames=own
                                    Each optional: hits from this number on instead; only of this track; rows as above.
    slice?span=ID&first=N&last=N    200 a trace of these steps alone, gzip, with a file name · 202 Waiting (it is being
                                    cut out) · 400, 404, 422 likewise
    report?key=K&value=V            200 the tab and its answers as one HTML page · 403 Problem (without header)
          &base=ID&candidate=ID     Each optional: keys and values of the address at which it opens, each repeated; the
                                    pair that is compared there.
    retry?span=ID                   202 Waiting, also after a failure · 404 Problem

Every other answer is also a Problem. All requests are GET. Work begins only for requests with `X-Tb-Steptime: 1`
(retry answers 403 without it; the others answer with what is known).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.sources import SourceText
from tb_steptime.ingest.states import Problem, Progress, SpanState
from tb_steptime.insights.base import (
    CouldBe,
    FindingText,
    Headline,
    Insight,
    JobText,
    Largest,
    NoteText,
    SidebarShare,
    Tried,
)
from tb_steptime.insights.rules.steps.change_points import Change
from tb_steptime.serve.answers import (
    ChainPage,
    ComparePage,
    JobTimeline,
    RankMap,
    RanksPage,
    RunsPage,
    SnapshotEntry,
    SnapshotPage,
)
from tb_steptime.serve.catalogue import Catalogue
from tb_steptime.serve.job_steps import JobSteps
from tb_steptime.serve.scalars import Scalars
from tb_steptime.text import Phrase, Reason
from tb_steptime.timeline.answers import BusyBins, EventDetail, SearchPage, TimelinePage
from tb_steptime.timeline.flame import FlamePage
from tb_steptime.timeline.memory import MemoryPage
from tb_steptime.trace.steps import StepsBy

#: In JSON these are plain strings; in TypeScript unions of the ids that exist.
SpanTitleId = Annotated[str, msgspec.Meta(title="SpanTitleId")]
TrendsTitleId = Annotated[str, msgspec.Meta(title="TrendsTitleId")]


class SpanEntry(msgspec.Struct, frozen=True):
    """One span in the pickers. id is opaque and stable; number counts from 1 in time order within the worker.

    recorded_ns: epoch time of its recording; until it is read what the file's name says, else when it was written.
    has_gpu: None until it is read.
    """

    id: str
    number: int
    file: str
    file_bytes: int
    recorded_ns: int
    has_gpu: bool | None
    state: SpanState
    mean_step_ns: int | None
    first_step: str | None
    last_step: str | None
    progress: Progress | None
    error: Problem | None


class WorkerEntry(msgspec.Struct, frozen=True):
    name: str
    rank: int | None
    spans: list[SpanEntry]


class RunEntry(msgspec.Struct, frozen=True):
    name: str
    simulated: bool
    workers: list[WorkerEntry]


class Index(msgspec.Struct, frozen=True):
    """What is under the log directory. version changes whenever anything here changes.

    places: the directories that are searched, as the user named them; folders: how many folders lie below them.
    """

    version: str
    runs: list[RunEntry]
    spans_ready: int
    spans_total: int
    places: list[str]
    folders: int
    scanned_at_ms: int
    problems: list[Problem]
    snapshots: list[SnapshotEntry] = []


class SpanHead(msgspec.Struct, frozen=True):
    """The facts next to the views: which span this is, of what kind of job, and what recorded it. quality: what is
    wrong with the recording; sidebar: by view id."""

    id: str
    run: str
    worker: str
    number: int
    span_count: int
    file: str
    file_bytes: int
    events: int
    origin_ns: int
    step_count: int
    steps_by: StepsBy
    first_step: str | None
    last_step: str | None
    device_names: list[str]
    sm_count: int | None
    rank: int | None
    world_size: int | None
    simulated: str | None
    job: JobText
    notes: list[NoteText]
    quality: list[FindingText]
    sidebar: dict[str, SidebarShare]


class SpanPage(msgspec.Struct, frozen=True):
    """One view of one span. `result` is the view's own result type; insights only in the overview and the Host view,
    could_be, tried, largest and excess, a sentence for each kind of excess, only in the overview. titles: see
    `insights.wording.title_ids`. notes: on the result itself; those on the recording are in head.

    neighbours: the same view's series in the other spans of the worker, for spark lines. shown_step: the step with
    which the timeline opens, since the headline speaks of what it shows; None: any. gap: the view's analysis failed on
    this file; headline says so, and result has no values.
    """

    head: SpanHead
    headline: Headline
    result: msgspec.Raw
    titles: dict[SpanTitleId, Phrase]
    notes: list[NoteText]
    insights: list[Insight]
    insights_remark: Phrase | None
    could_be: CouldBe | None
    tried: Tried | None
    largest: Largest | None
    excess: list[Phrase]
    neighbours: list[Neighbour]
    shown_step: str | None
    gap: bool = False


class Neighbour(msgspec.Struct, frozen=True):
    """Another span of the same worker: its figures for the tiles (metric id -> span value, step values)."""

    id: str
    number: int
    values: dict[str, float | None]
    steps: dict[str, list[float | None]]


class Opening(msgspec.Struct, frozen=True):
    """Everything that the first picture shows. page: of the span that the tab's address selects; None while that span
    is not read, or where it cannot be read."""

    index: Index
    catalogue: Catalogue
    page: SpanPage | None


class Waiting(msgspec.Struct, frozen=True):
    """Answered with 202 while a span is not read yet. file_number of file_count: its place in the queue."""

    state: SpanState
    file: str
    file_number: int
    file_count: int
    progress: Progress | None


class TrendSpan(msgspec.Struct, frozen=True):
    """One span of the trends page; result is None while it is not read."""

    id: str
    run: str
    worker: str
    number: int
    rank: int | None
    state: SpanState
    result: TrendsResult | None


class TrendsPage(msgspec.Struct, frozen=True):
    """Trends over many spans. headline judges them together; titles by picture. changes: where a figure becomes another
    one at a span, largest first. left_out: older spans, too many for a page."""

    headline: Headline
    spans: list[TrendSpan]
    titles: dict[TrendsTitleId, Phrase]
    changes: list[Change]
    left_out: int = 0


class TrendSeries(msgspec.Struct, frozen=True):
    """One metric of the spans of a TrendsPage that left it out. spans: their ids; values, steps: for each span, its own
    figure and those of its steps. reasons: why the metric is unknown in a span, by span id."""

    metric: str
    spans: list[str]
    values: list[float | None]
    steps: list[list[float | None]]
    reasons: dict[str, Reason]


#: The type of a SpanPage's `result` by view id, in the order of the list of views.
RESULTS: dict[str, type[msgspec.Struct]] = {analysis.id: analysis.result for analysis in ANALYSES}

#: The types of all answers.
ANSWERS: tuple[type[msgspec.Struct], ...] = (
    Index,
    SpanPage,
    Opening,
    Waiting,
    TrendsPage,
    TrendSeries,
    Scalars,
    JobSteps,
    ComparePage,
    ChainPage,
    RunsPage,
    RanksPage,
    RankMap,
    JobTimeline,
    TimelinePage,
    BusyBins,
    MemoryPage,
    SnapshotPage,
    FlamePage,
    SourceText,
    EventDetail,
    SearchPage,
    Catalogue,
    Problem,
)


def encode(answer: Any) -> bytes:
    """Returns an answer as JSON. Enums become their values, NaN becomes null."""
    return msgspec.json.encode(answer)
