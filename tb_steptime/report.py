"""What `tb-steptime summarize --format json` prints: a contract with other programs, whose fields are never renamed.

Made from the same results and rules as the tab's pages. Fractions are 0-1, null is "not measurable in this trace".
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult, LoaderStep
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.overview import DeviceFigures, OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Insight, Judgement, Severity, Verdict
from tb_steptime.metrics.blocking import BlockingRow
from tb_steptime.metrics.idle import IdleNs
from tb_steptime.metrics.launch_sites import PhaseRow
from tb_steptime.metrics.recorded_loading import Recorded
from tb_steptime.metrics.step_time import Parts
from tb_steptime.metrics.verdict import Bound
from tb_steptime.printer import plain
from tb_steptime.span import Measured
from tb_steptime.wire import Problem

R = TypeVar("R", bound=msgspec.Struct)


class LoadingNs(msgspec.Struct, frozen=True):
    """wait = exposed + hidden; all null in a trace without loader events."""

    wait: int | None = None
    exposed: int | None = None
    hidden: int | None = None


class IdleReport(msgspec.Struct, frozen=True):
    """Why a device is idle, ns. unknown: the launch is not recorded, or nothing follows in this recording."""

    data_loading: int
    blocking_call: int
    allocator: int
    cpu_work: int
    nothing_recorded: int
    launch_latency: int
    queued: int
    dependency: int
    unknown: int


class StepDeviceReport(msgspec.Struct, frozen=True):
    """A device within a step: gpu_busy_ns and the reasons in idle_ns sum to the step."""

    device: int
    gpu_busy_ns: int
    idle_ns: IdleReport


class StepReport(msgspec.Struct, frozen=True):
    """A step, or the mean one, which has no name and no start. start_ns is relative to the span's origin_ns.

    gpu_busy_ns: any device works; devices: each by itself.
    """

    name: str | None
    start_ns: int | None
    duration_ns: int
    host_ns: int
    parts_ns: Parts
    data_loading_ns: LoadingNs
    gpu_busy_ns: int | None
    slow: bool | None
    devices: list[StepDeviceReport]


class TensorCoreReport(msgspec.Struct, frozen=True):
    """kernel_ns is the sum of the other four; the true share lies between the two."""

    share_low: float | None
    share_high: float | None
    kernel_ns: int
    tensor_core_ns: int
    matmul_like_ns: int
    unknown_ns: int
    other_ns: int


class DeviceReport(msgspec.Struct, frozen=True):
    device: int
    name: str
    utilization: float | None
    est_sm_efficiency: float | None
    est_achieved_occupancy: float | None
    kineto_achieved_occupancy: float | None
    tensor_core: TensorCoreReport | None


class InsightReport(msgspec.Struct, frozen=True):
    """text names the deed and the number that proves it; gain_ns is per step, at most."""

    id: str
    severity: Severity
    text: str
    gain_ns: int
    confidence: Confidence


class NoteReport(msgspec.Struct, frozen=True):
    id: str
    text: str


class VerdictReport(msgspec.Struct, frozen=True):
    """What holds the step up, and why that is so sure."""

    bound: Bound
    text: str
    confidence: Confidence


class PhaseReport(msgspec.Struct, frozen=True):
    """A phase of the mean step: time of the host in it, time in which its work runs on the device, idle time of the
    device before its work, and how far ahead it was launched. Device figures are those of the busiest device."""

    phase: str
    host_ns: int
    device_ns: int
    idle_ns: int
    run_ahead_p50_ns: int | None
    starved_share: float | None
    bound: Bound


class BlockingCallReport(msgspec.Struct, frozen=True):
    """Calls that are alike, per step: how often, how long the host stands, how long the device idles for it."""

    op: str | None
    outer_op: str | None
    phase: str
    call: str
    source: str | None
    count: float
    blocked_ns: int
    bubble_ns: int


class QueueDepthReport(msgspec.Struct, frozen=True):
    """Launches that wait for the device; null without a device."""

    mean: float | None
    max: int | None


class RecordedWorkerReport(msgspec.Struct, frozen=True):
    """A worker process; ns are means per batch, cpu_share is of the time in which it makes one."""

    worker: int
    pid: int
    batches: int
    dataset_ns_mean: int
    collate_ns_mean: int
    cpu_share: float | None


class RecordedReport(msgspec.Struct, frozen=True):
    """What a recorder's files tell of the batches that the steps received."""

    batches: int
    dataset_ns_mean: int | None
    collate_ns_mean: int | None
    cpu_share: float | None
    per_worker: list[RecordedWorkerReport]


class DataLoadingReport(msgspec.Struct, frozen=True):
    """Null is "not known", and why_unknown says why. Means are per step.

    iterator: of the loader that is waited for most. workers: 0 for a loader in the training process; needed_workers:
    that keep up with the rest of the step, and predicted_step_ns what the step takes with 1, 2, ... of them.
    consumer_ns: the step without late batches.
    """

    iterator: str | None = None
    workers: int | None = None
    wait_ns_mean: int | None = None
    exposed_ns_mean: int | None = None
    hidden_ns_mean: int | None = None
    period: int | None = None
    production_ns: int | None = None
    consumer_ns: int | None = None
    needed_workers: int | None = None
    predicted_step_ns: dict[str, int] | None = None
    why_unknown: str | None = None
    recorded: RecordedReport | None = None


class SpanReport(msgspec.Struct, frozen=True):
    run: str
    worker: str
    span: int
    trace: str
    events: int
    trace_bytes: int
    json_bytes: int
    origin_ns: int
    rank: int | None
    simulated: str | None
    verdict: VerdictReport
    steps: list[StepReport]
    mean: StepReport
    devices: list[DeviceReport]
    phases: list[PhaseReport]
    blocking_calls: list[BlockingCallReport]
    queue_depth: QueueDepthReport
    data_loading: DataLoadingReport
    insights: list[InsightReport]
    notes: list[NoteReport]


class ErrorReport(msgspec.Struct, frozen=True):
    path: str
    problem: str
    hint: str


class Report(msgspec.Struct, frozen=True):
    spans: list[SpanReport]
    errors: list[ErrorReport]


class Named(msgspec.Struct, frozen=True):
    """Which span it is; trace is the path as the user gave it or as it was found."""

    run: str
    worker: str
    number: int
    trace: str


class Judged(msgspec.Struct, frozen=True):
    """A measured span with what the rules say of it."""

    named: Named
    measured: Measured
    judgement: Judgement

    @property
    def overview(self) -> OverviewResult:
        return _result(self.measured, "overview", OverviewResult)

    @property
    def data_loading(self) -> DataLoadingResult:
        return _result(self.measured, "data_loading", DataLoadingResult)

    @property
    def host(self) -> HostResult:
        return _result(self.measured, "host", HostResult)

    @property
    def tensor_cores(self) -> TensorCoresResult:
        return _result(self.measured, "tensor_cores", TensorCoresResult)


def judged(named: Named, measured: Measured) -> Judged:
    return Judged(named, measured, judge(measured.results))


def span_report(span: Judged) -> SpanReport:
    facts, named = span.measured.facts, span.named
    return SpanReport(
        run=named.run,
        worker=named.worker,
        span=named.number,
        trace=named.trace,
        events=facts.events,
        trace_bytes=facts.file_bytes,
        json_bytes=facts.json_bytes,
        origin_ns=facts.origin_ns,
        rank=facts.rank,
        simulated=facts.simulated,
        verdict=_verdict(span.judgement.verdict),
        steps=_steps(span),
        mean=_mean(span),
        devices=_devices(span),
        phases=[_phase(row) for row in span.host.phases],
        blocking_calls=[_blocking_call(row) for row in span.host.blocking],
        queue_depth=_queue_depth(span.host),
        data_loading=_data_loading(span.data_loading),
        insights=[_insight(insight) for insight in span.judgement.insights],
        notes=[
            NoteReport(note.id, f"{plain(note.cause)} {plain(note.effect)}")
            for note in (*facts.notes, *span.data_loading.recorder_notes)
        ],
    )


def error_report(problem: Problem) -> ErrorReport:
    return ErrorReport(problem.file, problem.problem, problem.hint)


def _result(measured: Measured, view: str, kind: type[R]) -> R:
    result = measured.results[view]
    assert isinstance(result, kind)
    return result


def _steps(span: Judged) -> list[StepReport]:
    loader = {row.name: row for row in span.data_loading.steps}
    return [
        StepReport(
            name=row.name,
            start_ns=row.start_ns,
            duration_ns=row.duration_ns,
            host_ns=row.host_ns,
            parts_ns=row.parts_ns,
            data_loading_ns=_loading(loader.get(row.name)),
            gpu_busy_ns=row.gpu_busy_ns,
            slow=row.slow,
            devices=[_in_step(each.device, each.busy_ns[i], each.steps[i]) for each in span.host.devices],
        )
        for i, row in enumerate(span.overview.steps)
    ]


def _mean(span: Judged) -> StepReport:
    result = span.overview
    return StepReport(
        name=None,
        start_ns=None,
        duration_ns=result.mean_duration_ns,
        host_ns=result.mean_host_ns,
        parts_ns=result.mean_parts_ns,
        data_loading_ns=_loading(span.data_loading.mean),
        gpu_busy_ns=result.mean_gpu_busy_ns,
        slow=None,
        devices=[
            _in_step(each.device, result.mean_duration_ns - each.mean.total_ns, each.mean) for each in span.host.devices
        ],
    )


def _in_step(device: int, busy_ns: int, idle: IdleNs) -> StepDeviceReport:
    reasons = msgspec.structs.asdict(idle)
    reasons["unknown"] += reasons.pop("tail")
    return StepDeviceReport(device, busy_ns, IdleReport(**reasons))


def _verdict(verdict: Verdict) -> VerdictReport:
    return VerdictReport(verdict.bound, plain(verdict.text), verdict.confidence)


def _phase(row: PhaseRow) -> PhaseReport:
    return PhaseReport(
        row.phase, row.host_ns, row.device_ns, row.idle_ns.total_ns, row.run_ahead_p50_ns, row.starved_share, row.bound
    )


def _blocking_call(row: BlockingRow) -> BlockingCallReport:
    return BlockingCallReport(
        row.op, row.outer_op, row.phase, row.call, row.source, row.count, row.blocked_ns, row.bubble_ns
    )


def _queue_depth(host: HostResult) -> QueueDepthReport:
    return QueueDepthReport(
        host.launches.queue_mean if host.launches else None, host.launches.queue_max if host.launches else None
    )


def _data_loading(result: DataLoadingResult) -> DataLoadingReport:
    if result.unknown is not None or result.mean is None:
        return DataLoadingReport(why_unknown=plain(result.unknown) if result.unknown else None)
    burst, curve = result.burst, result.curve
    gates = burst.gates if burst else []
    return DataLoadingReport(
        iterator=_main_iterator(result),
        workers=0 if result.multiprocess is False else burst.workers if burst else None,
        wait_ns_mean=result.mean.wait_ns,
        exposed_ns_mean=result.mean.exposed_ns,
        hidden_ns_mean=result.mean.hidden_ns,
        period=burst.period if burst else None,
        production_ns=result.batch_ns,
        consumer_ns=burst.consumer_ns if burst else result.without_wait_ns,
        needed_workers=result.needed_workers,
        predicted_step_ns={str(point.workers): point.step_ns for point in curve.points} if curve else None,
        why_unknown=plain(gates[0]) if gates else None,
        recorded=_recorded(result.recorded) if result.recorded else None,
    )


def _main_iterator(result: DataLoadingResult) -> str | None:
    main = max(result.loaders, key=lambda row: row.exposed_ns * row.batches, default=None)
    return main.iterator if main else None


def _recorded(recorded: Recorded) -> RecordedReport:
    return RecordedReport(
        recorded.batches, recorded.dataset_ns, recorded.collate_ns, recorded.cpu_share,
        [
            RecordedWorkerReport(
                each.worker, each.pid, each.batches, each.dataset_ns, each.collate_ns, each.cpu_share
            )
            for each in recorded.workers
        ],
    )  # fmt: skip


def _loading(row: LoaderStep | None) -> LoadingNs:
    return LoadingNs(row.wait_ns, row.exposed_ns, row.hidden_ns) if row else LoadingNs()


def _devices(span: Judged) -> list[DeviceReport]:
    splits = {split.device: split for split in span.tensor_cores.devices}
    return [_device(figures, splits.get(figures.device)) for figures in span.overview.devices]


def _device(figures: DeviceFigures, split: DeviceSplit | None) -> DeviceReport:
    return DeviceReport(
        device=figures.device,
        name=figures.name,
        utilization=figures.utilization,
        est_sm_efficiency=figures.est_sm_efficiency,
        est_achieved_occupancy=figures.est_achieved_occupancy,
        kineto_achieved_occupancy=figures.kineto_achieved_occupancy,
        tensor_core=_tensor_core(split) if split else None,
    )


def _tensor_core(split: DeviceSplit) -> TensorCoreReport:
    total = split.total
    return TensorCoreReport(
        split.share_low, split.share_high, total.kernel_ns, total.tensor_core_ns, total.matmul_like_ns,
        total.unknown_ns, total.other_ns,
    )  # fmt: skip


def _insight(insight: Insight) -> InsightReport:
    text = f"{plain(insight.title)}. {plain(insight.text)}"
    return InsightReport(insight.id, insight.severity, text, insight.gain_ns, insight.confidence)
