"""Settings that change the peak at the recorded batch: memory against step time, each with the code that sets it.

setting                    peak      step     best
as recorded               19 GB    412 ms     yes
checkpoint every Block     9 GB    515 ms     yes      nothing else needs less
checkpoint every Linear   19 GB    430 ms     no       the first one needs neither more memory nor more time
SGD                       16 GB         -     -        how long its step takes is not recorded
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.devices import CPU, Place, memory_devices
from tb_steptime.metrics.memory.fit.checkpoints import Checkpoint, checkpoints
from tb_steptime.metrics.memory.fit.fit import MemoryFit, Steady, bounds, memory_fit, steady
from tb_steptime.metrics.memory.fit.growing import PeakLine, largest_batch, peak_at
from tb_steptime.metrics.memory.fit.offload import NO_COPIES, CopyRates, activations_on_cpu, copy_rates
from tb_steptime.metrics.memory.fit.scaled import scaled_settings
from tb_steptime.metrics.memory.fit.states import CATEGORY_MARGIN, NO_TIME, Other, other_settings
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: A checkpoint, or copying activations, that saves less than this share of the peak is not worth setting.
_LEAST_SAVED = 0.01

_CHECKPOINT = """\
from functools import partial
from torch.utils.checkpoint import checkpoint

for module in model.modules():
    if type(module).__name__ == "{module}":
        module.forward = partial(checkpoint, module.forward, use_reentrant=False)"""


class FitSetting(msgspec.Struct, frozen=True):
    """A setting at the recorded batch. label: its name; code: how to set it, None for the recorded one.

    peak_bytes, low_bytes, high_bytes: estimated, except for the recorded setting; None with `unknown`. again_ns: time
    per step for computing again, including a checkpoint's own Python on a CPU. copied_bytes: between GPU and host per
    step, in both directions; copy_ns: their time at the recorded rates; None where no rate is known or nothing is
    copied. step_ns: the mean steady step with these times; None with `no_time`. largest: the largest batch within the
    limit; None without a limit. best: no other setting with a known time needs less memory without more time, or less
    time without more memory.
    """

    label: str
    code: str | None
    peak_bytes: int | None
    low_bytes: int | None
    high_bytes: int | None
    again_ns: int | None
    step_ns: int | None
    largest: int | None
    best: bool = False
    unknown: Reason | None = None
    no_time: Reason | None = None
    copied_bytes: int | None = None
    copy_ns: int | None = None


def settings(trace: Trace, place: Place, limit_bytes: int | None) -> list[FitSetting]:
    """The recorded setting first, then the others by peak, the highest first; empty without a fit."""
    of, fit = steady(trace, place), memory_fit(trace, place)
    if isinstance(of, Reason) or isinstance(fit, Reason):
        return []
    step, found = _step_ns(trace, of), checkpoints(trace, place)
    modules = [] if isinstance(found, Reason) else found
    recorded = FitSetting(
        "As recorded", None, fit.peak_bytes, fit.peak_bytes, fit.peak_bytes, 0, step, _largest(fit.lines, limit_bytes)
    )
    others = [_checkpointed(each, of.batch, step, limit_bytes) for each in modules if _saves(each.lines, fit, of.batch)]
    if place.type != CPU or memory_devices(trace)[0].type == CPU:  # beside a GPU the CPU holds no parameters
        units = max((each.calls for each in modules), default=1)
        changed = [*other_settings(trace, place, of, units), *scaled_settings(trace, place, of)]
        rates = None
        if place.type != CPU:
            rates, left = copy_rates(trace, place), activations_on_cpu(trace, place, of)
            if isinstance(left.lines, Reason) or _saves(left.lines, fit, of.batch):
                changed.append(left)
        others += [_other(each, of.batch, step, limit_bytes, rates) for each in changed]
    others.sort(key=lambda setting: -(setting.peak_bytes or 0))
    return _with_best([recorded, *others])


def _saves(lines: list[PeakLine], fit: MemoryFit, batch: int) -> bool:
    return peak_at(lines, batch) < fit.peak_bytes * (1 - _LEAST_SAVED)


def _step_ns(trace: Trace, of: Steady) -> int:
    steps = [find_steps(trace).steps[number] for number in of.steps]
    return round(np.mean([step.end_ns - step.start_ns for step in steps]))


def _checkpointed(of: Checkpoint, batch: int, step: int, limit: int | None) -> FitSetting:
    peak = peak_at(of.lines, batch)
    return FitSetting(
        f"Checkpoint every {of.module}",
        _CHECKPOINT.format(module=of.module),
        round(peak),
        *bounds(peak),
        of.again_ns,
        step + of.again_ns,
        _largest(of.lines, limit),
    )


def _other(of: Other, batch: int, step: int, limit: int | None, rates: CopyRates | None) -> FitSetting:
    if isinstance(of.lines, Reason):
        return FitSetting(of.label, of.code, None, None, None, None, None, None, unknown=of.lines, no_time=NO_TIME)
    peak, copied = peak_at(of.lines, batch), of.copied
    copy_ns = None if copied is None or rates is None else rates.ns(copied)
    added = copy_ns is not None and copied is not None and copied.added
    return FitSetting(
        of.label,
        of.code,
        round(peak),
        *bounds(peak, CATEGORY_MARGIN),
        None,
        step + copy_ns if copy_ns is not None and added else None,
        _largest(of.lines, limit),
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
