"""What `tb-steptime summarize --format json` prints: a contract with other programs, whose fields are never renamed.

Made from the same results and rules as the tab's pages. Fractions are 0-1, null is "not measurable in this trace".
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult, LoaderStep
from tb_steptime.analyses.overview import DeviceFigures, OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Insight, Judgement, Severity
from tb_steptime.metrics.step_time import Parts
from tb_steptime.printer import plain
from tb_steptime.span import Measured
from tb_steptime.wire import Problem

R = TypeVar("R", bound=msgspec.Struct)


class LoadingNs(msgspec.Struct, frozen=True):
    """wait = exposed + hidden; all null in a trace without loader events."""

    wait: int | None = None
    exposed: int | None = None
    hidden: int | None = None


class StepReport(msgspec.Struct, frozen=True):
    """A step, or the mean one, which has no name and no start. start_ns is relative to the span's origin_ns."""

    name: str | None
    start_ns: int | None
    duration_ns: int
    host_ns: int
    parts_ns: Parts
    data_loading_ns: LoadingNs
    gpu_busy_ns: int | None
    slow: bool | None


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
    verdict: str
    steps: list[StepReport]
    mean: StepReport
    devices: list[DeviceReport]
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
        verdict=plain(span.judgement.headlines["overview"].verdict),
        steps=_steps(span),
        mean=_mean(span),
        devices=_devices(span),
        insights=[_insight(insight) for insight in span.judgement.insights],
        notes=[NoteReport(note.id, f"{plain(note.cause)} {plain(note.effect)}") for note in facts.notes],
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
        )
        for row in span.overview.steps
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
    )


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
