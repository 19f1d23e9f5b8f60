"""Summaries of earlier releases -> the types of this one.

A release that renames or adds fields raises `layout.FORMAT` by one and adds one function here, which takes a view's
JSON of the format before and returns it in the new one. What every such change has in common is done by `fitting`:
fields that are gone are dropped, optional ones that are missing get their default, and a sentence that has become a
reason code says that an older release measured it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tb_steptime.ingest.summaries.fitting import fitted
from tb_steptime.ingest.summaries.layout import FORMAT, SummaryHead

R = TypeVar("R", bound=msgspec.Struct)

Json = dict[str, Any]

#: The head is upgraded like a view.
HEAD = "head"


def _from_1(view: str, result: Json) -> Json:
    """0.1.0: notes were sentences, segments of the step pieces, and time bins strips."""
    for note in result["facts"]["notes"] if view == HEAD else result.get("recorder_notes", ()):
        said = note.pop("cause")["values"] | note.pop("effect")["values"]
        note["values"] = {key: value for key, value in said.items() if value["unit"] != "code"}
        if note["id"] == "simulated":
            note["values"] = {"statement": {"value": result["facts"]["simulated"], "unit": "text"}}
    for each in (result, *result.get("devices", ())) if view in ("gpu", "host", "trends") else ():
        _rename(each, {"pieces": "segments", "strips": "time_bins"})
    return result


def _rename(value: Json, names: dict[str, str]) -> None:
    for old, new in names.items():
        if old in value:
            value[new] = value.pop(old)


#: By the format that they upgrade from; the first argument is the view's id or HEAD.
_STEPS: dict[int, Callable[[str, Json], Json]] = {1: _from_1}


def upgraded(line: bytes, format: int, view: str, kind: type[R]) -> R:
    """A view's result, or the head, of this or an earlier format. Raises ValueError where it does not fit the type."""
    if format == FORMAT:
        return msgspec.json.decode(line, type=kind)
    result = msgspec.json.decode(line)
    for earlier in range(format, FORMAT):
        if earlier not in _STEPS:
            raise ValueError(f"no release wrote format {format}")
        result = _STEPS[earlier](view, result)
    return msgspec.convert(fitted(result, kind), kind)


def upgraded_head(line: bytes, format: int) -> SummaryHead:
    """Raises ValueError where it is no head."""
    return upgraded(line, format, HEAD, SummaryHead)
