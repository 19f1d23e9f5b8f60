"""Everything about one event, from the event file alone."""

from __future__ import annotations

import numpy as np

from tb_steptime.phrases import ns
from tb_steptime.timeline.answers import EventDetail, EventFact
from tb_steptime.timeline.event_file import EventFile


def event_detail(events: EventFile, number: int) -> EventDetail | None:
    """None where there is no such event, or it stands on no track."""
    places = events.place
    place = int(places[number]) if 0 <= number < len(places) else -1
    if place < 0:
        return None
    line = int(np.searchsorted(events.column("level0.bounds"), place, side="right")) - 1
    start, length = int(events.start[place]), int(events.length[place])
    return EventDetail(
        event=number,
        name=events.string(int(events.name[place])),
        track=events.head.line_track[line],
        row=events.head.line_row[line],
        start_ns=start,
        end_ns=start + length,
        facts=[EventFact("Duration", ns(length))],
        links=[],
        gap_start_ns=None,
        why_gap=None,
    )
