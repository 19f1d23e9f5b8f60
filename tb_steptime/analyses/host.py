"""Host: why each GPU is idle, what the host did meanwhile, from where work is launched, and which calls block."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tb_steptime.analyses.base import NOT_COMPUTED, Analysis
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import HOST_TILES, NO_DEVICE, main_device, measure
from tb_steptime.metrics.communication.holding_ops import holding_ops
from tb_steptime.metrics.communication.summary import Communication, communication
from tb_steptime.metrics.communication.waited_for import waited_collectives
from tb_steptime.metrics.data_loading.wait_shares import StepWaits, step_waits
from tb_steptime.metrics.excluded_time.ranges import OneTimeCost, excluded_time, judged_ns, one_time_rows, whole_steps
from tb_steptime.metrics.host.annotations import RangeRow, range_rows
from tb_steptime.metrics.host.copies import CopyRow, copy_rows
from tb_steptime.metrics.host.cpu_ops import CpuWork, cpu_work
from tb_steptime.metrics.host.profiler_cost import AnomalyChecks, anomaly_checks, observed_step_ns
from tb_steptime.metrics.idle.blocking_rows import BlockingRow, blocking_rows
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.gaps import behind_host_functions_ns
from tb_steptime.metrics.idle.host_stalls import Pause, pauses
from tb_steptime.metrics.idle.long_gaps import LongGaps, before_graphs_ns, bucket_copies, long_gaps
from tb_steptime.metrics.idle.outside_ops import OutsideRange, PythonFunction, outside_range, python_function
from tb_steptime.metrics.idle.python_work import HeldInterpreter, PythonWork, held_interpreter, python_work
from tb_steptime.metrics.idle.reasons import IdleNs, devices_by_activity, starts_per_step
from tb_steptime.metrics.idle.several_gpus import SeveralDevices, several_devices
from tb_steptime.metrics.idle.sums import idle_of_activity
from tb_steptime.metrics.kernels.waste import LaunchWaste, launch_waste
from tb_steptime.metrics.launches.queue import QueueLevel, full_queue_ns, queue_levels
from tb_steptime.metrics.launches.run_ahead import LaunchFigures, launch_figures, queue_mean
from tb_steptime.metrics.phases.assignment import PhaseSpan, phase_labels, phase_spans
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steps.autograd_graph import GrowingGraph, UnusedGraph, growing_graph, unused_graph
from tb_steptime.metrics.steps.host_pace import (
    DeviceLevel,
    PhaseRow,
    SiteRow,
    device_levels,
    host_figures,
    host_phase_rows,
    phase_rows,
    site_rows,
)
from tb_steptime.metrics.steps.inserted import RecurringWork, recurring_work
from tb_steptime.metrics.steps.parts import (
    Grown,
    Parts,
    Segment,
    StepAggregates,
    between_ops_ns,
    mean_duration_ns,
    mean_host_ns,
    mean_parts,
    segments,
    slow_steps,
    slow_steps_of_host,
    step_aggregates,
    step_breakdown,
)
from tb_steptime.metrics.steps.recaptures import Recaptures, recaptures
from tb_steptime.metrics.steps.recomputed import Recomputed, recomputed
from tb_steptime.metrics.steps.without_cache import WithoutCache, without_cache
from tb_steptime.metrics.tensor_cores.opportunities import Obstacle, opportunities
from tb_steptime.metrics.tensor_cores.product_rates import ProductRates, slow_products
from tb_steptime.metrics.tensor_cores.usage import device_has_tensor_cores
from tb_steptime.replay.bound import step_bound, step_bound_on_cpu
from tb_steptime.replay.whatif import WhatIf, replayed_step
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace, promised
from tb_steptime.trace.quality import is_cpu_unrecorded
from tb_steptime.trace.steps import Steps, averaged_over, find_steps
from tb_steptime.trace.table import Bool


class HostStep(msgspec.Struct, frozen=True):
    """A step. idle_ns: idle time of the main device by reason, which sums to the step minus its busy time.

    launches: number of kernels, copies and memsets that start in it. left_out_ns: the part that verdicts and cards
    leave out. phase_spans: when the host is in which phase, in time order.
    """

    name: str
    start_ns: int
    end_ns: int
    idle_ns: IdleNs = IdleNs()
    queue_mean: float | None = None
    launches: int = 0
    phase_spans: list[PhaseSpan] = []
    left_out_ns: int = 0

    @property
    def judged_ns(self) -> int:
        return self.end_ns - self.start_ns - self.left_out_ns


class DeviceIdle(msgspec.Struct, frozen=True):
    """One device. steps: its idle time by reason, per step; mean: mean over the steps; busy_ns per step."""

    device: int
    name: str
    busy_ns: list[int]
    steps: list[IdleNs]
    mean: IdleNs


class JudgedRows(msgspec.Struct, frozen=True):
    """What cards rest on, as means over the steps that verdicts and cards average over, where these are not all.

    steps: their places. exchange_ns: time a step in which the main device only communicates. observed_ns: what a step
    takes at least because something besides the profiler observes its ops, 0 where that is not found. The other fields
    are as in HostResult, communication as in OverviewResult, waits as in DataLoadingResult, and waste, obstacles and
    rates as in DeviceSplit, the rates of slow products alone.
    """

    steps: list[int]
    sites: list[SiteRow]
    blocking: list[BlockingRow]
    blocking_bubble_ns: int
    copies: list[CopyRow]
    pauses: list[Pause]
    exchange_ns: int
    communication: Communication | None
    waste: LaunchWaste
    obstacles: list[Obstacle]
    rates: ProductRates | None
    waits: StepWaits | None
    long_gaps: list[LongGaps]
    full_queue_ns: int
    bucket_copies: float
    bucket_late_ns: int
    before_graphs_ns: int
    host_functions_ns: int
    several_devices: SeveralDevices | None
    anomaly: AnomalyChecks | None
    observed_ns: int


class JudgedHost(msgspec.Struct, frozen=True):
    """What verdict and cards rest on without a device, as means over the steps that they average over, where these are
    not all. steps: their places. parts_ns and communication are as in OverviewResult, waits as in DataLoadingResult,
    and the other fields as in HostResult."""

    steps: list[int]
    parts_ns: Parts
    communication: Communication | None
    waits: StepWaits | None
    cpu: CpuWork
    python_function: PythonFunction | None
    python_work: list[PythonWork]
    outside_range: OutsideRange | None
    held_interpreter: HeldInterpreter | None
    recomputed: Recomputed | None
    anomaly: AnomalyChecks | None
    between_ops_ns: int


class HostResult(msgspec.Struct, frozen=True):
    """The result of the host view. device: the busiest one, whose figures represent the span; None with `unknown` if
    nothing ran on a GPU. Then only steps, phases and ranges of the host are measured.

    segments: sum to mean_step_ns. queue: time bins over [start_ns, end_ns), coarse to fine; device_levels: activity of
    the device in the same bins. figures: by metric id, figures that show whether the CPU limits the step. blocking: the
    largest bubble first; more_blocking: number of rows beyond BLOCKING_ROWS. copies: the most time first.
    full_queue_ns: time per step in which launch calls wait for room in the full queue. bucket_copies: copies per step
    of gradients out of the buckets of DistributedDataParallel; bucket_late_ns: idle time per step until these are
    launched. before_graphs_ns: idle time per step, not in long gaps, until work of graphs is launched; None in
    summaries of before it was measured. host_functions_ns: idle time per step before work that is launched after a
    function of the CPU in its stream, or waits within a graph in each launch of it. long_gaps: by place, gaps before
    which the host does one thing for a long time. with_stack: whether call stacks are recorded. cpu_unrecorded: whether
    the recording has nothing of the CPU but launch calls.

    judged: None where no step is left out, and without a device; judged_host: the same without a device.

    Measured if nothing ran on a GPU: cpu: what ops compute; between_ops_ns: time of the mean step in a named range
    outside any op; python_function: the function that takes the time outside ops; python_work: functions that compute
    without ops; outside_range: the named range with most of the time outside ops; held_interpreter: another thread that
    runs Python meanwhile.

    None if there is no such thing: recaptures: graphs that are captured repeatedly; recurring: steps at equal distances
    that do more; growing: a backward pass that grows from step to step; unused_graph: nodes that no backward pass runs;
    recomputed: what checkpoints compute again; without_cache: generation that computes all earlier tokens again;
    anomaly: the cost of autograd's anomaly detection; whatif: the replay of a steady step, as recorded and after
    changes.
    """

    unknown: Reason | None
    start_ns: int
    end_ns: int
    mean_step_ns: int
    steps: list[HostStep]
    bound: Bound
    phases: list[PhaseRow]
    ranges: list[RangeRow]
    with_stack: bool = False
    with_memory: bool = False
    cpu_unrecorded: bool = False
    device: int | None = None
    tiles: list[Series] = []
    segments: list[Segment] = []
    sites: list[SiteRow] = []
    devices: list[DeviceIdle] = []
    launches: LaunchFigures | None = None
    figures: dict[str, float] = {}
    full_queue_ns: int = 0
    queue: list[QueueLevel] = []
    device_levels: list[DeviceLevel] = []
    blocking: list[BlockingRow] = []
    more_blocking: int = 0
    blocking_bubble_ns: int = 0
    copies: list[CopyRow] = []
    several_devices: SeveralDevices | None = None
    pauses: list[Pause] = []
    one_time: list[OneTimeCost] = []
    long_gaps: list[LongGaps] = []
    grown: list[Grown] = []
    bucket_copies: float = 0.0
    bucket_late_ns: int = 0
    before_graphs_ns: int | None = None
    host_functions_ns: int = 0
    cpu: CpuWork | None = None
    python_function: PythonFunction | None = None
    python_work: list[PythonWork] = []
    outside_range: OutsideRange | None = None
    held_interpreter: HeldInterpreter | None = None
    whatif: WhatIf | None = None
    recaptures: Recaptures | None = None
    recurring: RecurringWork | None = None
    growing: GrowingGraph | None = None
    unused_graph: UnusedGraph | None = None
    recomputed: Recomputed | None = None
    without_cache: WithoutCache | None = None
    anomaly: AnomalyChecks | None = None
    between_ops_ns: int = 0
    judged: JudgedRows | None = None
    judged_host: JudgedHost | None = None

    @property
    def main_idle(self) -> IdleNs | None:
        """The mean idle time of the busiest device by reason; None without a device."""
        return next((device.mean for device in self.devices if device.device == self.device), None)

    @property
    def judged_steps(self) -> list[int]:
        """The places of the steps over which the rows of cards are means."""
        judged = self.judged or self.judged_host
        return list(range(len(self.steps))) if judged is None else judged.steps


#: Maximum number of rows in the table of blocking calls; the rest are only counted.
BLOCKING_ROWS = 100


def analyse(trace: Trace) -> HostResult:
    device = main_device(trace)
    return _result_of_host_alone(trace) if device is None else _result_of_device(trace, device)


def _result_of_device(trace: Trace, device: int) -> HostResult:
    aggregates = step_aggregates(trace, device)
    mean, idle = aggregates.mean, aggregates.mean.idle_of(0)
    launches, queue = launch_figures(trace, device), queue_levels(trace, device)
    blocking = blocking_rows(trace, device, waited_collectives(trace))
    rows = _rows(trace, device, mean, None)
    host_floor_ns = measure(trace, "host_floor", None).value
    (low, high), labels = find_steps(trace).window, phase_labels(trace)
    bound = step_bound(trace, device, blocking, rows["long_gaps"])
    return HostResult(
        unknown=None,
        start_ns=low,
        end_ns=high,
        mean_step_ns=mean.step_ns,
        steps=_steps(trace, device, aggregates),
        bound=bound,
        cpu_unrecorded=is_cpu_unrecorded(trace),
        phases=phase_rows(trace, device, mean, mean_host_ns(trace)),
        ranges=range_rows(trace, idle_of_activity(trace, device)),
        with_stack=trace.job.with_stack,
        with_memory=trace.job.with_memory,
        device=device,
        tiles=[measure(trace, metric, device) for metric in HOST_TILES],
        segments=segments(mean, 0, labels),
        devices=[_device(trace, device, step_aggregates(trace, device)) for device in devices_by_activity(trace)],
        launches=launches,
        figures=host_figures(mean.step_ns, idle, host_floor_ns, launches, rows["full_queue_ns"]),
        queue=queue,
        device_levels=device_levels(trace, device, queue),
        blocking=blocking[:BLOCKING_ROWS],
        more_blocking=len(blocking[BLOCKING_ROWS:]),
        one_time=one_time_rows(trace, device),
        grown=slow_steps(find_steps(trace).steps, judged_ns(trace, device), aggregates, labels),
        whatif=replayed_step(trace),
        recaptures=recaptures(trace),
        recurring=recurring_work(trace, device),
        growing=growing_graph(trace, device),
        unused_graph=unused_graph(trace),
        recomputed=recomputed(trace, device),
        without_cache=without_cache(trace),
        judged=_judged(trace, device, aggregates, bound),
        **rows,
    )


def _rows(trace: Trace, device: int, mean: StepAggregates, steps: Steps | None) -> dict[str, Any]:
    """Returns the fields that `HostResult` and `JudgedRows` share. mean: that of these steps, of all if None."""
    buckets = bucket_copies(trace, device, steps)
    return {
        "sites": site_rows(trace, device, mean, steps),
        "blocking_bubble_ns": mean.bubble_ns(0),
        "copies": copy_rows(trace, steps),
        "pauses": pauses(trace, device, steps),
        "long_gaps": long_gaps(trace, device, steps),
        "full_queue_ns": full_queue_ns(trace, device, steps),
        "bucket_copies": buckets.per_step,
        "bucket_late_ns": buckets.late_ns,
        "before_graphs_ns": before_graphs_ns(trace, device, steps),
        "host_functions_ns": behind_host_functions_ns(trace, device, steps),
        "several_devices": several_devices(trace, steps),
        "anomaly": anomaly_checks(trace, steps),
    }


def _judged(trace: Trace, device: int, aggregates: StepAggregates, bound: Bound) -> JudgedRows | None:
    are_counted = whole_steps(trace, device, paced_by_device=bound is Bound.GPU)
    if are_counted.all():
        return None
    steps, mean = find_steps(trace).chosen(are_counted), aggregates.of(are_counted).mean
    return JudgedRows(
        steps=np.flatnonzero(are_counted).tolist(),
        blocking=blocking_rows(trace, device, waited_collectives(trace), steps)[:BLOCKING_ROWS],
        exchange_ns=mean.works_of(0).communication,
        communication=communication(trace, steps),
        waste=launch_waste(trace, device, steps),
        obstacles=opportunities(trace, device, steps).obstacles,
        rates=slow_products(trace, device, steps) if device_has_tensor_cores(trace, device) else None,
        waits=step_waits(trace, steps),
        observed_ns=observed_step_ns(trace, steps),
        **_rows(trace, device, mean, steps),
    )


def _result_of_host_alone(trace: Trace) -> HostResult:
    (low, high), are_averaged = find_steps(trace).window, whole_steps(trace, None)
    host_ns, averaged = mean_host_ns(trace), trace if are_averaged.all() else averaged_over(trace, are_averaged)
    with promised(averaged, find_excess, lambda: find_excess(trace)):  # what comes once shows in all steps
        bound = step_bound_on_cpu(averaged)
        judged_host = None if averaged is trace else _judged_host(averaged, are_averaged)
    return HostResult(
        unknown=NO_DEVICE,
        start_ns=low,
        end_ns=high,
        mean_step_ns=sum(host_ns.values()),
        steps=_steps_of_host(trace),
        bound=bound,
        phases=host_phase_rows(trace, host_ns),
        ranges=range_rows(trace),
        with_stack=trace.job.with_stack,
        with_memory=trace.job.with_memory,
        one_time=one_time_rows(trace, None),
        grown=slow_steps_of_host(find_steps(trace).steps, judged_ns(trace, None), step_breakdown(trace)),
        recurring=recurring_work(trace, None),
        growing=growing_graph(trace, None),
        unused_graph=unused_graph(trace),
        without_cache=without_cache(trace),
        judged_host=judged_host,
        **_rows_of_host(trace),
    )


def _judged_host(averaged: Trace, are_averaged: Bool) -> JudgedHost:
    rows = step_breakdown(averaged)
    return JudgedHost(
        steps=np.flatnonzero(are_averaged).tolist(),
        parts_ns=mean_parts(rows, mean_duration_ns(rows)),
        communication=communication(averaged),
        waits=step_waits(averaged),
        **_rows_of_host(averaged),
    )


def _rows_of_host(trace: Trace) -> dict[str, Any]:
    """Returns the fields measured without a device, over all steps and over the judged ones, by name."""
    return {
        "cpu": cpu_work(trace, excluded_time(trace, None).total, holding_ops(trace)),
        "python_function": python_function(trace),
        "python_work": python_work(trace),
        "outside_range": outside_range(trace),
        "held_interpreter": held_interpreter(trace),
        "recomputed": recomputed(trace, None),
        "anomaly": anomaly_checks(trace),
        "between_ops_ns": between_ops_ns(trace),
    }


def _steps(trace: Trace, device: int, aggregates: StepAggregates) -> list[HostStep]:
    columns = zip(
        _steps_of_host(trace),
        aggregates.idle_of_steps,
        queue_mean(trace, device).steps,
        starts_per_step(trace, device).tolist(),
        strict=True,
    )
    return [
        msgspec.structs.replace(step, idle_ns=idle, queue_mean=depth, launches=starts)
        for step, idle, depth, starts in columns
    ]


def _steps_of_host(trace: Trace) -> list[HostStep]:
    """Returns the steps with what is measured on the host."""
    judged = judged_ns(trace, main_device(trace)).tolist()
    steps = zip(find_steps(trace).steps, phase_spans(trace), judged, strict=True)
    return [
        HostStep(step.name, step.start_ns, step.end_ns, phase_spans=spans, left_out_ns=step.duration_ns - ns)
        for step, spans, ns in steps
    ]


def _device(trace: Trace, device: int, aggregates: StepAggregates) -> DeviceIdle:
    return DeviceIdle(
        device=device,
        name=trace.device_name(device),
        busy_ns=aggregates.works.sum(axis=1).tolist(),
        steps=aggregates.idle_of_steps,
        mean=aggregates.mean.idle_of(0),
    )


ANALYSIS = Analysis("host", "Host", HostResult, analyse, HostResult(NOT_COMPUTED, 0, 0, 0, [], Bound.UNKNOWN, [], []))
