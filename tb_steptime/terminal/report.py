"""A measured span -> what `tb-steptime summarize` prints of it (`contract`); same results and rules as the tab's."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.overview import DeviceFigures, OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.ingest.measure import Measured
from tb_steptime.ingest.states import Problem
from tb_steptime.insights import judge
from tb_steptime.insights.base import Insight, Judgement, Verdict
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.launches.sites import PhaseRow
from tb_steptime.metrics.steps.loader_waits import LoaderStep
from tb_steptime.terminal.contract import (
    BlockingCallReport,
    DataLoadingReport,
    DeviceReport,
    ErrorReport,
    IdleReport,
    InsightReport,
    LoadingNs,
    NoteReport,
    PhaseReport,
    QueueDepthReport,
    RecordedReport,
    RecordedWorkerReport,
    SpanReport,
    StepDeviceReport,
    StepReport,
    TensorCoreReport,
    VerdictReport,
)
from tb_steptime.terminal.printer import plain

R = TypeVar("R", bound=msgspec.Struct)


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
        return DataLoadingReport(
            workers=result.recorded.main_loader.workers if result.recorded else None,
            production_ns=result.batch_ns,
            needed_workers=result.needed_workers,
            why_unknown=plain(explain(result.unknown)) if result.unknown else None,
            recorded=_recorded(result.recorded) if result.recorded else None,
        )
    burst, curve = result.burst, result.curve
    return DataLoadingReport(
        iterator=_main_iterator(result),
        workers=_workers(result),
        wait_ns_mean=result.mean.wait_ns,
        exposed_ns_mean=result.mean.exposed_ns,
        hidden_ns_mean=result.mean.hidden_ns,
        period=burst.period if burst else None,
        production_ns=result.batch_ns,
        consumer_ns=result.consumer_ns,
        needed_workers=result.needed_workers,
        predicted_step_ns={str(point.workers): point.step_ns for point in curve.points} if curve else None,
        why_unknown=plain(explain(result.why_unknown)) if result.why_unknown else None,
        recorded=_recorded(result.recorded) if result.recorded else None,
    )


def _workers(result: DataLoadingResult) -> int | None:
    if result.curve is not None:
        return result.curve.measured_workers
    return 0 if result.multiprocess is False else result.burst.workers if result.burst else None


def _main_iterator(result: DataLoadingResult) -> str | None:
    return result.loaders[result.main_loader].iterator if result.main_loader is not None else None


def _recorded(recorded: Recorded) -> RecordedReport:
    """Of the loader that is waited for most, as all other figures."""
    return RecordedReport(
        recorded.batches, recorded.dataset_ns, recorded.collate_ns, recorded.cpu_share, recorded.sampled,
        [
            RecordedWorkerReport(
                each.worker, each.pid, each.batches, each.dataset_ns, each.collate_ns, each.cpu_share, each.sampled
            )
            for each in recorded.workers if each.loader == recorded.main
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
    return InsightReport(insight.id, insight.severity, _advice(insight), insight.gain_ns, insight.confidence)


def _advice(insight: Insight) -> str:
    """Title, why and how in one line."""
    how = [] if insight.how is None else [f"`{'; '.join(insight.how.splitlines())}`"]
    return " ".join((f"{plain(insight.title)}.", plain(insight.why), *how))
