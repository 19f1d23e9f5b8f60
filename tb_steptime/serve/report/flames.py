"""Flame graphs that a report holds: all that a span's Operators view would request, with fewer frames.

frames below 1/2000 of the whole are one in the tab, below 1/500 in a report, and below more where that would be large
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.flame.call_paths import FlameBy
from tb_steptime.metrics.flame.prefixes import FrameKind
from tb_steptime.metrics.flame.tree import FlameTree, merged
from tb_steptime.metrics.operators.op_tree import Where
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import FlamePage, column_text, flame_page, numbers_of, totals_of
from tb_steptime.trace.table import Bool

#: Denominators of the smallest share of the whole at which a frame is kept, tried in turn.
_SMALLEST = (500, 100, 30)
_SMALLER: FrameKind = "smaller"
#: Maximum size of all flame graphs of a report as JSON; they add a third of that to the page. The rest is left out.
_MOST_JSON_BYTES = 3_000_000


class IncludedFlames(msgspec.Struct, frozen=True):
    """The flame graphs of a span, by what is above the ops and by where work of the backward pass counts."""

    pages: list[FlamePage]


def held_flames(events: EventFile) -> IncludedFlames:
    """Returns the flame graphs of one span; none where it has no ops."""
    ways = [(by, where) for where in get_args(Where) for by in get_args(FlameBy)]
    pages = [page for by, where in ways if (page := flame_page(events, by, where)) is not None]
    return IncludedFlames([coarser(page, _SMALLEST[0]) for page in pages])


def fitting(flames: Mapping[str, IncludedFlames]) -> dict[str, IncludedFlames]:
    """Returns by span id flame graphs with so few frames that they fit into a report; if nothing else helps, only of as
    many spans as fit."""
    held: dict[str, IncludedFlames] = {}
    for smallest in _SMALLEST:
        held = {id: IncludedFlames([coarser(page, smallest) for page in each.pages]) for id, each in flames.items()}
        if _size(held) <= _MOST_JSON_BYTES:
            break
    while _size(held) > _MOST_JSON_BYTES:
        held.popitem()
    return held


def _size(held: Mapping[str, IncludedFlames]) -> int:
    return sum(len(msgspec.json.encode(each)) for each in held.values())


def coarser(page: FlamePage, smallest: int) -> FlamePage:
    """Merges frames below 1/smallest of the whole. Returns the page itself where it is at least as coarse already."""
    if page.smallest <= smallest:
        return page
    tree = _tree(page)
    texts, kinds = [*page.names, "(smaller)"], [*page.kinds, _SMALLER]
    cut = merged(tree, _kept(tree, smallest), kinds.index(_SMALLER))
    used, label = np.unique(cut.label, return_inverse=True)
    total = {measure: column_text(values) for measure, values in cut.total.items()}
    return replace(
        page,
        smallest=smallest,
        kinds=[kinds[each] for each in used.tolist()],
        names=[texts[each] for each in used.tolist()],
        parent=column_text(cut.parent),
        label=column_text(label.reshape(-1)),
        merged=column_text(cut.merged),
        calls=column_text(cut.calls),
        host_ns=total["host"],
        device_ns=total.get("device"),
        idle_ns=total.get("idle"),
        allocated_bytes=total.get("bytes"),
    )


def _tree(page: FlamePage) -> FlameTree:
    parent, label, smaller, calls = (
        numbers_of(column).astype(np.int32) for column in (page.parent, page.label, page.merged, page.calls)
    )
    return FlameTree(parent, label, smaller, calls, totals_of(page))


def _kept(tree: FlameTree, smallest: int) -> Bool:
    """Says which frames are kept. Merged frames are not: they are merged again, together with those that are small
    now."""
    kept: Bool = np.zeros(len(tree), bool)
    for values in tree.total.values():
        kept |= values * smallest >= max(1, int(values[0]))
    kept &= tree.merged == 0
    kept[0] = True
    return kept
