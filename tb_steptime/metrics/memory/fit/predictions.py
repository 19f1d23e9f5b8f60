"""The results for a recording's memory: its peak at other batches, and the largest batch within a limit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.memory.devices import CPU, Place, memory_devices, memory_name
from tb_steptime.metrics.memory.fit.by_module import ModuleBytes, by_module
from tb_steptime.metrics.memory.fit.checkpoints import checkpoints
from tb_steptime.metrics.memory.fit.fit import MARGIN, MemoryFit, bounds, memory_fit, steady
from tb_steptime.metrics.memory.fit.growing import PeakLine, largest_batch, peak_at
from tb_steptime.metrics.memory.fit.offload import CopyRates, copy_rates
from tb_steptime.metrics.memory.fit.settings import FitSetting, settings
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace

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
