"""Overview: how long a step is and what it is spent on."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.analyses.base import Analysis, Series
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.catalogue import TILES, main_device, measure
from tb_steptime.metrics.data_loading.waits import device_busy
from tb_steptime.metrics.gpu.occupancy import EST_ACHIEVED_OCCUPANCY, KINETO_ACHIEVED_OCCUPANCY
from tb_steptime.metrics.gpu.utilization import EST_SM_EFFICIENCY, GPU_UTILIZATION, has_device_activity
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.outliers import slow
from tb_steptime.metrics.steps.parts import (
    PART_MEANINGS,
    Parts,
    collective_kernels,
    mean_duration_ns,
    mean_parts,
    step_breakdown,
)
from tb_steptime.metrics.tensor_cores.usage import device_has_tensor_cores, split_kernel_time
from tb_steptime.text import Phrase, fraction, phrase, text
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: A part whose spread over the steps is under this share of the mean step is steady to the eye.
STEADY_FRACTION = 0.03

#: Eligible kernel time from which the tile speaks of it.
WORTH_SAYING_FRACTION = 0.05


class StepRow(msgspec.Struct, frozen=True):
    """One step. parts_ns sums to duration_ns. start_ns is relative to the span's origin; slow: an outlier.

    gpu_busy_ns is the time in which any device works; None in a trace without device activity.
    """

    name: str
    start_ns: int
    duration_ns: int
    host_ns: int
    parts_ns: Parts
    slow: bool
    gpu_busy_ns: int | None


class DeviceFigures(msgspec.Struct, frozen=True):
    """A device's figures over the span's window, fractions; None where not measurable (the tiles give the reason)."""

    device: int
    name: str
    utilization: float | None
    est_sm_efficiency: float | None
    est_achieved_occupancy: float | None
    kineto_achieved_occupancy: float | None


class OverviewResult(msgspec.Struct, frozen=True):
    """mean_parts_ns sums to mean_duration_ns; works_ns (device parts) + waits_ns = mean_duration_ns.

    tiles come in the order in which they are shown; GPU figures are those of `device`.
    absent says why a part is a dash and not a length ("communication": no collective in this trace).
    """

    steps: list[StepRow]
    mean_duration_ns: int
    mean_host_ns: int
    mean_parts_ns: Parts
    mean_gpu_busy_ns: int | None
    works_ns: int
    waits_ns: int
    has_device: bool
    device: int | None
    devices: list[DeviceFigures]
    tiles: list[Series]
    tile_remarks: dict[str, Phrase]
    absent: dict[str, Phrase]
    steps_title: Phrase


def analyse(trace: Trace) -> OverviewResult:
    rows = _step_rows(trace)
    parts = tuple(row.parts_ns for row in rows)
    mean_ns = mean_duration_ns(parts)
    mean = mean_parts(parts, mean_ns)
    on_device = has_device_activity(trace)
    works = mean.works_ns if on_device else 0
    device = main_device(trace)
    return OverviewResult(
        steps=rows,
        mean_duration_ns=mean_ns,
        mean_host_ns=round(float(np.mean([row.host_ns for row in rows]))),
        mean_parts_ns=mean,
        mean_gpu_busy_ns=round(float(np.mean([row.gpu_busy_ns for row in rows]))) if on_device else None,
        works_ns=works,
        waits_ns=mean_ns - works,
        has_device=on_device,
        device=device,
        devices=_device_figures(trace),
        tiles=[measure(trace, metric, device) for metric in TILES],
        tile_remarks=_tile_remarks(trace, device),
        absent=_absent(trace, mean),
        steps_title=_steps_title(rows, mean_ns),
    )


def _step_rows(trace: Trace) -> list[StepRow]:
    steps = find_steps(trace)
    parts = step_breakdown(trace)
    outlier = slow(steps.end_ns - steps.start_ns)
    busy = device_busy(trace).overlap_ns(steps.start_ns, steps.end_ns).tolist()
    on_device = has_device_activity(trace)
    return [
        StepRow(
            name=step.name,
            start_ns=step.start_ns,
            duration_ns=step.duration_ns,
            host_ns=step.host_ns,
            parts_ns=parts[i],
            slow=bool(outlier[i]),
            gpu_busy_ns=busy[i] if on_device else None,
        )
        for i, step in enumerate(steps.steps)
    ]


def _device_figures(trace: Trace) -> list[DeviceFigures]:
    def figure(metric: Metric, device: int) -> float | None:
        return measure(trace, metric.id, device).value

    return [
        DeviceFigures(
            device=device,
            name=trace.devices[device].name if device in trace.devices else f"GPU {device}",
            utilization=figure(GPU_UTILIZATION, device),
            est_sm_efficiency=figure(EST_SM_EFFICIENCY, device),
            est_achieved_occupancy=figure(EST_ACHIEVED_OCCUPANCY, device),
            kineto_achieved_occupancy=figure(KINETO_ACHIEVED_OCCUPANCY, device),
        )
        for device in devices_by_activity(trace)
    ]


def _tile_remarks(trace: Trace, device: int | None) -> dict[str, Phrase]:
    """What a tile says instead of the change since the span before."""
    if device is None or not device_has_tensor_cores(trace, device):
        return {}
    eligible = split_kernel_time(trace, device).total.matmul_like_share
    if eligible is None or eligible < WORTH_SAYING_FRACTION:
        return {}
    return {"tensor_core_share": phrase("{share} could use them", share=fraction(eligible))}


def _absent(trace: Trace, mean: Parts) -> dict[str, Phrase]:
    """Why a part has no length at all: nothing of its kind is in this trace."""
    reasons = {
        "communication": phrase("no collective in this trace"),
        "data_loader": phrase("no loader events in the steps"),
        "memcpy": phrase("no copy in the steps"),
        "memset": phrase("no set in the steps"),
        "kernel": phrase("no kernel in the steps"),
        "runtime": phrase("no runtime call in this trace"),
    }
    if not has_device_activity(trace):
        reasons |= dict.fromkeys(("kernel", "memcpy", "memset"), phrase("no GPU activity"))
    elif len(collective_kernels(trace)):
        reasons["communication"] = phrase("hidden behind kernels")
    return {part: reason for part, reason in reasons.items() if getattr(mean, part) == 0}


def _steps_title(rows: list[StepRow], mean_ns: int) -> Phrase:
    """What makes steps differ: the part with the largest spread, where it stands out from the rest."""
    if len(rows) == 1:
        return phrase("Where does the step go?")
    columns = np.array([msgspec.structs.astuple(row.parts_ns) for row in rows], np.int64)
    spread = np.ptp(columns, axis=0)
    label = [part.label for part in PART_MEANINGS]
    if spread.max() < STEADY_FRACTION * mean_ns:
        return phrase("All steps are alike")
    widest, longest = int(spread.argmax()), int(columns.sum(axis=0).argmax())
    if widest != longest and spread[longest] < STEADY_FRACTION * mean_ns:
        return phrase(
            "{steady} is steady; {widest} makes steps differ", steady=text(label[longest]), widest=text(label[widest])
        )
    return phrase("{widest} makes steps differ most", widest=text(label[widest]))


ANALYSIS = Analysis("overview", "Overview", OverviewResult, analyse)
