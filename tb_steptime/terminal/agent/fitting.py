"""The tool that answers which batch fits into memory."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.memory.fit.fit import MARGIN
from tb_steptime.metrics.memory.fit.predictions import DeviceFit, fits, size_of
from tb_steptime.metrics.memory.fit.settings import FitSetting
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError, Which
from tb_steptime.terminal.agent.numbers import mb, ms
from tb_steptime.terminal.fit_report import MADE, NOT_RECORDED
from tb_steptime.text.printer import plain


def memory_fit(logs: Logs, which: Which, batches: Sequence[int], memory: str | None) -> contract.Fit:
    """Raises RefusalError."""
    try:
        limit = None if memory is None else size_of(memory)
        devices = fits(logs.trace(logs.find(which)), batches, limit)
    except ValueError as error:
        raise RefusalError(str(error)) from error
    return contract.Fit([_device(each) for each in devices], MARGIN, None if devices else NOT_RECORDED)


def _device(found: DeviceFit) -> contract.DeviceFitLine:
    return contract.DeviceFitLine(
        device=found.device,
        batch=found.batch,
        limit_mb=None if found.limit_bytes is None else mb(found.limit_bytes),
        largest_batch=found.largest,
        largest_batch_range=(found.largest_low, found.largest_high),
        peaks=[
            contract.BatchPeak(each.batch, mb(each.peak_bytes), mb(each.low_bytes), mb(each.high_bytes))
            for each in found.peaks
        ],
        filled_by=[
            contract.ModuleMemory(each.path or MADE[each.kind], mb(each.bytes), mb(each.constant), mb(each.per_sample))
            for each in found.modules
        ],
        settings=[_setting(each) for each in found.settings],
        why_none=plain(explain(found.unknown)) if found.unknown else None,
    )


def _setting(found: FitSetting) -> contract.SettingLine:
    return contract.SettingLine(
        setting=found.label,
        peak_mb=None if found.peak_bytes is None else mb(found.peak_bytes),
        step_ms=None if found.step_ns is None else ms(found.step_ns),
        largest_batch=found.largest,
        best=found.best,
        code=found.code,
        why_none=[plain(explain(why)) for why in (found.unknown, found.no_time) if why],
        copied_mb=None if found.copied_bytes is None else mb(found.copied_bytes),
        copy_ms=None if found.copy_ns is None else ms(found.copy_ns),
    )
