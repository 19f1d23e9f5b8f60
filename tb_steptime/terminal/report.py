"""Turns a measured span into the JSON of `tb-steptime summarize` (`contract`), with the tab's results and rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.tensor_cores import TensorCoresResult
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.insights.basis import sentence
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.data_loading.recorded import Recorded
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.metrics.excluded_time.steady_step import KINDS, ExcessNs
from tb_steptime.metrics.means import whole_mean
from tb_steptime.tables.base import report_of
from tb_steptime.tables.cards import plain_why_lowered
from tb_steptime.tables.notes import note_report
from tb_steptime.terminal.contract import (
    BlockingCallReport,
    DataLoadingReport,
    DeviceReport,
    ExcessReport,
    FindingReport,
    InsightReport,
    JobReport,
    LoadingNs,
    MemoryReport,
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
from tb_steptime.text import Finding, Note
from tb_steptime.text.printer import plain


def span_report(span: FoundSpan, measured: MeasuredSpan, judgement: Judgement) -> SpanReport:
    overview = measured.result("overview", OverviewResult)
    loading = measured.result("data_loading", DataLoadingResult)
    host = measured.result("host", HostResult)
    memory, facts = measured.result("memory", MemoryResult), measured.facts
    return report_of(
        SpanReport,
        facts,
        run=span.run,
        worker=span.worker,
        span=span.number,
        trace=span.path,
        trace_bytes=facts.file_bytes,
        job=report_of(
            JobReport, overview.job, text=plain(judgement.job.line), evidence=list(map(plain, judgement.job.shown_by))
        ),
        verdict=report_of(VerdictReport, judgement.verdict, text=plain(judgement.verdict.text)),
        quality=finding_reports(overview),
        steps=_steps(overview, loading, host),
        mean=_mean(overview, loading, host),
        not_recorded_ns=overview.not_recorded_ns,
        steady_step_ns=overview.steady_step_ns,
        excess=[
            report_of(ExcessReport, row, text=plain(sentence(row, len(overview.steps), overview.findings)))
            for row in overview.excess
        ],
        unprofiled_step_ns=overview.pace.plain_ns if overview.pace else None,
        profiled_times=round(overview.pace.times, 3) if overview.pace and overview.pace.differ else None,
        devices=_devices(overview, measured.result("tensor_cores", TensorCoresResult)),
        phases=[report_of(PhaseReport, row, idle_ns=row.idle_ns.total_ns) for row in host.phases],
        blocking_calls=[report_of(BlockingCallReport, row) for row in host.blocking],
        queue_depth=QueueDepthReport(
            *(host.launches.queue_mean, host.launches.queue_max) if host.launches else (None, None)
        ),
        data_loading=_data_loading(loading),
        cpu_ops=host.cpu.ops if host.cpu else [],
        memory=None if memory.unknown else [_device_memory(device) for device in memory.devices],
        insights=[insight_report(insight) for insight in judgement.insights],
        notes=[note_report(worded(note)) for note in (*facts.notes, *loading.recorder_notes)],
    )


def _device_memory(memory: DeviceMemory) -> MemoryReport:
    return MemoryReport(
        device=memory.device,
        name=memory.name,
        peak_allocated_bytes=memory.peak.allocated_bytes if memory.whole else None,
        peak_reserved_bytes=memory.most_reserved_bytes,
        at_step=memory.peak.step,
        growth_bytes_per_step=memory.growth.bytes_per_step,
        by_category=None if memory.categories is None else {part.category: part.bytes for part in memory.categories},
    )


def finding_reports(overview: OverviewResult) -> list[FindingReport]:
    """Returns what is wrong with the recording, in the order of the tab."""
    return list(map(_finding, overview.findings))


def _finding(each: Finding) -> FindingReport:
    note = worded(Note(each.id, each.values))
    text = f"{plain(note.cause)} {plain(note.effect)}"
    return FindingReport(each.id, text, each.count, each.share, each.done == "repaired", list(each.affects), each.trust)


def _steps(overview: OverviewResult, loading: DataLoadingResult, host: HostResult) -> list[StepReport]:
    loader = {row.name: row for row in loading.steps}
    return [
        report_of(
            StepReport,
            row,
            data_loading_ns=_loading(loader.get(row.name)),
            devices=[StepDeviceReport(each.device, each.busy_ns[i], each.steps[i]) for each in host.devices],
        )
        for i, row in enumerate(overview.steps)
    ]


def _mean(overview: OverviewResult, loading: DataLoadingResult, host: HostResult) -> StepReport:
    step_ns = overview.mean_duration_ns
    return StepReport(
        name=None,
        start_ns=None,
        duration_ns=step_ns,
        host_ns=overview.mean_host_ns,
        parts_ns=overview.mean_parts_ns,
        data_loading_ns=_loading(loading.mean),
        gpu_busy_ns=overview.mean_gpu_busy_ns,
        slow=None,
        **_mean_excluded(overview),
        devices=[StepDeviceReport(each.device, step_ns - each.mean.total_ns, each.mean) for each in host.devices],
    )


#: What of a step is in no verdict and in no gain.
_EXCLUDED = ("before_recording_ns", "once_ns", "after_recording_ns", "profiler_ns")


def _mean_excluded(overview: OverviewResult) -> dict[str, Any]:
    """Returns the mean of each excluded time and of the excess of each kind, and what is left of the mean step."""

    def mean(rows: Sequence[object], field: str) -> int:
        return whole_mean(sum(getattr(row, field) for row in rows), len(rows))

    kinds = {kind: mean([row.excess_ns for row in overview.steps], kind) for kind in KINDS.values()}
    removed = sum(ns for kind, ns in kinds.items() if kind != "unknown")
    excluded = {field: mean(overview.steps, field) for field in _EXCLUDED}
    return {**excluded, "steady_ns": overview.mean_duration_ns - removed, "excess_ns": ExcessNs(**kinds)}


def _data_loading(result: DataLoadingResult) -> DataLoadingReport:
    recorded, burst, curve = result.recorded, result.burst, result.curve
    is_unknown = result.unknown is not None or result.mean is None
    reason = result.unknown if is_unknown else result.why_unknown
    report = DataLoadingReport(
        workers=recorded.main_loader.workers if recorded else None,
        production_ns=result.batch_ns,
        needed_workers=result.needed_workers,
        why_unknown=plain(explain(reason)) if reason else None,
        recorded=_recorded(recorded) if recorded else None,
    )
    if is_unknown or result.mean is None:
        return report
    return replace(
        report,
        iterator=None if result.main_loader is None else result.loaders[result.main_loader].iterator,
        workers=_workers(result),
        wait_ns_mean=result.mean.wait_ns,
        exposed_ns_mean=result.mean.exposed_ns,
        hidden_ns_mean=result.mean.hidden_ns,
        period=burst.period if burst else None,
        consumer_ns=result.consumer_ns,
        predicted_step_ns={str(point.workers): point.step_ns for point in curve.points} if curve else None,
    )


def _workers(result: DataLoadingResult) -> int | None:
    if result.curve is not None:
        return result.curve.measured_workers
    if result.multiprocess is False:
        return 0
    return result.burst.workers if result.burst else None


def _recorded(recorded: Recorded) -> RecordedReport:
    """Returns the recorded loader that is waited for most, as all other figures do."""
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


def _devices(overview: OverviewResult, tensor_cores: TensorCoresResult) -> list[DeviceReport]:
    splits = {
        split.device: report_of(TensorCoreReport, split.total, share_low=split.share_low, share_high=split.share_high)
        for split in tensor_cores.devices
    }
    return [report_of(DeviceReport, each, tensor_core=splits.get(each.device)) for each in overview.devices]


def insight_report(insight: Insight) -> InsightReport:
    """text: title, why and how in one line."""
    how = [] if insight.how is None else [f"`{'; '.join(insight.how.splitlines())}`"]
    return report_of(
        InsightReport,
        insight,
        text=" ".join((f"{plain(insight.title)}.", plain(insight.why), *how)),
        why_confidence=plain(insight.why_confidence),
        why_lowered=plain_why_lowered(insight),
    )
