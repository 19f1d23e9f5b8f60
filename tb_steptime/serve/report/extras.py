"""The single events and flame graphs of a report. No summary holds them, so each trace is read again, once for both.

Events are those of some steps of each span, as its Timeline would request them.

    recording   |  step 3  |  step 4  |  step 5  |
    included           [....step 4....]              a little at either side, as the Timeline opens it

Narrow events are merged with their neighbours, so that a page stays small. A merged box says how many events it holds.

Flame graphs are all that a span's Operators view would request, with fewer frames.

frames below 1/2000 of the whole are one in the tab, below 1/500 in a report, and below more where that would be large
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.analyses.base import TimelineStep
from tb_steptime.analyses.timeline import TimelineResult
from tb_steptime.ingest.states import Problem
from tb_steptime.metrics.flame import FlameBy, FlameTree, FrameKind, merged
from tb_steptime.metrics.operators.op_tree import Where
from tb_steptime.serve.pages import judgement
from tb_steptime.serve.served import ServedSpan, SpanFailed
from tb_steptime.serve.store import Store
from tb_steptime.serve.wire import Waiting
from tb_steptime.timeline.answers import BusyBins, EventDetail, TimelinePage
from tb_steptime.timeline.bins import busy_bins
from tb_steptime.timeline.detail import event_detail
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import FlamePage, flame_page, numbers_of, page_of, totals_of
from tb_steptime.timeline.page import timeline_page
from tb_steptime.trace.table import Bool

#: Maximum number of boxes per span with folded Python stacks, and the same number again with whole stacks. With it a
#: report of thirty spans takes a few MB.
MOST_BOXES = 1_500
#: Number of bins of the strip that shows the whole recording.
_BUSY_BINS = 256
#: Margin on either side of the steps, as a share of their length: at least the one with which the Timeline opens.
_BESIDE = 0.05

#: The first and the last wanted step. None: for each span, the step that its headline refers to.
Wanted = tuple[int, int] | None


class IncludedSteps(msgspec.Struct, frozen=True):
    """steps: their names; none: the whole recording, which has no steps. [start_ns, end_ns): what is included,
    from the span's origin. joined: events that have no box of their own."""

    steps: list[str]
    start_ns: int
    end_ns: int
    joined: int


class IncludedEvents(msgspec.Struct, frozen=True):
    """folded, whole: the picture with folded and with whole Python stacks; whole is None where nothing is folded.
    described: all about the events that give boxes their names, with rows of whole stacks. moved, moved_row: events
    that have another row where stacks are folded, and that row, -1 where they are folded away. busy: of the whole
    recording."""

    held: IncludedSteps
    folded: TimelinePage
    whole: TimelinePage | None
    described: list[EventDetail]
    moved: list[int]
    moved_row: list[int]
    busy: BusyBins


def events_of(span: ServedSpan, events: EventFile, wanted: Wanted) -> IncludedEvents:
    """Returns the events of a span that has some of the wanted steps."""
    timeline = span.at_hand().result("timeline", TimelineResult)
    steps = steps_of(span, wanted) or []
    first, last = _whole(timeline)
    start, end = _window(steps, first, last)
    folded = timeline_page(events, start, end, 1, folded=True, most_boxes=MOST_BOXES)
    pages = [folded]
    if any(track.all_rows > track.rows for track in folded.tracks):
        pages.append(timeline_page(events, start, end, 1, most_boxes=MOST_BOXES))
    numbers = sorted({number for page in pages for number in page.boxes.event})
    described = [detail for number in numbers if (detail := event_detail(events, number)) is not None]
    boxes = pages[-1].boxes.count
    included = IncludedSteps([step.name for step in steps], start, end, sum(boxes) - len(boxes))
    busy = busy_bins(events, first, last, _BUSY_BINS)
    whole = pages[1] if len(pages) > 1 else None
    return IncludedEvents(included, folded, whole, described, *_moved(events, described), busy)


def steps_of(span: ServedSpan, wanted: Wanted) -> list[TimelineStep] | None:
    """Returns the steps that a report includes of a span; none: all of a recording without steps. None: it has none of
    the wanted ones."""
    steps = span.at_hand().result("timeline", TimelineResult).steps
    if wanted is not None:
        return [step for step in steps if step.name.isdigit() and wanted[0] <= int(step.name) <= wanted[1]] or None
    shown = judgement(span.at_hand()).shown_step
    by_length = sorted(steps, key=lambda step: step.end_ns - step.start_ns)
    return [step for step in steps if step.name == shown] or by_length[(len(steps) - 1) // 2 :][:1]


def _whole(timeline: TimelineResult) -> tuple[int, int]:
    """Returns all of the recording, as the Timeline shows it (`wholeOf` in
    `frontend/src/views/timeline/data/steps.ts`)."""
    first = min([timeline.first_ns, *(step.start_ns for step in timeline.steps[:1])])
    return first, max([timeline.last_ns, first + 1, *(step.end_ns for step in timeline.steps[-1:])])


def _window(steps: Sequence[TimelineStep], first_ns: int, last_ns: int) -> tuple[int, int]:
    if not steps:
        return first_ns, last_ns
    start, end = steps[0].start_ns, steps[-1].end_ns
    beside = int(_BESIDE * (end - start)) + 1
    return max(first_ns, start - beside), min(last_ns, end + beside)


def _moved(events: EventFile, described: Sequence[EventDetail]) -> tuple[list[int], list[int]]:
    """Returns the events that have another row where stacks are folded, and that row."""
    mentioned = {detail.event for detail in described} | {link.event for each in described for link in each.links}
    numbers = np.array(sorted(mentioned), np.int64)
    places = events.place[numbers].tolist()
    rows = [(events.row_of(place, folded=False), events.row_of(place, folded=True)) for place in places]
    other = [(number, row) for number, (whole, row) in zip(numbers.tolist(), rows, strict=True) if row != whole]
    return [number for number, _ in other], [row for _, row in other]


#: Denominators of the smallest share of the whole at which a frame is kept, tried in turn.
_SMALLEST = (500, 100, 30)
_SMALLER: FrameKind = "smaller"
#: Maximum size of all flame graphs of a report as JSON; they add a third of that to the page. The rest is left out.
_MOST_JSON_BYTES = 3_000_000


class IncludedFlames(msgspec.Struct, frozen=True):
    """The flame graphs of a span, by what is above the ops and by where work of the backward pass counts."""

    pages: list[FlamePage]


def included_flames(events: EventFile) -> IncludedFlames:
    """Returns the flame graphs of one span; none where it has no ops."""
    ways = [(by, where) for where in get_args(Where) for by in get_args(FlameBy)]
    pages = [page for by, where in ways if (page := flame_page(events, by, where)) is not None]
    return IncludedFlames([coarser(page, _SMALLEST[0]) for page in pages])


def fitting(flames: Mapping[str, IncludedFlames]) -> dict[str, IncludedFlames]:
    """Returns by span id flame graphs with so few frames that they fit into a report; if nothing else helps, only of as
    many spans as fit."""
    fitted: dict[str, IncludedFlames] = {}
    for smallest in _SMALLEST:
        fitted = {id: IncludedFlames([coarser(page, smallest) for page in each.pages]) for id, each in flames.items()}
        if _size(fitted) <= _MOST_JSON_BYTES:
            break
    while _size(fitted) > _MOST_JSON_BYTES:
        fitted.popitem()
    return fitted


def _size(flames: Mapping[str, IncludedFlames]) -> int:
    return sum(len(msgspec.json.encode(each)) for each in flames.values())


def coarser(page: FlamePage, smallest: int) -> FlamePage:
    """Merges frames below 1/smallest of the whole. Returns the page itself where it is at least as coarse already."""
    if page.smallest <= smallest:
        return page
    tree = _tree(page)
    texts, kinds = [*page.names, "(smaller)"], [*page.kinds, _SMALLER]
    cut = merged(tree, _kept(tree, smallest), kinds.index(_SMALLER))
    used, label = np.unique(cut.label, return_inverse=True)
    labels = [(kinds[each], texts[each]) for each in used.tolist()]
    return page_of(replace(cut, label=label.reshape(-1).astype(np.int32)), labels, page.by, page.where, smallest)


def _tree(page: FlamePage) -> FlameTree:
    parent, label, smaller, calls = (
        numbers_of(column).astype(np.int32) for column in (page.parent, page.label, page.merged, page.calls)
    )
    return FlameTree(parent, label, smaller, calls, totals_of(page))


def _kept(tree: FlameTree, smallest: int) -> Bool:
    """Says which frames are kept. Merged frames are not: they are merged again, together with those that are small
    now."""
    kept: Bool = np.zeros(len(tree), bool)
    for values in tree.total.values():
        kept |= values * smallest >= max(1, int(values[0]))
    kept &= tree.merged == 0
    kept[0] = True
    return kept


#: How many traces are read at the same time: the one that is needed next, and those after it.
_AHEAD = 4
_SECONDS_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True)
class Extras:
    """What a report is to include in addition to the views. timeline: single events of `steps`; flame: flame graphs of
    all spans."""

    timeline: bool = False
    steps: Wanted = None
    flame: bool = False


@dataclass(frozen=True)
class IncludedExtras:
    """What a report includes in addition to its answers, by span id."""

    events: dict[str, IncludedEvents] = field(default_factory=dict)
    flames: dict[str, IncludedFlames] = field(default_factory=dict)


def read_extras(
    store: Store, wanted: Extras, problems: list[Problem], show: Callable[[int, int], None]
) -> IncludedExtras:
    """Reads the wanted extras. Traces that cannot be read are added to problems. show is called with the number of
    spans that are done and the number of all."""
    included = IncludedExtras()
    chosen = [span for span in store.directory.spans()[1] if span.measured and (wanted.flame or _steps(span, wanted))]
    for at, span in enumerate(chosen):
        show(at, len(chosen))
        try:
            events = _event_file(store, span, chosen[at + 1 : at + _AHEAD])
        except SpanFailed as failed:
            problems.append(failed.problem)
            continue
        if _steps(span, wanted):
            included.events[span.found.id] = events_of(span, events, wanted.steps)
        if wanted.flame:
            included.flames[span.found.id] = included_flames(events)
    return IncludedExtras(included.events, fitting(included.flames))


def _steps(span: ServedSpan, wanted: Extras) -> bool:
    return wanted.timeline and steps_of(span, wanted.steps) is not None


def _event_file(store: Store, span: ServedSpan, following: Sequence[ServedSpan]) -> EventFile:
    """Waits for the event file of a span, and has those of the following spans made meanwhile. Raises SpanFailed."""
    while isinstance(events := store.reader.event_file(span, work=True), Waiting):
        for each in following:
            if each.found.trace is not None and each.events_problem is None:
                store.reader.event_file(each, work=True)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return events
