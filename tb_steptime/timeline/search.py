"""Search for all events of a span whose name contains some words: their number, total length, and a page of them in
time order.

    words "gemm"    names   [aten::addmm, gemm f32 64x64, ...]     each distinct name is compared once
                    events  .  x  .  .  x  x  .                    found by the number of their name

Words are compared with the name in the trace and with the name shown on the box, ignoring case. So both "gemm bf16
128x256", as shown in the picture, and the kernel's full name are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.timeline.answers import Hits, SearchPage, TrackHits
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.trace.table import Int64

#: Number of hits per answer: enough to step through before the next answer arrives.
PAGE_HITS = 200
#: How many of these come before the requested hit, so that stepping backwards is as fast.
_BEFORE = PAGE_HITS // 4
#: Number of bins that show where in the span the hits lie.
BINS = 1000
#: Maximum length of the search text; no name is longer.
MAX_WORDS = 500


@dataclass(frozen=True)
class Search:
    """A search request.

    from_ns   show hits around the first one that begins at this time or later; around number `first` in time order if
              given
    track     only hits of this track
    folded    rows of hits are those of folded stacks
    """

    words: str
    from_ns: int
    first: int | None = None
    track: int | None = None
    folded: bool = False


def search_page(events: EventFile, search: Search) -> SearchPage:
    """Returns the result with a page of hits. An empty search text finds nothing."""
    places = _matches(events, search.words[:MAX_WORDS].strip().lower())
    line = np.searchsorted(events.column("level0.bounds"), places, side="right") - 1
    of_track = np.array(events.head.line_track, np.int64)[line]
    tracks = _by_track(events, places, of_track)
    places = places if search.track is None else places[of_track == search.track]
    starts = events.start[places]
    order = np.argsort(starts, kind="stable")  # of equals the one on the upper track first
    places, starts = places[order], starts[order]
    following = int(np.searchsorted(starts, search.from_ns)) if search.first is None else search.first
    shown = max(0, min(following - _BEFORE, len(places) - PAGE_HITS))
    return SearchPage(
        count=len(places),
        total_ns=int(events.length[places].sum()),
        tracks=tracks,
        next=min(max(following, 0), len(places)),
        first=shown,
        hits=_hits(events, places[shown : shown + PAGE_HITS], search.folded),
        bins_from_ns=events.head.first_ns,
        bins_to_ns=max(events.head.last_ns, events.head.first_ns + 1),
        bins=_bins(events, starts),
    )


def _matches(events: EventFile, text: str) -> Int64:
    """Returns the places of the events whose name, or the form in which it is shown, contains these words."""
    if not text:
        return np.arange(0)
    matches = np.array([text in each for each in events.lower_strings], bool)
    shown = events.column("shown")
    matches[: len(shown)] |= (shown >= 0) & matches[shown]
    return np.flatnonzero(matches[events.name[: events.event_count]])


def _by_track(events: EventFile, places: Int64, of_track: Int64) -> list[TrackHits]:
    """Returns the hits of each track that has any, in the order of the tracks."""
    count = np.bincount(of_track)
    total = np.bincount(of_track, events.length[places])  # in float64, which is exact up to a hundred days of ns
    return [TrackHits(track, int(count[track]), int(total[track])) for track in np.flatnonzero(count).tolist()]


def _hits(events: EventFile, places: Int64, folded: bool) -> Hits:
    return Hits(
        track=[events.head.line_track[events.line_of(place)] for place in places.tolist()],
        row=[events.row_of(place, folded=folded) for place in places.tolist()],
        start_ns=events.start[places].tolist(),
        length_ns=events.length[places].tolist(),
        event=events.event[places].tolist(),
        name=[events.string(number) for number in events.name[places].tolist()],
    )


def _bins(events: EventFile, starts: Int64) -> list[int]:
    """Returns the number of hits that begin in each of equal parts of the events' time span."""
    first = events.head.first_ns
    length = max(1, events.head.last_ns - events.head.first_ns)
    part = np.minimum((starts - first) * BINS // length, BINS - 1)
    return np.bincount(part, minlength=BINS).tolist()
