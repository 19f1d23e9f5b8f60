"""Makes JSON smaller before it is compressed: rows of one shape become columns, which group similar values, and long
lists of detail are truncated.

    [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, ...]     ->  {"#": ["a", "b"], "v": [[1, 2, ...], ["x", "x", ...]]}

`frontend/src/server/recorded.ts` reads it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Row: TypeAlias = "dict[str, Json]"

#: Minimum number of rows that become columns.
_ROWS = 3


def pack(value: Json) -> Json:
    """Packs a value. An object that has one of the marks "#" and "'" as a key becomes {"'": [[name, value], ...]}."""
    if isinstance(value, dict):
        inside: Row = {name: pack(each) for name, each in value.items()}
        return {"'": [[name, each] for name, each in inside.items()]} if {"#", "'"} & value.keys() else inside
    if not isinstance(value, list):
        return value
    rows = _alike(value)
    if not rows:
        return [pack(each) for each in value]
    return {"#": list(rows[0]), "v": [pack([row[name] for row in rows]) for name in rows[0]]}


def _alike(values: list[Json]) -> list[Row]:
    """Returns the values if they all are objects with the same keys in the same order, and enough; else none."""
    rows = [value for value in values if isinstance(value, dict)]
    names = list(rows[0]) if rows else []
    alike = len(values) >= _ROWS and len(rows) == len(values) and names and all(list(row) == names for row in rows)
    return rows if alike else []


class Detail(NamedTuple):
    """How many levels pictures over time keep, and how many table rows keep their single calls and launches."""

    levels: int
    rows: int


def coarser(value: Json, detail: Detail) -> Json:
    """Truncates every list of levels and every list of details. No figure changes, and the page says where detail is
    missing.

    levels    256 bins, 1024 bins, 4096 bins     from coarse to fine; the finest only shows in a zoomed picture
    details   of the row with most time, ...     single calls and launches, for so many rows
    """
    if isinstance(value, dict):
        return {
            name: coarser(each[: detail.rows] if name == "details" and isinstance(each, list) else each, detail)
            for name, each in value.items()
        }
    if not isinstance(value, list):
        return value
    return [coarser(each, detail) for each in (value[: detail.levels] if _are_levels(value) else value)]


def _are_levels(values: list[Json]) -> bool:
    """Whether the list holds pictures of one window in ever finer bins."""
    lengths = [each.get("bin_ns") if isinstance(each, dict) else None for each in values]
    known = [length for length in lengths if isinstance(length, int)]
    return len(values) > 1 and len(known) == len(values) and sorted(set(known), reverse=True) == known
