"""What an event is, and why the GPU was idle before it, in words. Details of events are not stored, so their words
stand here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_steptime.text import Phrase, Quantity, ns, text
from tb_steptime.timeline.answers import Track, TrackKind
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.trace.frames import MODULE_FRAME
from tb_steptime.trace.table import Kind

#: By reason of `metrics.idle`: with what the launching thread was in, and without.
_CLAUSES: dict[str, tuple[str, str]] = {
    "data_loading": ("the main process waited for a batch",) * 2,
    "blocking_call": (
        "the launching thread was blocked in {cause}",
        "the launching thread was blocked in a call",
    ),
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
    """Why the device was idle, in a sentence. parts: the longest first; at least one."""
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
    """ "GPU kernel", "Python frame"; "Event" for what the trace has no word for."""
    track = events.head.tracks[events.head.line_track[events.line_of(place)]]
    if track.kind in _BY_TRACK:
        return _BY_TRACK[track.kind]
    kind = Kind(int(events.column("kind")[place]))
    if kind == Kind.PYTHON and events.string(int(events.name[place])).startswith(MODULE_FRAME):
        return "Call of a module"
    return _BY_KIND.get(kind, "Event")


def track_name(track: Track) -> str:
    """With its group where the label alone says little: "GPU 0, Stream 7"."""
    return f"{track.group}, {track.label}" if track.kind in ("stream", "ranges") else track.label
