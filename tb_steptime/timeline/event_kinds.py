"""What an event is, in words: its kind, and the track that it is on."""

from __future__ import annotations

from tb_steptime.timeline.answers import Track, TrackKind
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.trace.frames import MODULE_FRAME
from tb_steptime.trace.table import Kind

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
    Kind.OVERHEAD: "Overhead of the profiler",
}
_BY_TRACK: dict[TrackKind, str] = {"steps": "Step", "phases": "Phase of the host", "loader": "Wait for the data loader"}


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
