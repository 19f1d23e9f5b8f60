"""A window of the event file at a level of detail -> what the tab draws."""

from __future__ import annotations

import numpy as np

from tb_steptime.timeline.answers import Boxes, TimelinePage
from tb_steptime.timeline.bars import Bars, join_alike, merge
from tb_steptime.timeline.colours import COLOURS
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.queue import queue_depth

#: No screen is so wide; a finer detail than the window over this would only cost time.
MAX_COLUMNS = 1 << 13
#: A picture cannot show more boxes; where there would be more, the detail is coarser.
MAX_BOXES = 20_000


def timeline_page(events: EventFile, start_ns: int, end_ns: int, detail_ns: int) -> TimelinePage:
    """The events that touch [start_ns, end_ns). The detail is that power of two which is not more than asked for, or
    coarser where there would be too many boxes."""
    detail_ns = _power_of_two(max(detail_ns, (end_ns - start_ns) // MAX_COLUMNS, 1))
    bars = merge(_bars(events, start_ns, end_ns, detail_ns), detail_ns)
    boxes = join_alike(bars, detail_ns)
    while len(boxes) > MAX_BOXES:
        detail_ns *= 2
        bars = merge(bars, detail_ns)
        boxes = join_alike(bars, detail_ns)
    names, columns = _boxes(events, boxes, start_ns)
    queue = queue_depth(events, start_ns, end_ns, detail_ns)
    return TimelinePage(start_ns, end_ns, detail_ns, events.head.tracks, names, list(COLOURS), columns, queue)


def _power_of_two(number: int) -> int:
    """The greatest that is not more."""
    return 1 << (number.bit_length() - 1)


def _bars(events: EventFile, start_ns: int, end_ns: int, detail_ns: int) -> Bars:
    """All lines in the window, from the coarsest level that is not coarser than the detail."""
    level = sum(level_ns <= detail_ns for level_ns in events.head.levels)
    parts = [events.bars(level, line, start_ns, end_ns) for line in range(len(events.head.line_track))]
    return Bars.one_after_another([part for part in parts if len(part)] or [Bars.none()])


def _boxes(events: EventFile, bars: Bars, start_ns: int) -> tuple[list[str], Boxes]:
    """The names that are used, and the boxes."""
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
    return [events.string(number) for number in numbers.tolist()], boxes
