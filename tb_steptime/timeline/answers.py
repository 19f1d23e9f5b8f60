"""Answers about single events: those of a window, and everything about one of them."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.text import Phrase, Quantity

TrackKind = Literal["steps", "phases", "excess", "thread", "loader", "calls", "stream", "ranges"]


class Track(msgspec.Struct, frozen=True):
    """One track of the picture.

    group      the heading above it: "GPU 0", "Process 4711"
    label      "Stream 7", "Thread 4711 (pt_autograd_0)"
    rows       number of nesting levels, at least one
    pinned     whether it stays visible when the picture is scrolled, as steps, phases, excess, the loader, and the
               busiest streams do
    all_rows   number of nesting levels with every Python frame; more than `rows` where frames are folded
    """

    id: int
    kind: TrackKind
    group: str
    label: str
    rows: int
    pinned: bool
    all_rows: int


class Boxes(msgspec.Struct, frozen=True):
    """Events as columns of equal length, ordered by track, row and start. Events that are too narrow to see are merged
    into one box.

    start_ns   relative to the window's start
    count      number of its events
    event      number of the longest one, by which its details are requested
    name       place of that one's name in `names`
    colour     place in `colours`
    """

    track: list[int]
    row: list[int]
    start_ns: list[int]
    length_ns: list[int]
    name: list[int]
    colour: list[int]
    count: list[int]
    event: list[int]


class Depth(msgspec.Struct, frozen=True):
    """Queue depth in bins of the window: the mean of each bin in thousandths, and its peak."""

    bin_ns: int
    mean_permille: list[int]
    peak: list[int]


class TimelinePage(msgspec.Struct, frozen=True):
    """The events that touch [start_ns, end_ns), merged where they are narrower than detail_ns.

    names: as on the boxes; full_names: as in the trace, "" where that is the same; colours: ids of meanings.
    """

    start_ns: int
    end_ns: int
    detail_ns: int
    tracks: list[Track]
    names: list[str]
    full_names: list[str]
    colours: list[str]
    boxes: Boxes
    queue: Depth | None


class KernelsNamed(msgspec.Struct, frozen=True):
    """Kernels of one name that begin in a window. name: as on the boxes; their time is that of their whole length."""

    name: str
    count: int
    total_ns: int


class BusyBins(msgspec.Struct, frozen=True):
    """Busy time of [start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins.

    of        whether busy_ns is of the GPUs or, in a recording without one, of the host
    busy_ns   busy time in each bin, summed over the devices
    kernels   number of kernels that begin in each bin
    most      the kernel names with the most time in the window, the longest first
    """

    start_ns: int
    end_ns: int
    of: Literal["gpu", "host"]
    devices: int
    busy_ns: list[int]
    kernels: list[int]
    most: list[KernelsNamed]


class EventLink(msgspec.Struct, frozen=True):
    """An event that is related to another one: its launch call, the work that it launched, the op around it. row: -1
    for a folded Python frame."""

    role: str
    event: int
    name: str
    track: int
    row: int
    start_ns: int
    end_ns: int


class EventFact(msgspec.Struct, frozen=True):
    """A property of an event. copied: the text that a press copies, such as the whole path of a file; None for
    nothing."""

    label: str
    value: Quantity
    copied: str | None = None


class EventDetail(msgspec.Struct, frozen=True):
    """One event.

    name           the name in the trace
    short_name     the name on the event's box
    kind           "GPU kernel" and the like
    on             name of the track
    gap_start_ns   begin of the idle time of the device before the event
    why_gap        why the device was idle then; None for host events, without idle time, and for an unknown reason
    """

    event: int
    name: str
    short_name: str
    kind: str
    on: str
    track: int
    row: int
    start_ns: int
    end_ns: int
    facts: list[EventFact]
    links: list[EventLink]
    gap_start_ns: int | None
    why_gap: Phrase | None


class Hits(msgspec.Struct, frozen=True):
    """Events as columns of equal length, in time order and then by track. start_ns: relative to the span's origin. row:
    -1 for a folded Python frame."""

    track: list[int]
    row: list[int]
    start_ns: list[int]
    length_ns: list[int]
    event: list[int]
    name: list[str]


class TrackHits(msgspec.Struct, frozen=True):
    """The number of events found on a track, and their total length."""

    track: int
    count: int
    total_ns: int


class SearchPage(msgspec.Struct, frozen=True):
    """The events of the whole span whose names contain the searched words.

    tracks            one entry for each track with such events
    count, total_ns   number and length of the events of the requested track, or of all tracks; nested events are added
                      up as well
    hits              a part of these events
    first             number of the first event in hits, counted from 0 in time order
    next              number of the first event that begins at the requested instant or later; count if none does
    bins              number of events that begin in each of equal parts of [bins_from_ns, bins_to_ns), the range of all
                      events
    """

    count: int
    total_ns: int
    tracks: list[TrackHits]
    next: int
    first: int
    hits: Hits
    bins_from_ns: int
    bins_to_ns: int
    bins: list[int]
