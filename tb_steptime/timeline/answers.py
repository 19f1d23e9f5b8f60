"""Answers about single events: those of a window, and everything about one of them."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.text import Phrase, Quantity

TrackKind = Literal["steps", "phases", "excess", "thread", "loader", "calls", "stream", "ranges"]


class Track(msgspec.Struct, frozen=True):
    """One track of the picture. rows: nesting levels, at least one.

    group: the heading above it ("GPU 0", "Process 4711"); label: "Stream 7", "Thread 4711 (pt_autograd_0)".
    pinned: it is among those that a reader wants in sight whatever else is: steps, phases, what does not repeat, the
    loader, the busiest streams.
    all_rows: nesting levels with every Python frame; more than `rows` where frames are folded.
    """

    id: int
    kind: TrackKind
    group: str
    label: str
    rows: int
    pinned: bool
    all_rows: int


class Boxes(msgspec.Struct, frozen=True):
    """Events as columns of equal length, ordered by track, row and start.

    start_ns is relative to the window's start. Events too narrow to see are merged into one box: count says how many,
    name is that of the longest of them. event: the number to ask for one event's details; of several, the longest.
    name: place in `names`; colour: place in `colours`.
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
    """Queue depth in bins of the window: mean in thousandths, and peak."""

    bin_ns: int
    mean_permille: list[int]
    peak: list[int]


class TimelinePage(msgspec.Struct, frozen=True):
    """The events that touch [start_ns, end_ns), merged where narrower than detail_ns. colours: tokens of meaning.

    names: as they are written on boxes; full_names: each as the trace has it, "" where that is the same.
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
    """Kernels of one name that begin in a window, with their whole length. name: as it is written on boxes."""

    name: str
    count: int
    total_ns: int


class BusyBins(msgspec.Struct, frozen=True):
    """How busy [start_ns, end_ns) was, in bins of equal length: bin i begins at start + i x length // bins.

    of: the GPUs or, in a recording without one, the host. busy_ns: of each bin, summed over the devices. kernels: that
    begin in each bin; most: the names with most time of these, longest first.
    """

    start_ns: int
    end_ns: int
    of: Literal["gpu", "host"]
    devices: int
    busy_ns: list[int]
    kernels: list[int]
    most: list[KernelsNamed]


class EventLink(msgspec.Struct, frozen=True):
    """Another event that this one is tied to: its launch call, the work that it launched, the op around it. row: -1
    for a Python frame that is folded away."""

    role: str
    event: int
    name: str
    track: int
    row: int
    start_ns: int
    end_ns: int


class EventFact(msgspec.Struct, frozen=True):
    """copied: what a press copies, such as the whole path of a file; None where the value is not worth it."""

    label: str
    value: Quantity
    copied: str | None = None


class EventDetail(msgspec.Struct, frozen=True):
    """One event. why_gap: why the device was idle before it (device events only; None: it was not idle, or the reason
    is not known); gap_start_ns: where that idle time begins.

    name: as the trace has it; short_name: as it is written on its box. kind: what it is ("GPU kernel"); on: the track.
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
    """Events as columns of equal length, in time order; of those that begin together that on the upper track first.
    start_ns is relative to the span's origin. row: -1 for a Python frame that is folded away."""

    track: list[int]
    row: list[int]
    start_ns: list[int]
    length_ns: list[int]
    event: list[int]
    name: list[str]


class TrackHits(msgspec.Struct, frozen=True):
    """How many events of a track were found, and how long they are in all."""

    track: int
    count: int
    total_ns: int


class SearchPage(msgspec.Struct, frozen=True):
    """The events of the whole span with some words in their name.

    tracks: of each track that has any. count, total_ns: of the track that was asked for, else of all; nested events
    are added up as well. next: number in time order, from 0, of the first that begins at the instant that was asked for
    or later; count where none does. first: the number of the first one in hits. bins: how many begin in each of equal
    parts of [bins_from_ns, bins_to_ns), which all events span.
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
