"""The protobuf messages of a Perfetto trace, with only the fields that are read; others are skipped when decoded.

Field numbers are those of Perfetto's own definitions. Perfetto's Python package lacks those of compute kernels (1000),
of the names of launch arguments (1001) and of the link from a call to its launches (3000).

Texts, lists within annotations and extra data stay bytes: most repeat, and `arguments` decodes each spelling once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "tb_steptime.perfetto"
_TYPES = {
    "int": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    "signed": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
}
_SINGLE, _REPEATED = (
    descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
    descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
)

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
    """The packets in a piece of a trace that consists of whole packets. Raises DecodeError."""
    return _class_of("Packets").FromString(text).packet


def annotation_of(text: bytes) -> Any:
    """An entry of a list that an annotation holds. Raises DecodeError."""
    return _class_of("Annotation").FromString(text)


def extra_of(text: bytes) -> Any:
    """Extra data of a render stage. Raises DecodeError."""
    return _class_of("Extra").FromString(text)


def packet_of(text: bytes) -> Any:
    """One packet by its content. Raises DecodeError."""
    return _class_of("Packet").FromString(text)
