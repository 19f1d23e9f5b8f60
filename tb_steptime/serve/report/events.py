"""Single events that a report holds: those of some steps of each span, as its Timeline would request them.

    recording   |  step 3  |  step 4  |  step 5  |
    held               [....step 4....]              a little at either side, as the Timeline opens it

Narrow events are merged with their neighbours, so that a page stays small. A merged box says how many events it holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.analyses.base import TimelineStep
from tb_steptime.analyses.timeline import TimelineResult
from tb_steptime.serve.pages import judgement
from tb_steptime.serve.served import ServedSpan
from tb_steptime.timeline.answers import BusyBins, EventDetail, TimelinePage
from tb_steptime.timeline.bins import busy_bins
from tb_steptime.timeline.detail import event_detail
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.page import timeline_page

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
    """steps: their names; none: the whole recording, which has no steps. [start_ns, end_ns): what is held, from the
    span's origin. joined: events that have no box of their own."""

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
    return _held(events, span.at_hand().result("timeline", TimelineResult), steps_of(span, wanted) or [])


def steps_of(span: ServedSpan, wanted: Wanted) -> list[TimelineStep] | None:
    """Returns the steps that a report holds of a span; none: all of a recording without steps. None: it has none of
    those that were asked for."""
    steps = span.at_hand().result("timeline", TimelineResult).steps
    if wanted is not None:
        return [step for step in steps if step.name.isdigit() and wanted[0] <= int(step.name) <= wanted[1]] or None
    shown = judgement(span.at_hand()).shown_step
    by_length = sorted(steps, key=lambda step: step.end_ns - step.start_ns)
    return [step for step in steps if step.name == shown] or by_length[(len(steps) - 1) // 2 :][:1]


def _held(events: EventFile, timeline: TimelineResult, steps: Sequence[TimelineStep]) -> IncludedEvents:
    first, last = _whole(timeline)
    start, end = _window(steps, first, last)
    folded = timeline_page(events, start, end, 1, folded=True, most_boxes=MOST_BOXES)
    whole = timeline_page(events, start, end, 1, most_boxes=MOST_BOXES) if _folds(folded) else None
    pages = [folded] if whole is None else [folded, whole]
    numbers = sorted({number for page in pages for number in page.boxes.event})
    described = [detail for number in numbers if (detail := event_detail(events, number)) is not None]
    moved, rows = _moved(events, described)
    steps_held = IncludedSteps([step.name for step in steps], start, end, _joined(pages[-1]))
    return IncludedEvents(steps_held, folded, whole, described, moved, rows, busy_bins(events, first, last, _BUSY_BINS))


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


def _folds(page: TimelinePage) -> bool:
    return any(track.all_rows > track.rows for track in page.tracks)


def _joined(page: TimelinePage) -> int:
    return sum(page.boxes.count) - len(page.boxes.count)


def _moved(events: EventFile, described: Sequence[EventDetail]) -> tuple[list[int], list[int]]:
    """Returns the events that have another row where stacks are folded, and that row."""
    mentioned = {detail.event for detail in described} | {link.event for each in described for link in each.links}
    numbers = np.array(sorted(mentioned), np.int64)
    places = events.place[numbers].tolist()
    rows = [(events.row_of(place, folded=False), events.row_of(place, folded=True)) for place in places]
    other = [(number, row) for number, (whole, row) in zip(numbers.tolist(), rows, strict=True) if row != whole]
    return [number for number, _ in other], [row for _, row in other]
