"""The contents of the peak, by the module that made them: how much is constant, and how much grows with the batch.

nn.Module: Block_0 |---------------|                      Block › Linear     the innermost module around the op, or
                     Linear_0 |aten::addmm|               around the op of the forward pass that it belongs to
record_function("loss")                    |aten::sum|    loss               where no module is: the innermost range
                                             |aten::mm|   aten::mm           where no range is: the outermost op
"""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import alive, births, sizes
from tb_steptime.metrics.memory.devices import Place
from tb_steptime.metrics.memory.fit.fit import memory_fit, steady
from tb_steptime.metrics.memory.fit.growing import growing_sizes
from tb_steptime.metrics.phases.marks import without_engine
from tb_steptime.text import Reason
from tb_steptime.trace.frames import module_class, module_frames
from tb_steptime.trace.host_ranges import user_ranges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Int64, is_in

#: Maximum number of rows of the table, the largest; the others are merged into one row.
MOST_MODULES = 12
_BETWEEN = " › "

#: What identifies the maker of memory: a module, a range of the user or the outermost op. Otherwise it was made outside
#: of these or before the recording, or it is the sum of the makers beyond MOST_MODULES.
MakerKind = Literal["module", "range", "op", "outside", "others", "before"]


class ModuleBytes(msgspec.Struct, frozen=True):
    """The part of the peak that was made in modules of one path of classes: constant + batch x per_sample, bytes.
    bytes: at the recorded batch. path: None where nothing names the maker, according to `kind`."""

    path: str | None
    kind: MakerKind
    constant: int
    per_sample: float
    bytes: int


def by_module(trace: Trace, place: Place) -> list[ModuleBytes]:
    """The modules at the highest instant of steady steps, most bytes first; they sum to the peak. Empty for a device
    without a fit."""
    of, fit = steady(trace, place), memory_fit(trace, place)
    if isinstance(of, Reason) or isinstance(fit, Reason):
        return []
    allocated = np.where(of.within, of.curve.allocated, -1)
    top = int(allocated.argmax())
    here = np.flatnonzero(alive(trace, int(of.curve.row[top])))
    size, grown = sizes(trace)[here], growing_sizes(trace, of.batch)[here]
    sums: dict[tuple[str | None, MakerKind], list[int]] = defaultdict(lambda: [0, 0])
    for maker, fixed, grows in zip(_makers(trace, here), (size - grown).tolist(), grown.tolist(), strict=True):
        sums[maker][0] += fixed
        sums[maker][1] += grows
    before = int(allocated[top]) - int(size.sum())
    rows = _sorted([_row(maker, fixed, grows, of.batch) for maker, (fixed, grows) in sums.items()])
    if len(rows) > MOST_MODULES:
        kept, others = rows[: MOST_MODULES - 1], rows[MOST_MODULES - 1 :]
        grows = sum(row.bytes - row.constant for row in others)
        rows = [*kept, _row((None, "others"), sum(row.constant for row in others), grows, of.batch)]
    return rows if before == 0 else _sorted([*rows, _row((None, "before"), before, 0, of.batch)])


def _sorted(rows: list[ModuleBytes]) -> list[ModuleBytes]:
    return sorted(rows, key=lambda row: (-row.bytes, row.path or ""))


def _row(maker: tuple[str | None, MakerKind], constant: int, grown: int, batch: int) -> ModuleBytes:
    return ModuleBytes(*maker, constant, grown / batch, constant + grown)


def _makers(trace: Trace, some: Int64) -> list[tuple[str | None, MakerKind]]:
    at, name = births(trace), trace.events.name
    op, outer = at.op[some].astype(np.int64), at.outer_op[some]
    forward = np.where(op >= 0, forward_of(trace, op), -1).astype(np.int64)
    anchor = np.where(forward >= 0, forward, op)
    module, named = innermost(trace, module_frames, anchor), innermost(trace, user_ranges, anchor)
    paths = _class_paths(trace, module)
    found: list[tuple[str | None, MakerKind]] = []
    for within, ranged, outermost in zip(module.tolist(), named.tolist(), outer.tolist(), strict=True):
        if within >= 0:
            found.append((paths[within], "module"))
        elif ranged >= 0:
            found.append((trace.strings[int(name[ranged])], "range"))
        elif outermost >= 0:
            found.append((without_engine(trace.strings[int(name[outermost])]), "op"))
        else:
            found.append((None, "outside"))
    return found


def _class_paths(trace: Trace, calls: Int64) -> dict[int, str]:
    """For each of these module calls, the classes from the outermost module to its own."""
    frames = module_frames(trace)
    parent = parent_places(trace, frames)
    paths: dict[int, str] = {}
    for place in np.flatnonzero(is_in(frames, calls[calls >= 0])).tolist():
        classes, at = list[str](), place
        while at >= 0:
            classes.append(module_class(trace.name_of(frames[at])))
            at = int(parent[at])
        paths[int(frames[place])] = _BETWEEN.join(reversed(classes))
    return paths
