"""Annotations of slices and extra data of render stages -> an event's arguments, by the names that they have in JSON.

    slice          annotation {name 10, int 4}                  {"External id": 40}
                   annotation {name 10, array 12 {int 4} ...}   {"Input Dims": [[4096, 512]]}
                   annotation {name 10, json 9}                 the same, as converters write it
    render stage   extra {name 1, value 2}                      {"correlation": 17}: all values are text
                   launch {grid, block, arguments}              {"grid": [108, 1, 1]}

An argument is kept if `trace.kineto.row_types.Args` has a field for it, so a column that is added there is filled from
here, too. Most annotations have equal bytes in many events: each distinct spelling is decoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from tb_steptime.trace.kineto.row_types import MISSING, NO_ARGS, Args
from tb_steptime.trace.perfetto.packets import annotation_of, extra_of

#: Names of arguments in JSON -> fields of Args.
_FIELDS = dict(zip(Args.__struct_encode_fields__, Args.__struct_fields__, strict=True))
#: Fields of Args that stay as JSON text.
_SPELLED = frozenset(
    name for name, default in zip(Args.__struct_fields__, Args.__struct_defaults__, strict=True)
    if isinstance(default, msgspec.Raw)
)  # fmt: skip
#: Fields whose values are numbers: text of digits is converted to a number, as it is in JSON. Other texts stay texts.
_NUMBERS = {"device", "stream"} | {
    name
    for name, default in zip(Args.__struct_fields__, Args.__struct_defaults__, strict=True)
    if isinstance(default, (int, float))
}
#: Names of extra data that differ in JSON.
_STAGE_NAMES = {"device id": "device", "stream id": "stream", "context id": "context"}
#: Names of launch arguments that differ in JSON.
_LAUNCH_FIELDS = {"registers_per_thread": "registers", "shared_mem_dynamic": "shared_memory"}

#: Maximum number of cached spellings; when there are more, all are forgotten.
_MOST_REMEMBERED = 1 << 16
#: Maximum nesting depth of lists; shapes have two levels.
_MOST_DEPTH = 20

_FieldValue = tuple[str, Any]


class Arguments:
    """Decodes arguments, and counts those that are damaged: damaged_count."""

    def __init__(self) -> None:
        self.damaged_count = 0
        self._fields: dict[bytes, str | None] = {}
        self._spelled: dict[tuple[bytes, ...], Any] = {}
        self._extras: dict[bytes, _FieldValue | None] = {}

    def of_slice(self, annotations: Iterable[Any]) -> Args:
        fields: dict[str, Any] = {}
        cache = self._fields
        for annotation in annotations:
            name = annotation.name
            field = cache[name] if name in cache else self._field(name)
            if field is not None:
                fields[field] = (annotation.int if field in _NUMBERS else 0) or self._value(field, annotation)
        return Args(**fields) if fields else NO_ARGS

    def _field(self, name: bytes) -> str | None:
        if len(self._fields) >= _MOST_REMEMBERED:
            self._fields.clear()
        field = self._fields[name] = _FIELDS.get(name.decode("utf-8", "replace"))
        return field

    def _value(self, field: str, annotation: Any) -> Any:
        """Returns the annotation's value, or None if it is null. Fields that Args has as JSON get it as JSON text.
        Lists, and texts in JSON, are cached."""
        if field in _SPELLED:
            if annotation.HasField("json"):
                return msgspec.Raw(annotation.json)
            if annotation.entries:
                return self._remember(self._spelled, tuple(annotation.entries), _json_list) or MISSING
            value = _plain(annotation)
            return MISSING if value in (None, "null") else msgspec.Raw(msgspec.json.encode(value))
        if annotation.HasField("json"):
            return self._remember(self._spelled, (b"", annotation.json), _from_json)
        if annotation.entries:
            return self._remember(self._spelled, (b"", *annotation.entries), _list)
        value = _plain(annotation)
        return None if value == "null" else value

    def of_stage(self, stage: Any, launch_arguments: dict[int, str]) -> tuple[dict[str, Any], str]:
        """Returns fields of Args, and the architecture of the device, which is "" if it is not recorded."""
        fields: dict[str, Any] = {}
        architecture = ""
        extras = self._extras
        for extra in stage.extra:
            pair = extras[extra] if extra in extras else self._remember(extras, extra, _extra)
            if pair and pair[0] == "arch":
                architecture = pair[1]
            elif pair:
                fields[pair[0]] = pair[1]
        if stage.HasField("launch"):
            fields |= _launch_shape(stage.launch, launch_arguments)
        return fields, architecture

    def _remember(self, cache: dict[Any, Any], encoded: Any, decode: Callable[[Any], Any]) -> Any:
        """Returns the decoded value, cached by its spelling, or None if it is damaged."""
        if encoded in cache:
            return cache[encoded]
        try:
            value = decode(encoded)
        except (IndexError, ValueError, RecursionError, DecodeError):
            self.damaged_count += 1
            return None
        if len(cache) >= _MOST_REMEMBERED:
            cache.clear()
        cache[encoded] = value
        return value


def _json_list(entries: tuple[bytes, ...]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(_entries(entries, 0)))


def _list(encoded: tuple[bytes, ...]) -> list[Any]:
    return _entries(encoded[1:], 0)


def _from_json(encoded: tuple[bytes, bytes]) -> Any:
    try:
        return msgspec.json.decode(encoded[1])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError("no JSON") from error


def _entries(entries: Iterable[bytes], depth: int) -> list[Any]:
    if depth > _MOST_DEPTH:
        raise ValueError("lists within lists")
    values = []
    for each in map(annotation_of, entries):
        value = _entries(each.entries, depth + 1) if each.entries else _plain(each)
        values.append([] if value is None else value)  # a list without entries has no value either
    return values


def _plain(annotation: Any) -> Any:
    """Returns a value other than a list, or None if there is none."""
    for kind in ("int", "uint", "string", "double", "bool"):
        if annotation.HasField(kind):
            value = getattr(annotation, kind)
            if kind == "string":
                return value.decode("utf-8", "replace")
            if kind == "double":
                return value if abs(value) < float("inf") else None
            return bool(value) if kind == "bool" else value
    return None


def _extra(encoded: bytes) -> _FieldValue | None:
    extra = extra_of(encoded)
    name, value = (text.decode("utf-8", "replace") for text in (extra.name, extra.value))
    if name == "arch":
        return name, value
    field = _FIELDS.get(_STAGE_NAMES.get(name, name))
    if field is None:
        return None
    if field in _SPELLED:
        return field, msgspec.Raw(msgspec.json.encode(value))
    return field, int(value) if field in _NUMBERS and value.isascii() and value.isdigit() and len(value) < 20 else value


def _launch_shape(launch: Any, names: dict[int, str]) -> dict[str, Any]:
    """Returns the launch shape. Zeros are left out in the file, so a launched kernel without dynamic shared memory has
    0 bytes."""
    fields: dict[str, Any] = {"shared_memory": 0}
    for field, triple in (("grid", launch.grid), ("block", launch.block)):
        if triple.x or triple.y or triple.z:
            fields[field] = [_as_signed(triple.x or 1), _as_signed(triple.y or 1), _as_signed(triple.z or 1)]
    for argument in launch.arguments:
        target = _LAUNCH_FIELDS.get(names.get(argument.name_iid, ""))
        if target:
            fields[target] = _as_signed(argument.value)
    return fields


def _as_signed(value: int) -> int:
    """Returns the signed value of the bits of an unsigned 64-bit number."""
    return value - (1 << 64) if value >= 1 << 63 else value
