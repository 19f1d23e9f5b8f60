"""Overview: how long a step is and what its time is spent on."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.analyses.base import Analysis, Series
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.catalogue import TILES, main_device, measure
from tb_steptime.metrics.communication.summary import Communication, communication
from tb_steptime.metrics.data_loading.waits import device_busy
from tb_steptime.metrics.excluded_time.ranges import excluded_time, findings, judged_ns
from tb_steptime.metrics.excluded_time.steady_step import (
    ExcessNs,
    ExcessRow,
    excess_rows,
    steady_ns,
    steady_step_ns,
    step_excess,
)
from tb_steptime.metrics.gpu.occupancy import EST_ACHIEVED_OCCUPANCY, KINETO_ACHIEVED_OCCUPANCY
from tb_steptime.metrics.gpu.utilization import (
    EST_SM_EFFICIENCY,
    GPU_UTILIZATION,
    collective_kernels,
    has_device_activity,
)
from tb_steptime.metrics.idle.reasons import EXCLUDED, devices_by_activity
from tb_steptime.metrics.job.kind import JobKind, job_kind
from tb_steptime.metrics.means import slow_after_first
from tb_steptime.metrics.phases.forward_only import forward_only
from tb_steptime.metrics.steps.parts import Parts, mean_duration_ns, mean_parts, step_breakdown
from tb_steptime.text import Finding, Reason
from tb_steptime.trace.loader_records import StepPace
from tb_steptime.trace.model import Trace, is_cut_short
from tb_steptime.trace.quality.lost_launches import lost_at_end_ns
from tb_steptime.trace.steps import find_steps


class StepRow(msgspec.Struct, frozen=True):
    """One step. parts_ns sums to duration_ns.

    start_ns       relative to the span's origin
    slow           whether it is an outlier
    gpu_busy_ns    time in which any device works; None in a trace without device activity
    steady_ns      the step without excess
    excess_ns      by kind
    forward_only   whether it runs a forward pass alone, although others train

    These times of the step are left out of verdicts, gains and cards:

    before_recording_ns   the main device runs work from before the recording
    once_ns               it is idle during one-time work of the host
    after_recording_ns    no more work of it is recorded
    profiler_ns           it is idle while the profiler itself works
    """

    name: str
    start_ns: int
    duration_ns: int
    host_ns: int
    parts_ns: Parts
    slow: bool
    gpu_busy_ns: int | None
    before_recording_ns: int = 0
    once_ns: int = 0
    after_recording_ns: int = 0
    profiler_ns: int = 0
    steady_ns: int = 0
    excess_ns: ExcessNs = ExcessNs()
    forward_only: bool = False

    @property
    def judged_ns(self) -> int:
        """The length of the step without what is left out."""
        excluded = self.before_recording_ns + self.once_ns + self.after_recording_ns + self.profiler_ns
        return self.duration_ns - excluded


class DeviceFigures(msgspec.Struct, frozen=True):
    """A device's figures over the span's window, fractions; None where not measurable (the tiles give the reason)."""

    device: int
    name: str
    utilization: float | None
    est_sm_efficiency: float | None
    est_achieved_occupancy: float | None
    kineto_achieved_occupancy: float | None


class OverviewResult(msgspec.Struct, frozen=True):
    """The result of the overview. mean_parts_ns sums to mean_duration_ns, and works_ns (device parts) + waits_ns =
    mean_duration_ns.

    tiles             in the order of the page; GPU figures are those of `device`
    absent            why a part has no length, by its id
    job               the kind of job
    communication     None if nothing is exchanged
    cut_short         whether the file ends before the trace does
    findings          faults of the recording: repaired ones first, then those that exclude something, then remarks
    not_recorded_ns   estimated GPU time that is missing from the only step if the end of the recording is missing, and
                      otherwise 0
    steady_step_ns    the median length of the steps without excess; None if it could not be computed
    excess            sums over the steps by kind, the largest first
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
    absent: dict[str, Reason]
    job: JobKind = JobKind()
    communication: Communication | None = None
    cut_short: bool = False
    findings: list[Finding] = []
    not_recorded_ns: int = 0
    steady_step_ns: int | None = None
    excess: list[ExcessRow] = []
    pace: StepPace | None = None


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
        absent=_absent(trace, mean),
        job=job_kind(trace),
        communication=communication(trace),
        cut_short=is_cut_short(trace.notes),
        findings=findings(trace, device),
        not_recorded_ns=lost_at_end_ns(trace) if find_steps(trace).by == "recording" else 0,
        steady_step_ns=steady_step_ns(trace, device),
        excess=excess_rows(trace, device),
        pace=trace.step_pace,
    )


def _step_rows(trace: Trace) -> list[StepRow]:
    steps = find_steps(trace)
    parts = step_breakdown(trace)
    device = main_device(trace)
    outlier = slow_after_first(judged_ns(trace, device))
    excluded = excluded_time(trace, device)
    left_out = {f"{reason}_ns": steps.overlap_ns(getattr(excluded, reason)).tolist() for reason in EXCLUDED}
    busy = steps.overlap_ns(device_busy(trace)).tolist()
    on_device = has_device_activity(trace)
    steady, excess = steady_ns(trace, device).tolist(), step_excess(trace, device)
    evaluates = forward_only(trace).tolist()
    return [
        StepRow(
            name=step.name,
            start_ns=step.start_ns,
            duration_ns=step.duration_ns,
            host_ns=step.host_ns,
            parts_ns=parts[i],
            slow=bool(outlier[i]),
            gpu_busy_ns=busy[i] if on_device else None,
            **{field: ns[i] for field, ns in left_out.items()},
            steady_ns=steady[i],
            excess_ns=excess[i],
            forward_only=evaluates[i],
        )
        for i, step in enumerate(steps.steps)
    ]


def _device_figures(trace: Trace) -> list[DeviceFigures]:
    def figure(metric: Metric, device: int) -> float | None:
        return measure(trace, metric.id, device).value

    return [
        DeviceFigures(
            device=device,
            name=trace.device_name(device),
            utilization=figure(GPU_UTILIZATION, device),
            est_sm_efficiency=figure(EST_SM_EFFICIENCY, device),
            est_achieved_occupancy=figure(EST_ACHIEVED_OCCUPANCY, device),
            kineto_achieved_occupancy=figure(KINETO_ACHIEVED_OCCUPANCY, device),
        )
        for device in devices_by_activity(trace)
    ]


def _absent(trace: Trace, mean: Parts) -> dict[str, Reason]:
    """Returns by id why parts have no length, which is that this trace has nothing of their kind."""
    reasons = {
        "communication": Reason("no_collective"),
        "data_loader": Reason("no_loader_events_in_steps"),
        "memcpy": Reason("no_copy_in_steps"),
        "memset": Reason("no_memset_in_steps"),
        "kernel": Reason("no_kernel_in_steps"),
        "runtime": Reason("no_runtime_call"),
    }
    if not has_device_activity(trace):
        reasons |= dict.fromkeys(("kernel", "memcpy", "memset"), Reason("no_gpu_activity"))
    elif len(collective_kernels(trace)):
        reasons["communication"] = Reason("collectives_overlap_kernels")
    return {part: reason for part, reason in reasons.items() if getattr(mean, part) == 0}


_NOTHING = OverviewResult([], 0, 0, Parts(0, 0, 0, 0, 0, 0, 0, 0), None, 0, 0, False, None, [], [], {})

ANALYSIS = Analysis("overview", "Overview", OverviewResult, analyse, _NOTHING)
