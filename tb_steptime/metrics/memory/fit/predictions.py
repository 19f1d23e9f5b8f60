"""The results for a recording's memory: its peak at other batches, and the largest batch within a limit.

The contents of the peak are divided by the module that made them. A part of them is constant, and a part grows with the
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
from tb_steptime.metrics.memory.curves import CPU, Place, memory_devices, memory_name
from tb_steptime.metrics.memory.fit.checkpoints import Checkpoint, checkpoints
from tb_steptime.metrics.memory.fit.fit import (
    MARGIN,
    MemoryFit,
    PeakLine,
    bounds,
    growing_sizes,
    largest_batch,
    memory_fit,
    peak_at,
    steady_steps,
)
from tb_steptime.metrics.memory.fit.scaled import scaled_settings
from tb_steptime.metrics.memory.fit.states import (
    CATEGORY_MARGIN,
    NO_COPIES,
    NO_TIME,
    CopyRates,
    OtherSetting,
    activations_on_cpu,
    copy_rates,
    other_settings,
)
from tb_steptime.metrics.phases.sites import without_engine
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import module_class, module_frames
from tb_steptime.trace.host_ranges import user_ranges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Int64, is_in

# Settings change the peak at the recorded batch. Each trades memory for step time, and comes with the code that sets
# it.
#
# setting                    peak      step     best
# as recorded               19 GB    412 ms     yes
# checkpoint every Block     9 GB    515 ms     yes      nothing else needs less
# checkpoint every Linear   19 GB    430 ms     no       the first one needs neither more memory nor more time
# SGD                       16 GB         -     -        how long its step takes is not recorded

#: A checkpoint, or a copy of activations, that saves less than this share of the peak is not worth setting.
_LEAST_SAVED = 0.01

_CHECKPOINT = """\
from functools import partial
from torch.utils.checkpoint import checkpoint

for module in model.modules():
    if type(module).__name__ == "{module}":
        module.forward = partial(checkpoint, module.forward, use_reentrant=False)"""


class FitSetting(msgspec.Struct, frozen=True):
    """A setting at the recorded batch.

    label          its name
    code           how to set it; None for the recorded one
    peak_bytes, low_bytes, high_bytes   estimated, except for the recorded setting; where they are None, `unknown` says
                                        why
    again_ns       time per step for computing again, including a checkpoint's own Python on a CPU
    step_ns        the steady step with these times; where it is None, `no_time` says why
    largest        the largest batch within the limit; None without a limit
    best           whether no other setting with a known time needs less memory without more time, or less time without
                   more memory
    copied_bytes   bytes copied between GPU and host per step, in both directions
    copy_ns        their time at the recorded rates; None if no rate is known or nothing is copied
    """

    label: str
    code: str | None
    peak_bytes: int | None = None
    low_bytes: int | None = None
    high_bytes: int | None = None
    again_ns: int | None = None
    step_ns: int | None = None
    largest: int | None = None
    best: bool = False
    unknown: Reason | None = None
    no_time: Reason | None = None
    copied_bytes: int | None = None
    copy_ns: int | None = None


def settings(trace: Trace, place: Place, limit_bytes: int | None, step: int) -> list[FitSetting]:
    """Returns the recorded setting first, then the others by peak, highest first; none without a fit. step: the length
    of the steady step, ns."""
    steady, fit = steady_steps(trace, place), memory_fit(trace, place)
    if isinstance(steady, Reason) or isinstance(fit, Reason):
        return []
    modules_or_reason = checkpoints(trace, place)
    modules = [] if isinstance(modules_or_reason, Reason) else modules_or_reason
    recorded = FitSetting(
        "As recorded", None, *(fit.peak_bytes,) * 3, again_ns=0, step_ns=step, largest=_largest(fit.lines, limit_bytes)
    )
    others = [
        _checkpointed(module, steady.batch, step, limit_bytes)
        for module in modules
        if _saves(module.lines, fit, steady.batch)
    ]
    if place.type != CPU or memory_devices(trace)[0].type == CPU:  # if there is a GPU, the CPU holds no parameters
        units = max((module.calls for module in modules), default=1)
        changed = [*other_settings(trace, place, steady, units), *scaled_settings(trace, place, steady)]
        rates = None
        if place.type != CPU:
            rates = copy_rates(trace, place)
            left = activations_on_cpu(trace, place, steady)
            if isinstance(left.lines, Reason) or _saves(left.lines, fit, steady.batch):
                changed.append(left)
        others += [_other(each, steady.batch, step, limit_bytes, rates) for each in changed]
    others.sort(key=lambda setting: -(setting.peak_bytes or 0))
    return _with_best([recorded, *others])


def _saves(lines: list[PeakLine], fit: MemoryFit, batch: int) -> bool:
    return peak_at(lines, batch) < fit.peak_bytes * (1 - _LEAST_SAVED)


def _checkpointed(checkpoint: Checkpoint, batch: int, step: int, limit: int | None) -> FitSetting:
    peak = peak_at(checkpoint.lines, batch)
    return FitSetting(
        f"Checkpoint every {checkpoint.module}",
        _CHECKPOINT.format(module=checkpoint.module),
        round(peak),
        *bounds(peak),
        checkpoint.again_ns,
        step + checkpoint.again_ns,
        _largest(checkpoint.lines, limit),
    )


def _other(setting: OtherSetting, batch: int, step: int, limit: int | None, rates: CopyRates | None) -> FitSetting:
    if isinstance(setting.lines, Reason):
        return FitSetting(setting.label, setting.code, unknown=setting.lines, no_time=NO_TIME)
    peak, copied = peak_at(setting.lines, batch), setting.copied
    copy_ns = None if copied is None or rates is None else rates.ns(copied)
    added = copy_ns is not None and copied is not None and copied.added
    return FitSetting(
        setting.label,
        setting.code,
        round(peak),
        *bounds(peak, CATEGORY_MARGIN),
        None,
        step + copy_ns if copy_ns is not None and added else None,
        _largest(setting.lines, limit),
        no_time=None if added else NO_COPIES if copied is not None and rates is None else NO_TIME,
        copied_bytes=None if copied is None else copied.to_host + copied.to_device,
        copy_ns=copy_ns,
    )


def _largest(lines: list[PeakLine], limit: int | None) -> int | None:
    return None if limit is None else largest_batch(lines, limit)


def _with_best(every: list[FitSetting]) -> list[FitSetting]:
    timed = [
        (each.peak_bytes, each.step_ns) for each in every if each.peak_bytes is not None and each.step_ns is not None
    ]

    def best(peak: int, step: int) -> bool:
        return not any(other != (peak, step) and other[0] <= peak and other[1] <= step for other in timed)

    return [
        msgspec.structs.replace(
            each, best=each.peak_bytes is not None and each.step_ns is not None and best(each.peak_bytes, each.step_ns)
        )
        for each in every
    ]


#: The batches that are used if none is named, as multiples of the recorded one.
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
    """The prediction for a device. If `unknown` has a reason, there is no batch, and nothing that depends on it.

    lines          the peak at any batch is that of the highest line
    limit_bytes    the given limit, or else the memory of the device; None if neither is known
    largest        the largest batch within the limit; 0 if not even one sample fits
    largest_low, largest_high   bounds of it by the margin
    modules        the makers of the peak
    unnamed        why no module is among them
    settings       what would change the peak
    unused_bytes   what the caching allocator had reserved at the recorded peak beyond what was allocated, as fragments
                   and cache; None without such an allocator
    rates          rates of the recorded copies between the host and this device; None without any, and for the CPU
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


def fits(trace: Trace, step_ns: int, batches: Sequence[int] = (), limit_bytes: int | None = None) -> list[DeviceFit]:
    """Returns the fit of each device whose memory was recorded; none without profile_memory=True. step_ns: the length
    of the steady step. Raises ValueError for a batch below 1."""
    if min(batches, default=1) < 1:
        raise ValueError(f"A batch has at least one sample, and {min(batches)} was asked for.")
    answers = []
    for place in memory_devices(trace):
        properties = trace.devices.get(place.device) if place.type != CPU else None
        limit = limit_bytes
        if limit is None and properties:
            limit = properties.memory_bytes
        answer = _answer(memory_name(trace, place), memory_fit(trace, place), batches, limit)
        if answer.unknown is None:
            modules_or_reason = checkpoints(trace, place)
            answer = msgspec.structs.replace(
                answer,
                modules=by_module(trace, place),
                unnamed=modules_or_reason if isinstance(modules_or_reason, Reason) else None,
                settings=settings(trace, place, limit, step_ns),
                unused_bytes=_unused(trace, place),
                rates=None if place.type == CPU else copy_rates(trace, place),
            )
        answers.append(answer)
    return answers


def _unused(trace: Trace, place: Place) -> int | None:
    steady = steady_steps(trace, place)
    if isinstance(steady, Reason) or steady.curve.reserved is None:
        return None
    top = int(np.where(steady.within, steady.curve.allocated, -1).argmax())
    return int(steady.curve.reserved[top] - steady.curve.allocated[top])


def _answer(device: str, fit: MemoryFit | Reason, batches: Sequence[int], limit: int | None) -> DeviceFit:
    if isinstance(fit, Reason):
        return DeviceFit(device, fit, limit_bytes=limit)
    sizes = sorted({*batches, fit.batch} if batches else {max(1, round(fit.batch * factor)) for factor in _FACTORS})
    largest, low, high = (
        None if limit is None else largest_batch(fit.lines, limit / (1 + margin)) for margin in (0, MARGIN, -MARGIN)
    )
    return DeviceFit(
        device, None, fit.batch, fit.lines, [_peak(fit, batch) for batch in sizes], limit, largest, low, high
    )


def _peak(fit: MemoryFit, batch: int) -> BatchFit:
    if batch == fit.batch:
        return BatchFit(batch, fit.peak_bytes, fit.peak_bytes, fit.peak_bytes)
    peak = peak_at(fit.lines, batch)
    return BatchFit(batch, round(peak), *bounds(peak))


def size_of(text: str) -> int:
    """Parses a size in bytes. Raises ValueError if the text is not a size, or has no unit: who writes 24 means 24GB.

    >>> size_of("24GB"), size_of("1.5 GiB"), size_of("100B")
    (24000000000, 1610612736, 100)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[0][-1].isdigit():
        raise ValueError(f'"{text}" is no size such as 24GB or 80GiB')
    unit = 1024.0 if match[3] else 1000.0
    return round(float(match[1]) * math.pow(unit, _POWERS[match[2].lower()]))


#: Maximum number of rows of the table. The largest are kept, and the others are merged into one row.
MOST_MODULES = 12
_BETWEEN = " › "

#: What identifies the maker of memory: a module, a user's range or the outermost op. Otherwise it was made outside of
#: these or before the recording, or it is the sum of the makers beyond MOST_MODULES.
MakerKind = Literal["module", "range", "op", "outside", "others", "before"]


class ModuleBytes(msgspec.Struct, frozen=True):
    """The part of the peak that was made in modules of one path of classes: constant + batch x per_sample, bytes.
    bytes: the part at the recorded batch. path: None if nothing names the maker, as `kind` says."""

    path: str | None
    kind: MakerKind
    constant: int
    per_sample: float
    bytes: int


def by_module(trace: Trace, place: Place) -> list[ModuleBytes]:
    """Returns the modules at the highest instant of steady steps, most bytes first; none for a device without a fit.
    They sum to the peak."""
    steady, fit = steady_steps(trace, place), memory_fit(trace, place)
    if isinstance(steady, Reason) or isinstance(fit, Reason):
        return []
    allocated = np.where(steady.within, steady.curve.allocated, -1)
    top = int(allocated.argmax())
    alive_rows = np.flatnonzero(alive(trace, int(steady.curve.row[top])))
    size = sizes(trace)[alive_rows]
    growing = growing_sizes(trace, steady.batch)[alive_rows]
    sums: dict[tuple[str | None, MakerKind], list[int]] = defaultdict(lambda: [0, 0])
    for maker, fixed, grows in zip(
        _makers(trace, alive_rows), (size - growing).tolist(), growing.tolist(), strict=True
    ):
        sums[maker][0] += fixed
        sums[maker][1] += grows
    before = int(allocated[top]) - int(size.sum())
    rows = _sorted([_row(maker, fixed, grows, steady.batch) for maker, (fixed, grows) in sums.items()])
    if len(rows) > MOST_MODULES:
        largest, others = rows[: MOST_MODULES - 1], rows[MOST_MODULES - 1 :]
        grows = sum(row.bytes - row.constant for row in others)
        rows = [*largest, _row((None, "others"), sum(row.constant for row in others), grows, steady.batch)]
    return rows if before == 0 else _sorted([*rows, _row((None, "before"), before, 0, steady.batch)])


def _sorted(rows: list[ModuleBytes]) -> list[ModuleBytes]:
    return sorted(rows, key=lambda row: (-row.bytes, row.path or ""))


def _row(maker: tuple[str | None, MakerKind], constant: int, grown: int, batch: int) -> ModuleBytes:
    return ModuleBytes(*maker, constant, grown / batch, constant + grown)


def _makers(trace: Trace, rows: Int64) -> list[tuple[str | None, MakerKind]]:
    made_by, name = births(trace), trace.events.name
    op, outer = made_by.op[rows].astype(np.int64), made_by.outer_op[rows]
    forward = np.where(op >= 0, forward_of(trace, op), -1).astype(np.int64)
    anchor = np.where(forward >= 0, forward, op)
    module, named = innermost(trace, module_frames, anchor), innermost(trace, user_ranges, anchor)
    paths = _class_paths(trace, module)
    makers: list[tuple[str | None, MakerKind]] = []
    for within, ranged, outermost in zip(module.tolist(), named.tolist(), outer.tolist(), strict=True):
        if within >= 0:
            makers.append((paths[within], "module"))
        elif ranged >= 0:
            makers.append((trace.strings[int(name[ranged])], "range"))
        elif outermost >= 0:
            makers.append((without_engine(trace.strings[int(name[outermost])]), "op"))
        else:
            makers.append((None, "outside"))
    return makers


def _class_paths(trace: Trace, calls: Int64) -> dict[int, str]:
    """Returns for each of these module calls the classes from the outermost module to its own."""
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
