"""The results for a recording's memory: its peak at other batches, and the largest batch within a limit.

The contents of the peak are divided by the module that made them: how much is constant, and how much grows with the
batch.

nn.Module: Block_0 |---------------|                      Block › Linear     the innermost module around the op, or
                     Linear_0 |aten::addmm|               around the op of the forward pass that it belongs to
record_function("loss")                    |aten::sum|    loss               where no module is: the innermost range
                                             |aten::mm|   aten::mm           where no range is: the outermost op
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import alive, births, sizes
from tb_steptime.metrics.memory.devices import CPU, Place, memory_devices, memory_name
from tb_steptime.metrics.memory.fit.checkpoints import checkpoints
from tb_steptime.metrics.memory.fit.fit import MARGIN, MemoryFit, bounds, memory_fit, steady
from tb_steptime.metrics.memory.fit.growing import PeakLine, growing_sizes, largest_batch, peak_at
from tb_steptime.metrics.memory.fit.offload import CopyRates, copy_rates
from tb_steptime.metrics.memory.fit.settings import FitSetting, settings
from tb_steptime.metrics.phases.marks import without_engine
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import module_class, module_frames
from tb_steptime.trace.host_ranges import user_ranges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Int64, is_in

#: Batches used if none is named, in multiples of the recorded one.
_FACTORS = (0.5, 1, 2, 4)
_SIZE = expression(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(i?)B?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class BatchFit(msgspec.Struct, frozen=True):
    """The peak at a batch, bytes. For the recorded batch it is measured, and all three values are equal."""

    batch: int
    peak_bytes: int
    low_bytes: int
    high_bytes: int


class DeviceFit(msgspec.Struct, frozen=True):
    """The prediction for a device. With `unknown` there is no batch, and nothing that depends on it.

    lines: the peak at any batch is that of the highest line. limit_bytes: the given limit, or else the memory of the
    device; None where neither is known. largest: the largest batch within the limit; largest_low, largest_high: its
    bounds by the margin; 0 if not even one sample fits. modules: the makers of the peak; unnamed: why no module is
    among them. settings: what would change the peak. unused_bytes: what the caching allocator had reserved at the
    recorded peak beyond what was allocated, as fragments and cache; None without one. rates: of the recorded copies
    between the host and this device; None without any, and for the CPU.
    """

    device: str
    unknown: Reason | None
    batch: int | None = None
    lines: list[PeakLine] = []
    peaks: list[BatchFit] = []
    limit_bytes: int | None = None
    largest: int | None = None
    largest_low: int | None = None
    largest_high: int | None = None
    modules: list[ModuleBytes] = []
    unnamed: Reason | None = None
    settings: list[FitSetting] = []
    unused_bytes: int | None = None
    rates: CopyRates | None = None


def fits(trace: Trace, batches: Sequence[int] = (), limit_bytes: int | None = None) -> list[DeviceFit]:
    """The fit of each device whose memory was recorded; empty without profile_memory=True. ValueError for a batch below
    1."""
    if min(batches, default=1) < 1:
        raise ValueError(f"A batch has at least one sample, and {min(batches)} was asked for.")
    answers = []
    for place in memory_devices(trace):
        known = trace.devices.get(place.device) if place.type != CPU else None
        limit = limit_bytes if limit_bytes is not None else known.memory_bytes if known else None
        answer = _answer(memory_name(trace, place), memory_fit(trace, place), batches, limit)
        if answer.unknown is None:
            found = checkpoints(trace, place)
            answer = msgspec.structs.replace(
                answer,
                modules=by_module(trace, place),
                unnamed=found if isinstance(found, Reason) else None,
                settings=settings(trace, place, limit),
                unused_bytes=_unused(trace, place),
                rates=None if place.type == CPU else copy_rates(trace, place),
            )
        answers.append(answer)
    return answers


def _unused(trace: Trace, place: Place) -> int | None:
    of = steady(trace, place)
    if isinstance(of, Reason) or of.curve.reserved is None:
        return None
    top = int(np.where(of.within, of.curve.allocated, -1).argmax())
    return int(of.curve.reserved[top] - of.curve.allocated[top])


def _answer(device: str, fit: MemoryFit | Reason, batches: Sequence[int], limit: int | None) -> DeviceFit:
    if isinstance(fit, Reason):
        return DeviceFit(device, fit, limit_bytes=limit)
    wanted = sorted({*batches, fit.batch} if batches else {max(1, round(fit.batch * factor)) for factor in _FACTORS})
    largest, low, high = (
        None if limit is None else largest_batch(fit.lines, limit / (1 + margin)) for margin in (0, MARGIN, -MARGIN)
    )
    return DeviceFit(
        device, None, fit.batch, fit.lines, [_peak(fit, batch) for batch in wanted], limit, largest, low, high
    )


def _peak(fit: MemoryFit, batch: int) -> BatchFit:
    if batch == fit.batch:
        return BatchFit(batch, fit.peak_bytes, fit.peak_bytes, fit.peak_bytes)
    peak = peak_at(fit.lines, batch)
    return BatchFit(batch, round(peak), *bounds(peak))


def size_of(text: str) -> int:
    """Parse a size in bytes. ValueError if the text is not a size.

    >>> size_of("24GB"), size_of("1.5 GiB"), size_of("100")
    (24000000000, 1610612736, 100)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{text}" is no size such as 24GB or 80GiB')
    unit = 1024.0 if match[3] else 1000.0
    return round(float(match[1]) * math.pow(unit, _POWERS[match[2].lower()]))


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
