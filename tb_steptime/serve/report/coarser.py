"""Pictures over time with fewer levels of detail, so that a page stays small.

levels   256 bins, 1024 bins, 4096 bins    from coarse to fine; the finest has most of the bytes
"""

from __future__ import annotations

from tb_steptime.serve.report.packing import Json


def coarser(value: Json, levels: int) -> Json:
    """Of every list of levels the first so many."""
    if isinstance(value, dict):
        return {name: coarser(each, levels) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    return [coarser(each, levels) for each in (value[:levels] if _are_levels(value) else value)]


def _are_levels(values: list[Json]) -> bool:
    """The same window in bins, each time in finer ones."""
    lengths = [each.get("bin_ns") if isinstance(each, dict) else None for each in values]
    known = [length for length in lengths if isinstance(length, int)]
    return len(values) > 1 and len(known) == len(values) and sorted(set(known), reverse=True) == known
