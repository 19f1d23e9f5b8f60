"""Chunks of a file -> packets. A trace is nothing but packets, each behind its tag and its length.

    0a <length> <packet> 0a <length> <packet> ...

If something else stands there, the next packet is searched for: one that decodes and is followed by another.

The protobuf messages have only the fields that are read; others are skipped when decoded.

Field numbers are those of Perfetto's own definitions. Perfetto's Python package lacks those of compute kernels (1000),
of the names of launch arguments (1001) and of the link from a call to its launches (3000).

Texts, lists within annotations and extra data stay bytes: most repeat, and `arguments` decodes each spelling once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tb_steptime.trace.perfetto.recognition import PACKET_TAG, varint

#: A packet longer than this is taken to be damaged; the largest valid one holds all names of a trace.
_LONG_PACKET_BYTES = 64 * 1024 * 1024
#: Maximum number of places in a file at which reading a packet is tried. If more are needed, it is not a damaged trace
#: but another kind of file.
_MOST_TRIES = 200_000
#: Bytes of packets that are decoded together: as messages they take some ten times as much.
_TOGETHER_BYTES = 256 * 1024


class Packets:
    """Reads packets from chunks. ends_at_damage: stop at the first damaged one.

    lost_count: damaged ones so far; cut_short: the file ends within one, known at the end.
    """

    def __init__(self, chunks: Iterator[bytes], ends_at_damage: bool = False) -> None:
        self._chunks = chunks
        self._ends_at_damage = ends_at_damage
        self._text = b""
        self._ended = False
        self._tries = 0
        self.lost_count = 0
        self.cut_short = False

    def blocks(self) -> Iterator[list[Any]]:
        """Yields the packets in the order of the file, some at a time."""
        while self._text or not self._ended:
            whole, damaged = _whole(self._text)
            if whole:
                text, self._text = self._text[:whole], self._text[whole:]
                yield self._decoded(text)
            if self._ends_at_damage and (damaged or self.lost_count):
                return
            if damaged or (self._ended and self._text):
                self._resume(damaged)
            elif not self._ended:
                self._more()

    def _more(self) -> bool:
        """Reads on until the text is twice as long, so that rescanning costs no more than twice the length."""
        size = len(self._text)
        target_size = max(_TOGETHER_BYTES, 2 * size)
        pieces = [self._text]
        while size < target_size:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                break
            pieces.append(chunk)
            size += len(chunk)
        self._text = b"".join(pieces)
        return not self._ended

    def _decoded(self, text: bytes) -> list[Any]:
        try:
            return list(packets_of(text))
        except DecodeError:
            pass
        packets = []
        at = 0
        while at < len(text):
            size, start = varint(text, at + 1)
            at = start + size
            try:
                packets.append(packet_of(text[start:at]))
            except DecodeError:
                self.lost_count += 1
                if self._ends_at_damage:
                    break
        return packets

    def _resume(self, damaged: bool) -> None:
        """Continues before the next packet. damaged: the text does not begin with one; otherwise the file ends within
        it, or its length is damaged."""
        start = 1
        while True:
            next_packet = self._next_packet(start)
            if next_packet is not None:
                self.lost_count += 1
                self._text = self._text[next_packet:]
                return
            if self._ended or self._tries > _MOST_TRIES:
                self._ended = True
                self.lost_count += damaged
                self.cut_short = True
                self._text = b""
                return
            cut = max(0, len(self._text) - _TOGETHER_BYTES)
            self._text, start = self._text[cut:], 0
            self._more()

    def _next_packet(self, start: int) -> int | None:
        """Returns where a packet begins that decodes, has a time or a known type, and is followed by another or by the
        end, or None if none is found."""
        text = self._text
        at = text.find(PACKET_TAG, start)
        while at >= 0 and self._tries <= _MOST_TRIES:
            self._tries += 1
            try:
                size, begin = varint(text, at + 1)
                end = begin + size
                follows = text[end] == PACKET_TAG if end < len(text) else self._ended and end == len(text)
                if size and follows and _is_packet(text[begin:end]):
                    return at
            except (IndexError, ValueError):
                pass
            at = text.find(PACKET_TAG, at + 1)
        return None


def _whole(text: bytes) -> tuple[int, bool]:
    """Returns how much of the text is whole packets, and whether what follows cannot be one."""
    at, end = 0, len(text)
    while at < end:
        if text[at] != PACKET_TAG:
            return at, True
        try:
            size, start = varint(text, at + 1)
        except IndexError:
            return at, False
        except ValueError:
            return at, True
        if size > _LONG_PACKET_BYTES:
            return at, True
        if start + size > end:
            return at, False
        at = start + size
    return at, False


def _is_packet(text: bytes) -> bool:
    try:
        packet = packet_of(text)
    except DecodeError:
        return False
    return bool(packet.timestamp) or any(packet.HasField(name) for name in ("track", "interned", "clocks"))


_PACKAGE = "tb_steptime.perfetto"
_TYPES = {
    "int": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    "signed": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
}
_SINGLE = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
_REPEATED = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED

#: Fields of each message, their numbers and types. "*" marks repeated ones.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Packets": {"packet": (1, "Packet*")},
    "Packet": {
        "timestamp": (8, "int"),
        "sequence": (10, "int"),
        "sequence_flags": (13, "int"),
        "track_event": (11, "TrackEvent"),
        "interned": (12, "Interned"),
        "clocks": (6, "Clocks"),
        "stage": (53, "Stage"),
        "counters": (52, "Counters"),
        "track": (60, "Track"),
    },
    "Clocks": {"clock": (1, "Clock*")},
    "Clock": {"id": (1, "int"), "timestamp": (2, "int")},
    "Track": {
        "uuid": (1, "int"),
        "name": (2, "bytes"),
        "process": (3, "Process"),
        "thread": (4, "Thread"),
        "parent": (5, "int"),
    },
    "Process": {"pid": (1, "signed"), "name": (6, "bytes")},
    "Thread": {"pid": (1, "signed"), "tid": (2, "signed"), "name": (5, "bytes")},
    "Interned": {
        "categories": (1, "Named*"),
        "names": (2, "Named*"),
        "specifications": (24, "Named*"),
        "counters": (47, "DescribedCounters*"),
        "kernels": (1000, "Kernel*"),
        "arguments": (1001, "Named*"),
    },
    "Named": {"iid": (1, "int"), "name": (2, "bytes")},
    "Kernel": {"iid": (1, "int"), "name": (3, "bytes"), "mangled_name": (2, "bytes")},
    "TrackEvent": {
        "type": (9, "int"),
        "track": (11, "int"),
        "name_iid": (10, "int"),
        "name": (23, "bytes"),
        "category_iids": (3, "int*"),
        "categories": (22, "bytes*"),
        "annotations": (4, "Annotation*"),
        "launch": (3000, "Launch"),
    },
    "Annotation": {
        "name": (10, "bytes"),
        "bool": (2, "int"),
        "uint": (3, "int"),
        "int": (4, "signed"),
        "double": (5, "double"),
        "string": (6, "bytes"),
        "json": (9, "bytes"),
        "entries": (12, "bytes*"),
    },
    "Launch": {"stages": (1, "int*")},
    "Stage": {
        "event": (1, "int"),
        "duration": (2, "int"),
        "extra": (6, "bytes*"),
        "gpu": (11, "signed"),
        "waits": (18, "int*"),
        "lane_iid": (13, "int"),
        "stage_iid": (14, "int"),
        "kernel_iid": (19, "int"),
        "name_iid": (20, "int"),
        "launch": (21, "Shape"),
    },
    "Extra": {"name": (1, "bytes"), "value": (2, "bytes")},
    "Counters": {"sample": (2, "Sample*"), "gpu": (3, "signed"), "described_iid": (4, "int")},
    "Sample": {"counter": (1, "int"), "int": (2, "signed"), "double": (3, "double")},
    "DescribedCounters": {"iid": (1, "int"), "descriptor": (2, "Descriptor"), "gpu": (3, "signed")},
    "Descriptor": {"counter": (1, "Named*")},
    "Shape": {"grid": (1, "Triple"), "block": (2, "Triple"), "arguments": (3, "ShapeArgument*")},
    "Triple": {"x": (1, "int"), "y": (2, "int"), "z": (3, "int")},
    "ShapeArgument": {"name_iid": (1, "int"), "value": (4, "int")},
}


@cache
def _class_of(name: str) -> Any:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="tb_steptime_perfetto.proto", package=_PACKAGE, syntax="proto2")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for field, (number, declared) in fields.items():
            kind = declared.removesuffix("*")
            added = described.field.add(
                name=field, number=number, label=_SINGLE if declared == kind else _REPEATED, type=_TYPES.get(kind)
            )
            if kind not in _TYPES:
                added.type, added.type_name = added.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def packets_of(text: bytes) -> Any:
    """Returns the packets in a piece of a trace that consists of whole packets. Raises DecodeError."""
    return _class_of("Packets").FromString(text).packet


def annotation_of(text: bytes) -> Any:
    """Returns an entry of a list that an annotation holds. Raises DecodeError."""
    return _class_of("Annotation").FromString(text)


def extra_of(text: bytes) -> Any:
    """Returns extra data of a render stage. Raises DecodeError."""
    return _class_of("Extra").FromString(text)


def packet_of(text: bytes) -> Any:
    """Returns the packet that these bytes encode. Raises DecodeError."""
    return _class_of("Packet").FromString(text)
