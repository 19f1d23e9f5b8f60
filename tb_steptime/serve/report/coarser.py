"""Answers with less detail, so that a page stays small. No figure changes, and the page says where detail is missing.

levels    256 bins, 1024 bins, 4096 bins     from coarse to fine; the finest only shows in a zoomed picture
details   of the row with most time, ...     single calls and launches, for so many rows
"""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.serve.report.packing import Json


class Detail(NamedTuple):
    """How many levels pictures over time keep, and how many table rows keep their single calls and launches."""

    levels: int
    rows: int


def coarser(value: Json, detail: Detail) -> Json:
    """Truncates every list of levels and every list of details."""
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
