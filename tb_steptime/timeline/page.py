"""A window of the event file at a level of detail -> what the tab draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from tb_steptime.timeline.answers import Boxes, TimelinePage
from tb_steptime.timeline.bars import Bars, join_alike, merge
from tb_steptime.timeline.bins import queue_depth
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.tracks import COLOURS

#: Maximum number of columns: no screen is wider, and a finer detail would only cost time.
MAX_COLUMNS = 1 << 13
#: Maximum number of boxes that a picture can show; if there would be more, the detail is coarser.
MAX_BOXES = 20_000
#: Maximum number of characters of all names of a page. If there are more, each name is cut short; an event's details
#: have the full name.
MAX_TEXT = 2_000_000


def timeline_page(
    events: EventFile, start_ns: int, end_ns: int, detail_ns: int, *, folded: bool = False, most_boxes: int = MAX_BOXES
) -> TimelinePage:
    """Returns the events that overlap [start_ns, end_ns). The detail is the largest power of two up to the requested
    one. It is coarser if there would be too many boxes, in the extreme with one box per line. If there are even more
    lines than boxes, the last lines get none, until the window is so narrow that fewer lines have events in it. folded:
    without Python frames outside the user's code."""
    finest = max(detail_ns, (end_ns - start_ns) // MAX_COLUMNS, 1)
    detail_ns = 1 << (finest.bit_length() - 1)  # the largest power of two that is not greater
    tracks = events.head.tracks if folded else [replace(track, rows=track.all_rows) for track in events.head.tracks]
    lines = [line for track in tracks for line in (events.folded_lines(track.id) if folded else events.lines(track.id))]
    bars = merge(_bars(events, lines, start_ns, end_ns, detail_ns), detail_ns)
    boxes = join_alike(bars, detail_ns)
    while len(boxes) > most_boxes and detail_ns <= max(end_ns, events.head.last_ns):
        detail_ns *= 2
        bars = merge(bars, detail_ns)
        boxes = join_alike(bars, detail_ns)
    boxes = boxes.first(most_boxes)
    numbers, columns = _boxes(events, boxes, start_ns)
    names, full_names = _names(events, numbers)
    queue = queue_depth(events, start_ns, end_ns, detail_ns)
    return TimelinePage(start_ns, end_ns, detail_ns, tracks, names, full_names, list(COLOURS), columns, queue)


def _bars(events: EventFile, lines: Iterable[int], start_ns: int, end_ns: int, detail_ns: int) -> Bars:
    """Returns the bars of the lines in the window, from the coarsest level that is not coarser than the detail."""
    level = sum(level_ns <= detail_ns for level_ns in events.head.levels)
    parts = [events.bars(level, line, start_ns, end_ns) for line in lines]
    return Bars.one_after_another([part for part in parts if len(part)] or [Bars.none()])


def _names(events: EventFile, numbers: Sequence[int]) -> tuple[list[str], list[str]]:
    """Returns the names as shown on boxes, and as in the trace, "" where these are equal."""
    full = [events.string(number) for number in numbers]
    shown = [events.shown_name(number) for number in numbers]
    differing = [name if name != other else "" for name, other in zip(full, shown, strict=True)]
    return _cut(shown), _cut(differing)


def _cut(names: list[str]) -> list[str]:
    if sum(map(len, names)) <= MAX_TEXT:
        return names
    most = MAX_TEXT // len(names)
    return [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]


def _boxes(events: EventFile, bars: Bars, start_ns: int) -> tuple[list[int], Boxes]:
    """Returns the numbers of the names that are used, and the boxes."""
    numbers, name = np.unique(events.name[bars.place], return_inverse=True)
    boxes = Boxes(
        track=np.array(events.head.line_track, np.int32)[bars.line].tolist(),
        row=np.array(events.head.line_row, np.int32)[bars.line].tolist(),
        start_ns=(bars.start - start_ns).tolist(),
        length_ns=(bars.end - bars.start).tolist(),
        name=name.reshape(-1).tolist(),
        colour=bars.colour.tolist(),
        count=bars.count.tolist(),
        event=events.event[bars.place].tolist(),
    )
    return numbers.tolist(), boxes
