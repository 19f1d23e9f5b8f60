"""Every event of a span whose name holds some words: how many, how long in all, and a page of them in time order.

    words "gemm"    names   [aten::addmm, gemm f32 64x64, ...]     each distinct name is compared once
                    events  .  x  .  .  x  x  .                    found by the number of their name

A name is compared as the trace has it and as it is written on the box, without regard to case. So whoever reads
"gemm bf16 128x256" in the picture finds it, and whoever knows the kernel's whole name does too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.timeline.answers import Hits, SearchPage, TrackHits
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.trace.table import Bool, Int64

#: Hits that are answered at once: as many as are gone through before the next answer is there.
PAGE_HITS = 200
#: Of these, so many come before the hit that is asked for: going backwards is as near.
_BEFORE = PAGE_HITS // 4
#: Where the hits lie in the span, in so many bins.
BINS = 1000
#: A longer text is no name.
MAX_WORDS = 500


@dataclass(frozen=True)
class Search:
    """What is searched for.

    from_ns   hits around the first one that begins then or later; around number `first` in time order where it is given
    track     only of this one
    folded    rows of hits are those of folded stacks
    """

    words: str
    from_ns: int
    first: int | None = None
    track: int | None = None
    folded: bool = False


def search_page(events: EventFile, wanted: Search) -> SearchPage:
    """What is found, with a page of hits. No words find nothing."""
    places = _found(events, wanted.words[:MAX_WORDS].strip().lower())
    line = np.searchsorted(events.column("level0.bounds"), places, side="right") - 1
    of_track = np.array(events.head.line_track, np.int64)[line]
    tracks = _by_track(events, places, of_track)
    places = places if wanted.track is None else places[of_track == wanted.track]
    starts = events.start[places]
    order = np.argsort(starts, kind="stable")  # of equals that on the upper track first
    places, starts = places[order], starts[order]
    following = int(np.searchsorted(starts, wanted.from_ns)) if wanted.first is None else wanted.first
    shown = max(0, min(following - _BEFORE, len(places) - PAGE_HITS))
    return SearchPage(
        count=len(places),
        total_ns=int(events.length[places].sum()),
        tracks=tracks,
        next=min(max(following, 0), len(places)),
        first=shown,
        hits=_hits(events, places[shown : shown + PAGE_HITS], wanted.folded),
        bins_from_ns=events.head.first_ns,
        bins_to_ns=max(events.head.last_ns, events.head.first_ns + 1),
        bins=_bins(events, starts),
    )


def _found(events: EventFile, words: str) -> Int64:
    """Places of the events whose name holds these words."""
    if not words:
        return np.arange(0)
    return np.flatnonzero(_names_with(events, words)[events.name[: events.event_count]])


def _names_with(events: EventFile, words: str) -> Bool:
    """For each string of the file: is it a name with these words, or written as one?"""
    matches = np.array([words in each for each in events.lower_strings], bool)
    shown = events.column("shown")
    matches[: len(shown)] |= (shown >= 0) & matches[shown]
    return matches


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
    """How many hits begin in each of equal parts of what the events span."""
    first, length = events.head.first_ns, max(1, events.head.last_ns - events.head.first_ns)
    part = np.minimum((starts - first) * BINS // length, BINS - 1)
    counts: list[int] = np.bincount(part, minlength=BINS).tolist()
    return counts
