"""Kineto's JSON -> the same recording as a Perfetto trace, as each of the two kinds of writers makes it.

`backend_trace` writes what PyTorch's second profiler backend does: slices in groups, all begins and then all ends, by
interned names; what a GPU does as render stages, whose extra data are texts. `converted_trace` writes what converters
of JSON do: begins and ends in the order of time, arguments as JSON, GPU work as slices on tracks that name streams.
"""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

STAGES = ("Kernel", "Memcpy", "Memset", "Annotation", "EventRecord", "HostNode")
_STAGE_OF = {
    "kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "gpu_user_annotation": 4, "graph_event_node": 5, "graph_host_node": 6
}  # fmt: skip
_LAUNCH_ARGUMENTS = ("registers_per_thread", "shared_mem_dynamic", "thread_count")
#: Arguments of an activity in JSON that a stage has in its extra data under other names, or elsewhere.
_EXTRA_NAMES = {"device": "device id", "stream": "stream id", "context": "context id"}
_NOT_EXTRA = {"grid", "block", "registers per thread", "shared memory", "External id", "occupancy"} | {
    "blocks per SM", "warps per SM", "est. achieved occupancy %"
}  # fmt: skip
_FIRST_LANE = 100

Event = Mapping[str, Any]


def varint(number: int) -> bytes:
    number &= 0xFFFF_FFFF_FFFF_FFFF
    text = bytearray()
    while number >= 0x80:
        text.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*text, number])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """Encodes a varint, eight bytes of a float, or a field with a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def message(**fields: Any) -> bytes:
    """Encodes fields `f8=...`; lists are repeated fields, None is left out."""
    parts = []
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                parts.append(field(int(name.removeprefix("f")), each))
    return b"".join(parts)


def packet(**fields: Any) -> bytes:
    return field(1, message(**fields))


def annotation(name: str, value: Any) -> bytes:
    return message(f10=name) + _annotated(value)


def _annotated(value: Any) -> bytes:
    if isinstance(value, bool):
        return message(f2=int(value))
    if isinstance(value, int):
        return message(f4=value)
    if isinstance(value, float):
        return message(f5=value)
    if isinstance(value, list):
        return message(f12=[_annotated(each) for each in value])
    return message(f6="null" if value is None else str(value))


def json_annotation(name: str, value: Any) -> bytes:
    """Encodes an argument as converters do: the value first, lists and objects as JSON."""
    if isinstance(value, (list, dict)):
        return message(f9=json.dumps(value), f10=name)
    return _annotated(value) + message(f10=name)


def backend_trace(document: Mapping[str, Any], *, architecture: str = "sm_70", links: bool = True) -> bytes:
    """links: calls list the stages that they launched, and stages have correlation numbers; else only the former."""
    base = int(document.get("baseTimeNanoseconds", 0))
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    names = _thread_names(document["traceEvents"])
    on_host = [event for event in events if event.get("cat") not in _STAGE_OF]
    on_gpu = [event for event in events if event.get("cat") in _STAGE_OF]
    tracks = {track: place + 1 for place, track in enumerate(dict.fromkeys(map(_track, on_host)))}
    interned = _Interned(on_host, on_gpu, names)
    stage_ids: dict[Any, list[int]] = {}
    for place, event in enumerate(on_gpu):
        stage_ids.setdefault((event.get("args") or {}).get("correlation"), []).append(place + 1)
    parts = [
        packet(f6=message(f1=[message(f1=6, f2=base), message(f1=1, f2=base)])),
        *(_described(track, uuid, names.get(track, "")) for track, uuid in tracks.items()),
        packet(f10=1, f13=1, f12=interned.message()),
    ]
    for _, group in groupby(
        sorted(on_host, key=lambda event: str(event.get("cat"))), key=lambda event: str(event.get("cat"))
    ):
        rows = list(group)
        parts += [_begin(each, base, tracks, interned, stage_ids, links=links) for each in rows]
        parts += [_end(each, base, tracks) for each in rows]
    waits = _waits(document["traceEvents"], on_gpu)
    for place, event in enumerate(on_gpu):
        stage = _stage(event, interned, architecture, links=links) + message(f1=place + 1, f18=waits.get(place))
        parts.append(packet(f8=base + _ns(event["ts"]), f10=1, f13=2, f53=stage))
    return b"".join([*parts, *_samples(document["traceEvents"], base)])


def converted_trace(document: Mapping[str, Any]) -> bytes:
    """Times are relative to the file's base, which is lost."""
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    names = _thread_names(document["traceEvents"])
    tracks = {track: place + 1000 for place, track in enumerate(dict.fromkeys(map(_track, events)))}
    processes = {pid: place + 1 for place, pid in enumerate(dict.fromkeys(pid for pid, _ in tracks))}
    parts = [packet(f8=0, f60=message(f1=uuid, f3=message(f1=_masked(pid)))) for pid, uuid in processes.items()]
    for (pid, tid), uuid in tracks.items():
        is_gpu = any(_track(event) == (pid, tid) and event.get("cat") in _STAGE_OF for event in events)
        name = names.get((pid, tid)) or f"{'stream' if is_gpu else 'thread'} {tid}"
        parts.append(packet(f8=0, f60=message(f1=uuid, f2=name, f5=processes[pid])))
    moments = []
    for place, event in enumerate(events):
        start, end = _ns(event["ts"]), _ns(event["ts"]) + _ns(event.get("dur", 0))
        track = tracks[_track(event)]
        slice = message(
            f4=[json_annotation(key, value) for key, value in (event.get("args") or {}).items()],
            f9=1, f11=track, f22=str(event.get("cat")), f23=str(event["name"]),
        )  # fmt: skip
        begin, close = packet(f8=start, f10=1001, f11=slice), packet(f8=end, f10=1001, f11=message(f9=2, f11=track))
        # An end precedes a begin at the same time, and a nested slice is after the enclosing begin and before its end.
        moments += [((start, 1, start - end, place), begin), ((end, 0 if end > start else 2, -start, -place), close)]
    return b"".join([*parts, *(text for _, text in sorted(moments, key=lambda moment: moment[0]))])


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


def packets_of(content: bytes) -> list[bytes]:
    """The packets of a trace, with their tags and lengths."""
    found, at = [], 0
    while at < len(content):
        size = shift = 0
        place = at + 1
        while True:
            size |= (content[place] & 0x7F) << shift
            shift += 7
            place += 1
            if content[place - 1] < 0x80:
                break
        found.append(content[at : place + size])
        at = place + size
    return found


class _Interned:
    """Numbers of texts as the backend assigns them: from 1 on for each kind of text, lanes from 100 on."""

    def __init__(self, on_host: Sequence[Event], on_gpu: Sequence[Event], names: Mapping[Any, str]) -> None:
        self.categories = _numbered(str(event.get("cat")) for event in on_host)
        others = [event for event in on_gpu if event.get("cat") != "kernel"]
        self.names = _numbered(str(event["name"]) for event in (*on_host, *others))
        self.kernels = _numbered(str(event["name"]) for event in on_gpu if event.get("cat") == "kernel")
        lanes = dict.fromkeys(_track(event) for event in on_gpu)
        self.lanes = {track: _FIRST_LANE + place for place, track in enumerate(lanes)}
        self._lane_names = {
            iid: f"[{int(track[1]):04d}] {names.get(track) or f'stream {track[1]}'}".strip()
            for track, iid in self.lanes.items()
        }

    def message(self) -> bytes:
        stages = [(place, name) for place, name in enumerate(STAGES, start=1)]
        return message(
            f1=[_named(iid, text) for text, iid in self.categories.items()],
            f2=[_named(iid, text) for text, iid in self.names.items()],
            f24=[_named(iid, text) for iid, text in (*stages, *self._lane_names.items())],
            f1000=[message(f1=iid, f3=text) for text, iid in self.kernels.items()],
            f1001=[_named(iid, text) for iid, text in enumerate(_LAUNCH_ARGUMENTS, start=1)],
        )


def _numbered(texts: Iterable[str]) -> dict[str, int]:
    return {text: place for place, text in enumerate(dict.fromkeys(texts), start=1)}


def _named(iid: int, text: str) -> bytes:
    return message(f1=iid, f2=text)


def _track(event: Event) -> tuple[Any, Any]:
    return event.get("pid"), event.get("tid")


def _thread_names(events: Iterable[Event]) -> dict[tuple[Any, Any], str]:
    named = [event for event in events if event.get("ph") == "M" and event.get("name") == "thread_name"]
    return {_track(event): event["args"]["name"] for event in named}


def _masked(number: Any) -> int:
    return int(number) & 0x7FFF_FFFF if isinstance(number, int) or str(number).isdigit() else 1


def _ns(us: Any) -> int:
    return round(Decimal(str(us)) * 1000)


def _described(track: tuple[Any, Any], uuid: int, name: str) -> bytes:
    pid, tid = map(_masked, track)
    return packet(f60=message(f1=uuid, f4=message(f1=pid, f2=tid, f5=name)))


def _begin(
    event: Event,
    base: int,
    tracks: Mapping[Any, int],
    interned: _Interned,
    stage_ids: Mapping[Any, list[int]],
    *,
    links: bool,
) -> bytes:
    args = dict(event.get("args") or {})
    launched = stage_ids.get(args["correlation"], []) if "correlation" in args else []
    if not links and launched:
        args.pop("correlation")
    slice = message(
        f3=interned.categories[str(event.get("cat"))],
        f4=[annotation(key, value) for key, value in args.items()],
        f9=1,
        f10=interned.names[str(event["name"])],
        f11=tracks[_track(event)],
        f3000=message(f1=launched) if launched else None,
    )
    return packet(f8=base + _ns(event["ts"]), f10=1, f13=2, f11=slice)


def _end(event: Event, base: int, tracks: Mapping[Any, int]) -> bytes:
    end = base + _ns(event["ts"]) + _ns(event.get("dur", 0))
    return packet(f8=end, f10=1, f13=2, f11=message(f9=2, f11=tracks[_track(event)]))


def _waits(events: Iterable[Event], on_gpu: Sequence[Event]) -> dict[int, list[int]]:
    """By index of a stage: numbers of the stages that it waited for, from arrows between nodes of graphs."""
    ends = {(*_track(event), _ns(event["ts"]) + _ns(event.get("dur", 0))): k + 1 for k, event in enumerate(on_gpu)}
    starts = {(*_track(event), _ns(event["ts"])): place for place, event in enumerate(on_gpu)}
    arrows = [event for event in events if event.get("ph") in ("s", "f") and event["id"] >= 2**40]
    begun = {event["id"]: ends.get((*_track(event), _ns(event["ts"]))) for event in arrows if event["ph"] == "s"}
    waits: dict[int, list[int]] = {}
    for event in arrows:
        place, before = starts.get((*_track(event), _ns(event["ts"]))), begun.get(event["id"])
        if event["ph"] == "f" and place is not None and before is not None:
            waits.setdefault(place, []).append(before)
    return waits


def _samples(events: Iterable[Event], base: int) -> list[bytes]:
    """Counters of GPUs, after a packet that names them."""
    samples = [event for event in events if event.get("ph") == "C" and str(event.get("pid")).startswith("GPU ")]
    gpus = dict.fromkeys(event["pid"] for event in samples)
    names = {gpu: _numbered(str(event["name"]) for event in samples if event["pid"] == gpu) for gpu in gpus}
    described = []
    for iid, (gpu, of_gpu) in enumerate(names.items(), start=1):
        counters = message(f1=[_named(number, name) for name, number in of_gpu.items()])
        described.append(message(f1=iid, f2=counters, f3=int(gpu.split()[1])))
    iids = {gpu: iid for iid, gpu in enumerate(names, start=1)}
    parts = [packet(f10=1, f12=message(f47=described))] if samples else []
    for event in samples:
        (value,) = event["args"].values()
        if value is not None:
            kind = {"f3": value} if isinstance(value, float) else {"f2": value}
            sample = message(f1=names[event["pid"]][str(event["name"])], **kind)
            content = message(f2=sample, f4=iids[event["pid"]])
            parts.append(packet(f8=base + _ns(event["ts"]), f10=1, f13=2, f52=content))
    return parts


def _stage(event: Event, interned: _Interned, architecture: str, *, links: bool) -> bytes:
    args = dict(event.get("args") or {})
    if not links:
        args.pop("correlation", None)
    if "original_stream" in args:
        args["stream"] = args.pop("original_stream")
    extra = {_EXTRA_NAMES.get(key, key): value for key, value in args.items() if key not in _NOT_EXTRA}
    extra = {key: value for key, value in extra.items() if value or key in ("device id", "stream id")}
    is_kernel = event.get("cat") == "kernel"
    return message(
        f2=_ns(event.get("dur", 0)),
        f6=[message(f1=key, f2=str(value)) for key, value in (*extra.items(), ("arch", architecture))],
        f11=int(args.get("device", event.get("pid") or 0)),
        f13=interned.lanes[_track(event)],
        f14=_STAGE_OF[event["cat"]],
        f19=interned.kernels[str(event["name"])] if is_kernel else None,
        f20=None if is_kernel else interned.names[str(event["name"])],
        f21=_launch(args) if is_kernel and "grid" in args else None,
    )


def _launch(args: Event) -> bytes:
    values = {1: args.get("registers per thread"), 2: args.get("shared memory")}
    return message(
        f1=_triple(args["grid"]),
        f2=_triple(args["block"]) if "block" in args else None,
        f3=[message(f1=iid, f4=int(value)) for iid, value in values.items() if value],
    )


def _triple(values: Sequence[int]) -> bytes:
    return message(f1=values[0], f2=values[1], f3=values[2])
