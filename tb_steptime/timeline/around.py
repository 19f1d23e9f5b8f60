"""Why the device was idle before an event: the parts of the idle partition that it ended.

thread   --op--[sync]   [lll]
device   kk                  k     "for 2 us the launching thread was in op, for 3 us ..."

The events around an event on its thread are found from the lines of the event file.

line 0   |------- train.py(5): step -------|
line 1      |---- aten::linear ----|
line 2        |- aten::addmm -|                around the call: frame, linear, addmm
calls            [launch]

Details of events are not stored, so their words stand here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.reasons import REASONS, devices_by_activity
from tb_steptime.text import Phrase, Quantity, ns, text
from tb_steptime.timeline.answers import Track, TrackKind
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.frames import MODULE_FRAME
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind

#: Kinds of events of the launching thread that explain each reason.
_CAUSES = {"blocking_call": CALL_KINDS, "allocator": CALL_KINDS, "cpu_work": (Kind.CPU_OP, *CALL_KINDS)}


def write_gaps(trace: Trace, columns: Columns) -> None:
    """Writes all segments of idle time that an activity ended, sorted by its number: start, end, reason."""
    launches = find_launches(trace)
    segments = [idle for device in devices_by_activity(trace) for idle in idle_segments(trace, device)]
    if not segments:
        return
    ended = [np.flatnonzero(idle.launch >= 0) for idle in segments]
    activity = np.concatenate(
        [launches.activity[idle.launch[rows]] for idle, rows in zip(segments, ended, strict=True)]
    )
    order = np.argsort(activity, kind="stable")
    for name in ("start", "end", "reason"):
        values = np.concatenate([getattr(idle, name)[rows] for idle, rows in zip(segments, ended, strict=True)])
        columns.add(f"gap.{name}", values[order])
    columns.add("gap.event", activity[order])


def why_gap(events: EventFile, number: int, call: int | None) -> tuple[int, Phrase] | None:
    """Returns where the idle time before a device event begins, and its reason, or None if the device was not idle, or
    the reason is unknown. call: the place of the call that launched the event."""
    if not events.has("gap.event"):
        return None
    rows = slice(*np.searchsorted(events.column("gap.event"), (number, number + 1)).tolist())
    start, end, reason = (events.column(f"gap.{name}")[rows] for name in ("start", "end", "reason"))
    if not len(start):
        return None
    total = np.bincount(reason, end - start)
    parts = []
    for place in sorted(dict.fromkeys(reason.tolist()), key=lambda each: -total[each]):
        of_reason = np.flatnonzero(reason == place)
        longest = of_reason[np.argmax(end[of_reason] - start[of_reason])]
        cause = _cause(events, REASONS[place], call, int(start[longest]), int(end[longest]))
        parts.append(IdlePart(REASONS[place], int((end[of_reason] - start[of_reason]).sum()), cause))
    return int(start[0]), idle_sentence(parts)


def _cause(events: EventFile, reason: str, call: int | None, start_ns: int, end_ns: int) -> str | None:
    """Returns the event that covers most of this time on the launching thread, or None if that explains nothing."""
    kinds = _CAUSES.get(reason)
    if kinds is None or call is None:
        return None
    place = longest_in(events, thread_of(events, call), kinds, start_ns, end_ns)
    return None if place is None else events.string(int(events.name[place]))


def thread_of(events: EventFile, place: int) -> int:
    """Returns the host thread of an event, or -1 for none."""
    return events.head.track_thread[events.head.line_track[events.line_of(place)]]


def around(events: EventFile, place: int) -> list[int]:
    """Returns the places of the events on its thread that enclose an event, outermost first. There are none for an
    event without a thread."""
    thread, own_line = thread_of(events, place), events.line_of(place)
    if thread < 0:
        return []
    start, end = int(events.start[place]), events.end_of(place)
    open_events = [events.open_at(line, start) for line in _lines(events, thread) if line != own_line]
    enclosing = [each for each in open_events if each is not None and events.end_of(each) >= end]
    shorter = [each for each in enclosing if _goes_before(events, each, place)]
    return sorted(shorter, key=lambda each: (int(events.start[each]), -int(events.length[each])))


def _goes_before(events: EventFile, outer: int, inner: int) -> bool:
    """Returns whether an event may enclose another one that lies within it. Of two events with the same start and end,
    the one on the line above is the outer one."""
    same = events.start[outer] == events.start[inner] and events.length[outer] == events.length[inner]
    return not same or outer < inner


def _lines(events: EventFile, thread: int) -> Iterator[int]:
    for track, track_thread in enumerate(events.head.track_thread):
        if track_thread == thread:
            yield from events.lines(track)


def self_ns(events: EventFile, place: int) -> int:
    """Returns the length of an event minus that of the events directly inside it, on its track."""
    line = events.line_of(place)
    start = int(events.start[place])
    end = events.end_of(place)
    track = events.head.line_track[line]
    if line + 1 not in events.lines(track):
        return end - start
    inside = events.within(line + 1, start, end)
    begins, length = (column[inside.start : inside.stop] for column in (events.start, events.length))
    return end - start - int(np.minimum(length, end - begins).sum())


def calls_in(events: EventFile, place: int) -> Int64:
    """Returns the places of the runtime calls that begin within an event of a thread, in time order."""
    thread = thread_of(events, place)
    start = int(events.start[place])
    end = events.end_of(place)
    lines = [line for line in _lines(events, thread) if _kind(events, line) == "calls"] if thread >= 0 else []
    ranges = [events.within(line, start, end) for line in lines]
    return np.sort(np.concatenate([np.arange(0), *(np.arange(each.start, each.stop) for each in ranges)]))


def longest_in(events: EventFile, thread: int, kinds: Collection[int], start_ns: int, end_ns: int) -> int | None:
    """Returns the place of the event of these kinds that covers most of a time range on a thread. Of events that cover
    as much, the outermost counts, and ops come before calls."""
    best, most = None, 0
    for line in _lines(events, thread):
        opened = events.open_at(line, start_ns)
        started = events.within(line, start_ns + 1, end_ns)
        places = np.append(np.arange(started.start, started.stop), [] if opened is None else [opened]).astype(np.int64)
        places = places[np.isin(events.column("kind")[places], tuple(kinds))]
        if not len(places):
            continue
        low = np.maximum(events.start[places], start_ns)
        covered = np.minimum(events.start[places] + events.length[places], end_ns) - low
        if covered.max() > most:
            best, most = int(places[np.argmax(covered)]), int(covered.max())
    return best


def _kind(events: EventFile, line: int) -> str:
    return events.head.tracks[events.head.line_track[line]].kind


#: By reason of `metrics.idle`: the words with what the launching thread was in, and those without.
_CLAUSES: dict[str, tuple[str, str]] = {
    "data_loading": ("the main process waited for a batch",) * 2,
    "blocking_call": ("the launching thread was blocked in {cause}", "the launching thread was blocked in a call"),
    "allocator": (
        "the launching thread was in the memory allocation call {cause}",
        "the launching thread was in a memory allocation call",
    ),
    "cpu_work": ("the launching thread was in {cause}", "the launching thread was in an op or a call"),
    "nothing_recorded": ("the trace has no event on the launching thread (Python code, for example)",) * 2,
    "launch_latency": ("the launch call had begun, but the GPU had not started (launch latency)",) * 2,
    "queued": ("the work was in the queue already (hardware gap between two kernels)",) * 2,
    "collective_wait": ("the collective was in the queue and waited for other ranks, a stream or an event",) * 2,
    "dependency": ("the work was in the queue and waited for other work (an event, a stream or another GPU)",) * 2,
    "unrecorded_work": ("the GPU was busy with work that this trace does not show",) * 2,
    "unknown": ("the trace has no launch call for it",) * 2,
    "before_recording": ("the GPU still ran work that was launched before the recording",) * 2,
    "once": ("the host did what comes once, such as compiling, loading or setting up",) * 2,
}


@dataclass(frozen=True)
class IdlePart:
    """A part of the idle time. cause: the call or op that the launching thread was in; None where none is named."""

    reason: str
    ns: int
    cause: str | None


def idle_sentence(parts: Sequence[IdlePart]) -> Phrase:
    """Returns a sentence on why the device was idle. parts: at least one, the longest first."""
    values: dict[str, Quantity] = {"gap": ns(sum(part.ns for part in parts))}
    clauses = []
    for index, part in enumerate(parts):
        clause = _CLAUSES[part.reason][part.cause is None].replace("{cause}", f"{{cause{index}}}")
        clauses.append(clause if len(parts) == 1 else f"for {{part{index}}} {clause}")
        if part.cause is not None:
            values[f"cause{index}"] = text(part.cause)
        if len(parts) > 1:
            values[f"part{index}"] = ns(part.ns)
    return Phrase(f"The GPU was idle for [{{gap}}] before this: {'; '.join(clauses)}.", values)


_BY_KIND = {
    Kind.CPU_OP: "CPU op",
    Kind.USER: "Named range",
    Kind.PYTHON: "Python frame",
    Kind.RUNTIME: "Runtime call",
    Kind.DRIVER: "Driver call",
    Kind.KERNEL: "GPU kernel",
    Kind.MEMCPY: "Memory copy",
    Kind.MEMSET: "Memory set",
    Kind.GPU_USER: "Named range on the GPU",
    Kind.MARK: "Mark on the GPU, which does no work",
    Kind.OVERHEAD: "Overhead of the profiler",
}
_BY_TRACK: dict[TrackKind, str] = {
    "steps": "Step",
    "phases": "Phase of the host",
    "excess": "Time that does not repeat in every step",
    "loader": "Wait for the data loader",
}


def kind_name(events: EventFile, place: int) -> str:
    """Returns the kind of an event in words, such as "GPU kernel", or "Event" for one that the trace has no word
    for."""
    track = events.head.tracks[events.head.line_track[events.line_of(place)]]
    if track.kind in _BY_TRACK:
        return _BY_TRACK[track.kind]
    kind = Kind(int(events.column("kind")[place]))
    if kind == Kind.PYTHON and events.string(int(events.name[place])).startswith(MODULE_FRAME):
        return "Call of a module"
    return _BY_KIND.get(kind, "Event")


def track_name(track: Track) -> str:
    """Returns the track's label, with its group where the label alone says little: "GPU 0, Stream 7"."""
    return f"{track.group}, {track.label}" if track.kind in ("stream", "ranges") else track.label
