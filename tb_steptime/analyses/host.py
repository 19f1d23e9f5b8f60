"""Host: why each GPU is idle, what the host did meanwhile, from where work is launched, and which calls block."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Analysis
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import HOST_TILES, main_device, measure
from tb_steptime.metrics.host.annotations import RangeRow, range_rows
from tb_steptime.metrics.host.answer import Answer, HostFigures, answer
from tb_steptime.metrics.host.copies import CopyRow, copy_rows
from tb_steptime.metrics.host.titles import titles
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION, Bound, Pace, judge
from tb_steptime.metrics.idle.bubbles import BlockingRow, blocking_rows
from tb_steptime.metrics.idle.bucket_copies import bucket_copies
from tb_steptime.metrics.idle.host_stalls import Pause, pauses
from tb_steptime.metrics.idle.reasons import IdleNs, devices_by_activity, starts_per_step
from tb_steptime.metrics.idle.several_gpus import SeveralDevices, several_devices
from tb_steptime.metrics.idle.sums import idle_of_activity
from tb_steptime.metrics.launches.queue import BackPressure, QueueLevel, back_pressure, queue_levels, queue_per_step
from tb_steptime.metrics.launches.run_ahead import LaunchFigures, launch_figures
from tb_steptime.metrics.phases.assignment import PHASES, host_time_ns
from tb_steptime.metrics.phases.intervals import PhaseSpan, phase_spans
from tb_steptime.metrics.steps.device_bins import DeviceLevel, device_levels
from tb_steptime.metrics.steps.mean_step import Cells, device_cells, mean_host_ns
from tb_steptime.metrics.steps.segments import Grown, Piece, pieces, slow_steps
from tb_steptime.metrics.steps.sites import PhaseRow, SiteRow, host_phase_rows, phase_rows, site_rows
from tb_steptime.text import Phrase, Reason
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class HostStep(msgspec.Struct, frozen=True):
    """A step. idle_ns is that of the main device by reason: it sums to duration_ns less that device's busy time.

    phase_idle_ns: the same time by the phase that it is charged to (phase id -> ns). phase_host_ns: the step's own time
    by what the host was in (phase id -> ns; sums to duration_ns). phase_spans: when, in time order.
    """

    name: str
    start_ns: int
    end_ns: int
    idle_ns: IdleNs
    phase_idle_ns: dict[str, int]
    phase_host_ns: dict[str, int]
    queue_mean: float | None
    launches: int
    phase_spans: list[PhaseSpan] = []


class DeviceIdle(msgspec.Struct, frozen=True):
    """One device. steps: its idle time by reason, per step; mean: mean over the steps; busy_ns per step."""

    device: int
    name: str
    busy_ns: list[int]
    steps: list[IdleNs]
    mean: IdleNs


class HostResult(msgspec.Struct, frozen=True):
    """device: the one that is busy longest, whose figures stand for the span; None where nothing ran on a GPU, then
    `unknown` says so, and only steps, phases and ranges are told (of the host).

    pieces sum to mean_step_ns. queue: strips over [start_ns, end_ns), coarse to fine. blocking and copies: most bubble
    (time) first; more_blocking: how many rows were folded away. device_levels: what the device does, in the bins of the
    queue. titles by picture or table: queue, reasons, sites, blocking, blocking_remark, copies, devices, pauses, grown;
    those without anything to show are left out. answer: is the CPU the limit? bucket_copies: copies a step of gradients
    out of the buckets of DistributedDataParallel; bucket_late_ns: idle time a step until these are launched.
    with_stack, step_marks: how the trace was recorded.
    """

    unknown: Reason | None
    start_ns: int
    end_ns: int
    mean_step_ns: int
    device: int | None
    tiles: list[Series]
    steps: list[HostStep]
    pieces: list[Piece]
    bound: Bound
    phases: list[PhaseRow]
    sites: list[SiteRow]
    ranges: list[RangeRow]
    devices: list[DeviceIdle]
    launches: LaunchFigures | None
    back_pressure: BackPressure | None
    queue: list[QueueLevel]
    blocking: list[BlockingRow]
    more_blocking: int
    blocking_bubble_ns: int
    copies: list[CopyRow]
    several_devices: SeveralDevices | None
    pauses: list[Pause]
    grown: list[Grown]
    device_levels: list[DeviceLevel] = []
    titles: dict[str, Phrase] = {}
    answer: Answer | None = None
    bucket_copies: float = 0.0
    bucket_late_ns: int = 0
    with_stack: bool = False
    step_marks: bool = True


NO_ACTIVITY = Reason("no_gpu_activity")

#: Rows of the table of blocking calls; the rest are counted.
BLOCKING_ROWS = 100


def with_words(result: HostResult, idle: IdleNs, host_floor_ns: int | None) -> HostResult:
    """The result with its titles and the answer; idle: the main device's mean, whose sum and busy time are the step."""
    host = HostFigures(
        result.bound, result.mean_step_ns, idle, result.launches, result.back_pressure, host_floor_ns
    )  # fmt: skip
    if result.unknown is not None:
        return result
    return msgspec.structs.replace(result, titles=titles(host, result), answer=answer(host))


def analyse(trace: Trace) -> HostResult:
    device = main_device(trace)
    return _of_host_alone(trace) if device is None else _of_device(trace, device)


def _of_device(trace: Trace, device: int) -> HostResult:
    cells = device_cells(trace, device)
    mean, host_ns = cells.mean, mean_host_ns(trace)
    launches, queue, rows = launch_figures(trace, device), queue_levels(trace, device), blocking_rows(trace, device)
    copies = bucket_copies(trace, device)
    low, high = find_steps(trace).window
    result = HostResult(
        unknown=None,
        start_ns=low,
        end_ns=high,
        mean_step_ns=mean.step_ns,
        device=device,
        tiles=[measure(trace, metric, device) for metric in HOST_TILES],
        steps=_steps(trace, device, cells),
        pieces=pieces(mean, 0),
        bound=_bound(mean, launches),
        phases=phase_rows(trace, device, mean, host_ns),
        sites=site_rows(trace, device, mean),
        ranges=range_rows(trace, idle_of_activity(trace, device)),
        devices=_devices(trace),
        launches=launches,
        back_pressure=back_pressure(trace, device),
        queue=queue,
        blocking=rows[:BLOCKING_ROWS],
        more_blocking=len(rows[BLOCKING_ROWS:]),
        blocking_bubble_ns=mean.bubble_ns(0),
        copies=copy_rows(trace),
        several_devices=several_devices(trace),
        pauses=pauses(trace, device),
        grown=slow_steps(find_steps(trace).steps, cells),
        device_levels=device_levels(trace, device, queue),
        bucket_copies=copies.per_step,
        bucket_late_ns=copies.late_ns,
        with_stack=trace.job.with_stack,
        step_marks=_has_marks(trace),
    )
    return with_words(result, mean.idle_of(0), round(measure(trace, "host_floor", None).value or 0))


def _of_host_alone(trace: Trace) -> HostResult:
    low, high = find_steps(trace).window
    host_ns = mean_host_ns(trace)
    result = HostResult(
        NO_ACTIVITY, low, high, sum(host_ns.values()), None, [], _steps_of_host(trace), [], _bound_of_host(trace),
        host_phase_rows(host_ns), [], range_rows(trace), [], None, None, [], [], 0, 0, [], None, [], [],
        with_stack=trace.job.with_stack, step_marks=_has_marks(trace),
    )  # fmt: skip
    return with_words(result, IdleNs(), None)


def _bound(mean: Cells, launches: LaunchFigures) -> Bound:
    works = mean.works_of(0)
    pace = Pace(
        mean.idle_of(0), mean.bubble_ns(0), works.total_ns, works.communication, launches.starved_share
    )  # fmt: skip
    return judge(pace)


def _bound_of_host(trace: Trace) -> Bound:
    """Without a device the loader's waits are the only ones that can be told."""
    share = measure(trace, "data_loading_exposed_share", None).value
    return Bound.INPUT if share is not None and share >= IDLE_FRACTION else Bound.UNKNOWN


def _steps(trace: Trace, device: int, cells: Cells) -> list[HostStep]:
    columns = zip(
        _steps_of_host(trace),
        cells.idle_of_steps,
        cells.of_phases.tolist(),
        queue_per_step(trace, device),
        starts_per_step(trace, device).tolist(),
        strict=True,
    )
    return [
        msgspec.structs.replace(
            step,
            idle_ns=idle,
            phase_idle_ns=dict(zip(PHASES, in_phases, strict=True)),
            queue_mean=depth,
            launches=starts,
        )
        for step, idle, in_phases, depth, starts in columns
    ]


def _steps_of_host(trace: Trace) -> list[HostStep]:
    """What the host alone tells of each step."""
    in_phases, spans = host_time_ns(trace).tolist(), phase_spans(trace)
    return [
        HostStep(
            name=step.name,
            start_ns=step.start_ns,
            end_ns=step.end_ns,
            idle_ns=IdleNs(),
            phase_idle_ns={},
            phase_host_ns=dict(zip(PHASES, in_phases[row], strict=True)),
            queue_mean=None,
            launches=0,
            phase_spans=spans[row],
        )
        for row, step in enumerate(find_steps(trace).steps)
    ]


def _devices(trace: Trace) -> list[DeviceIdle]:
    return [_device(trace, device, device_cells(trace, device)) for device in devices_by_activity(trace)]


def _device(trace: Trace, device: int, cells: Cells) -> DeviceIdle:
    known = trace.devices.get(device)
    return DeviceIdle(
        device=device,
        name=known.name if known else f"GPU {device}",
        busy_ns=cells.works.sum(axis=1).tolist(),
        steps=cells.idle_of_steps,
        mean=cells.mean.idle_of(0),
    )


def _has_marks(trace: Trace) -> bool:
    return find_steps(trace).steps[0].number is not None


ANALYSIS = Analysis("host", "Host", HostResult, analyse)
