"""Annotations of slices and extra data of render stages -> an event's arguments, by the names that they have in JSON.

    slice          annotation {name 10, int 4}                  {"External id": 40}
                   annotation {name 10, array 12 {int 4} ...}   {"Input Dims": [[4096, 512]]}
                   annotation {name 10, json 9}                 the same, as converters write it
    render stage   extra {name 1, value 2}                      {"correlation": 17}: all values are text
                   launch {grid, block, arguments}              {"grid": [108, 1, 1]}

An argument is kept where `trace.kineto.row_types.Args` has a field for it, so a column that is added there is filled
from here, too. Most annotations are spelled alike in many events: each spelling is decoded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tb_steptime.trace.kineto.row_types import NO_ARGS, Args
from tb_steptime.trace.perfetto.wire import fields, varint

#: Names of arguments in JSON -> fields of Args.
_FIELDS = dict(zip(Args.__struct_encode_fields__, Args.__struct_fields__, strict=True))
#: Fields of Args that stay as JSON spells them.
_SPELLED = frozenset(
    name for name, default in zip(Args.__struct_fields__, Args.__struct_defaults__, strict=True)
    if isinstance(default, msgspec.Raw)
)  # fmt: skip
#: Fields whose values are numbers: digits in text are numbers there, as they are in JSON. Other texts stay texts.
_NUMBERS = {"device", "stream"} | {
    name
    for name, default in zip(Args.__struct_fields__, Args.__struct_defaults__, strict=True)
    if isinstance(default, (int, float))
}
#: Extra data that JSON calls something else.
_STAGE_NAMES = {"device id": "device", "stream id": "stream", "context id": "context"}
#: Launch arguments, likewise.
_LAUNCH_FIELDS = {"registers_per_thread": "registers", "shared_mem_dynamic": "shared_memory"}

#: Spellings that are remembered; when there are more, all are forgotten.
_MOST_REMEMBERED = 1 << 16
#: Lists within lists; shapes have two.
_MOST_DEPTH = 20

_UINT_TAG, _INT_TAG, _NAME_TAG = 3 << 3, 4 << 3, 10 << 3 | 2
_Said = tuple[str, Any]


class Arguments:
    """Decodes arguments, and counts those that are damaged: damaged_count."""

    def __init__(self) -> None:
        self.damaged_count = 0
        self._annotations: dict[bytes, _Said | None] = {}
        self._extras: dict[bytes, _Said | None] = {}
        self._fields: dict[bytes, str | None] = {}

    def of_slice(self, annotations: Iterable[bytes]) -> Args:
        said: dict[str, Any] = {}
        known = self._annotations
        for annotation in annotations:
            pair = known[annotation] if annotation in known else self._annotation(annotation)
            if pair:
                said[pair[0]] = pair[1]
        return Args(**said) if said else NO_ARGS

    def of_stage(self, stage: Any, launch_arguments: dict[int, str]) -> tuple[dict[str, Any], str]:
        """Fields of Args, and the architecture of the device, "" where it is not said."""
        said: dict[str, Any] = {}
        architecture = ""
        known = self._extras
        for extra in stage.extra:
            pair = known[extra] if extra in known else self._remember(known, extra, _extra)
            if pair and pair[0] == "arch":
                architecture = pair[1]
            elif pair:
                said[pair[0]] = pair[1]
        if stage.HasField("launch"):
            said |= _launch_shape(stage.launch, launch_arguments)
        return said, architecture

    def _annotation(self, annotation: bytes) -> _Said | None:
        """Numbers, most of which are spelled once, are not remembered; nor is what no column wants decoded."""
        try:
            if annotation[0] == _NAME_TAG and annotation[1] < 0x80:  # name, value
                end = annotation[1] + 2
                field = self._field(annotation[2:end])
                if field is None:
                    return None
                if annotation[end] == _INT_TAG or annotation[end] == _UINT_TAG:
                    value, at = varint(annotation, end + 1)
                    if at == len(annotation):
                        return field, msgspec.Raw(b"%d" % value) if field in _SPELLED else _as_signed(value)
            elif annotation[0] == _INT_TAG:  # value, name
                value, at = varint(annotation, 1)
                if annotation[at] == _NAME_TAG and annotation[at + 1] == len(annotation) - at - 2 < 0x80:
                    field = self._field(annotation[at + 2 :])
                    return None if field is None else (field, _as_signed(value))
        except (IndexError, ValueError):
            pass
        return self._remember(self._annotations, annotation, _annotated)

    def _field(self, name: bytes) -> str | None:
        if name not in self._fields:
            if len(self._fields) >= _MOST_REMEMBERED:
                self._fields.clear()
            self._fields[name] = _FIELDS.get(name.decode("utf-8", "replace"))
        return self._fields[name]

    def _remember(self, known: dict[bytes, _Said | None], spelled: bytes, decode: Any) -> _Said | None:
        try:
            pair: _Said | None = decode(spelled)
        except (IndexError, ValueError, RecursionError):
            self.damaged_count += 1
            return None
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[spelled] = pair
        return pair


def _annotated(annotation: bytes) -> _Said | None:
    name, value, is_json = "", None, False
    for number, content in fields(annotation):
        if number == 10 and isinstance(content, bytes):
            name = content.decode("utf-8", "replace")
        elif number == 9 and isinstance(content, bytes):
            value, is_json = content, True
    field = _FIELDS.get(name)
    if field is None:
        return None
    return field, _from_json(field, value) if is_json and isinstance(value, bytes) else _from_value(field, annotation)


def _from_json(field: str, text: bytes) -> Any:
    if field in _SPELLED:
        return msgspec.Raw(text)
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError("no JSON") from error


def _from_value(field: str, annotation: bytes) -> Any:
    value = _value(annotation, 0)
    if field in _SPELLED:
        return msgspec.Raw(b"" if value is None or value == "null" else msgspec.json.encode(value))
    return None if value == "null" else value


def _value(annotation: bytes, depth: int) -> Any:
    """What an annotation holds; a list where it has entries, None where it has nothing."""
    if depth > _MOST_DEPTH:
        raise ValueError("lists within lists")
    value: Any = None
    entries: list[Any] = []
    for number, content in fields(annotation):
        if number == 12 and isinstance(content, bytes):
            entry = _value(content, depth + 1)
            entries.append([] if entry is None else entry)  # a list without entries has no value either
        elif number == 2:
            value = bool(content)
        elif number == 3:
            value = content
        elif number == 4 and isinstance(content, int):
            value = _as_signed(content)
        elif number == 5:
            value = content if isinstance(content, float) and abs(content) < float("inf") else None
        elif number == 6 and isinstance(content, bytes):
            value = content.decode("utf-8", "replace")
    return entries or value


def _extra(spelled: bytes) -> _Said | None:
    name = value = ""
    for number, content in fields(spelled):
        if isinstance(content, bytes) and number == 1:
            name = content.decode("utf-8", "replace")
        elif isinstance(content, bytes) and number == 2:
            value = content.decode("utf-8", "replace")
    if name == "arch":
        return name, value
    field = _FIELDS.get(_STAGE_NAMES.get(name, name))
    if field is None:
        return None
    if field in _SPELLED:
        return field, msgspec.Raw(msgspec.json.encode(value))
    return field, int(value) if field in _NUMBERS and value.isascii() and value.isdigit() and len(value) < 20 else value


def _launch_shape(launch: Any, names: dict[int, str]) -> dict[str, Any]:
    """Zeros are left out in the file: where there is a launch, a kernel without dynamic shared memory has 0 bytes."""
    said: dict[str, Any] = {"shared_memory": 0}
    for field, triple in (("grid", launch.grid), ("block", launch.block)):
        if triple.x or triple.y or triple.z:
            said[field] = [_as_signed(triple.x or 1), _as_signed(triple.y or 1), _as_signed(triple.z or 1)]
    for argument in launch.arguments:
        known = _LAUNCH_FIELDS.get(names.get(argument.name_iid, ""))
        if known:
            said[known] = _as_signed(argument.value)
    return said


def _as_signed(value: int) -> int:
    """Of 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value
