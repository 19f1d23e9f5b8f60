"""JSON made small before it is compressed: what occurs twice is written once, rows of one shape become columns.

    [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, ...]     ->  {"#": ["a", "b"], "v": [[1, 2, ...], ["x", "x", ...]]}
    the same long text, list or object again          ->  {"=": 7}, the seventh of `often`

A stream of gzip remembers 32 kB, so it does not see that the next page says the same. `frontend/src/server/packed.ts`
reads it.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

#: Shorter ones are left to gzip.
_WORTH_CHARACTERS = 24
#: Fewer rows are left as they are.
_ROWS = 3

_MARKS = {"=", "#", "'"}


class Packed(msgspec.Struct, frozen=True):
    """often: each may refer to those before it."""

    often: list[object]
    content: object


def pack(content: Json) -> Packed:
    counts: dict[bytes, int] = {}
    columns = _in_columns(content)
    _count(columns, counts)
    writer = _Writer({text for text, times in counts.items() if times > 1})
    return Packed(content=writer.written(columns), often=writer.often)


def _in_columns(value: Json) -> Json:
    """Marks of this format that are in the content as names are written apart: {"'": [[name, value], ...]}."""
    if isinstance(value, dict):
        inner: dict[str, Json] = {name: _in_columns(each) for name, each in value.items()}
        return {"'": [[name, each] for name, each in inner.items()]} if _MARKS & value.keys() else inner
    if not isinstance(value, list):
        return value
    names = _shape(value)
    if names is None:
        return [_in_columns(each) for each in value]
    return {"#": list(names), "v": [_in_columns([row[name] for row in value]) for name in names]}  # type: ignore[index,call-overload]


def _shape(rows: list[Json]) -> tuple[str, ...] | None:
    """The names that all rows have, in one order; None where they are not alike, or few."""
    first = rows[0] if len(rows) >= _ROWS else None
    if not isinstance(first, dict) or not first:
        return None
    names = tuple(first)
    return names if all(isinstance(row, dict) and tuple(row) == names for row in rows) else None


def _text(value: Json) -> bytes | None:
    """Its JSON where that is long enough to be written once; None for numbers and the like."""
    if not isinstance(value, (dict, list, str)):
        return None
    text = msgspec.json.encode(value)
    return text if len(text) >= _WORTH_CHARACTERS else None


def _count(value: Json, counts: dict[bytes, int]) -> None:
    """How often each occurs; what is in one that occurs again counts once."""
    text = _text(value)
    if text is None:
        return
    counts[text] = counts.get(text, 0) + 1
    if counts[text] == 1 and not isinstance(value, str):
        for each in value.values() if isinstance(value, dict) else value:  # type: ignore[union-attr]
            _count(each, counts)


class _Writer:
    def __init__(self, again: set[bytes]) -> None:
        self.again = again
        self.places: dict[bytes, int] = {}
        self.often: list[object] = []

    def written(self, value: Json) -> object:
        text = _text(value)
        if text is None or text not in self.again:
            return self._inside(value)
        if text not in self.places:
            inside = self._inside(value)
            self.places[text] = len(self.often)
            self.often.append(inside)
        return {"=": self.places[text]}

    def _inside(self, value: Json) -> object:
        if isinstance(value, dict):
            return {name: self.written(each) for name, each in value.items()}
        return [self.written(each) for each in value] if isinstance(value, list) else value
