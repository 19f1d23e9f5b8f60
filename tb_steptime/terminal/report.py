"""Turns a measured span into the JSON of `tb-steptime summarize` (`contract`), with the tab's results and rules."""

from __future__ import annotations

from typing import Any

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.analyses.overview import DeviceFigures, OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.insights.base import Insight, JobText, Judgement, Verdict
from tb_steptime.insights.basis import sentence
from tb_steptime.insights.wording.card_text import why_lowered
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.data_loading.recorded import Recorded
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.metrics.job import JobKind
from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.steady.shown import KINDS, ExcessNs
from tb_steptime.tables.base import report_of
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
from tb_steptime.text import Note
from tb_steptime.text.printer import plain


def span_report(span: FoundSpan, measured: MeasuredSpan, judgement: Judgement) -> SpanReport:
    overview = measured.result("overview", OverviewResult)
    loading = measured.result("data_loading", DataLoadingResult)
    host = measured.result("host", HostResult)
    facts = measured.facts
    return SpanReport(
        run=span.run,
        worker=span.worker,
        span=span.number,
        trace=span.path,
        events=facts.events,
        trace_bytes=facts.file_bytes,
        json_bytes=facts.json_bytes,
        origin_ns=facts.origin_ns,
        rank=facts.rank,
        simulated=facts.simulated,
        job=_job(overview.job, judgement.job),
        verdict=_verdict(judgement.verdict),
        quality=finding_reports(overview),
        steps_by=facts.steps_by,
        steps=_steps(overview, loading, host),
        mean=_mean(overview, loading, host),
        not_recorded_ns=overview.not_recorded_ns,
        steady_step_ns=overview.steady_step_ns,
        excess=[
            ExcessReport(
                row.kind,
                row.total_ns,
                row.count,
                row.names,
                plain(sentence(row, len(overview.steps), overview.findings)),
            )
            for row in overview.excess
        ],
        unprofiled_step_ns=overview.pace.plain_ns if overview.pace else None,
        profiled_times=round(overview.pace.times, 3) if overview.pace and overview.pace.differ else None,
        devices=_devices(overview, measured.result("tensor_cores", TensorCoresResult)),
        phases=[report_of(PhaseReport, row, idle_ns=row.idle_ns.total_ns) for row in host.phases],
        blocking_calls=[report_of(BlockingCallReport, row) for row in host.blocking],
        queue_depth=_queue_depth(host),
        data_loading=_data_loading(loading),
        cpu_ops=host.cpu.ops if host.cpu else [],
        memory=_memory(measured.result("memory", MemoryResult)),
        insights=[insight_report(insight) for insight in judgement.insights],
        notes=[note_report(worded(note)) for note in (*facts.notes, *loading.recorder_notes)],
    )


def _memory(memory: MemoryResult) -> list[MemoryReport] | None:
    """None where it was not recorded."""
    return None if memory.unknown else [_device_memory(device) for device in memory.devices]


def _device_memory(memory: DeviceMemory) -> MemoryReport:
    return MemoryReport(
        device=memory.device,
        name=memory.name,
        peak_allocated_bytes=memory.peak.allocated_bytes if memory.whole else None,
        peak_reserved_bytes=memory.reserved_peak.reserved_bytes if memory.reserved_peak else None,
        at_step=memory.peak.step,
        growth_bytes_per_step=memory.growth.bytes_per_step,
        by_category=None if memory.categories is None else {part.category: part.bytes for part in memory.categories},
    )


def finding_reports(overview: OverviewResult) -> list[FindingReport]:
    """Returns what is wrong with the recording, in the order of the tab."""
    return [
        FindingReport(
            each.id, f"{plain(note.cause)} {plain(note.effect)}", each.count, each.share, each.done == "repaired",
            list(each.affects), each.trust,
        )
        for each in overview.findings
        for note in [worded(Note(each.id, each.values))]
    ]  # fmt: skip


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
        before_recording_ns=_mean_of([row.before_recording_ns for row in overview.steps]),
        once_ns=_mean_of([row.once_ns for row in overview.steps]),
        after_recording_ns=_mean_of([row.after_recording_ns for row in overview.steps]),
        profiler_ns=_mean_of([row.profiler_ns for row in overview.steps]),
        **_mean_excess(overview),
        devices=[StepDeviceReport(each.device, step_ns - each.mean.total_ns, each.mean) for each in host.devices],
    )


def _mean_excess(overview: OverviewResult) -> dict[str, Any]:
    """Returns the mean excess of each kind, and what is left of the mean step."""
    kinds = {kind: _mean_of([getattr(row.excess_ns, kind) for row in overview.steps]) for kind in KINDS}
    removed = sum(ns for kind, ns in kinds.items() if kind != "unknown")
    return {"steady_ns": overview.mean_duration_ns - removed, "excess_ns": ExcessNs(**kinds)}


def _mean_of(values: list[int]) -> int:
    return whole_mean(sum(values), len(values))


def _job(job: JobKind, text: JobText) -> JobReport:
    return JobReport(
        job.purpose, job.execution, job.compiled_share, job.graph_share, job.device, job.vendor, job.ranks, job.rank,
        job.world_size, plain(text.line), list(map(plain, text.shown_by)),
    )  # fmt: skip


def _verdict(verdict: Verdict) -> VerdictReport:
    return VerdictReport(verdict.bound, plain(verdict.text), verdict.confidence)


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
    splits = {split.device: split for split in tensor_cores.devices}
    return [_device(figures, splits.get(figures.device)) for figures in overview.devices]


def _device(figures: DeviceFigures, split: DeviceSplit | None) -> DeviceReport:
    return report_of(DeviceReport, figures, tensor_core=_tensor_core(split) if split else None)


def _tensor_core(split: DeviceSplit) -> TensorCoreReport:
    total = split.total
    return TensorCoreReport(
        split.share_low, split.share_high, total.kernel_ns, total.tensor_core_ns, total.matmul_like_ns,
        total.unknown_ns, total.other_ns,
    )  # fmt: skip


def insight_report(insight: Insight) -> InsightReport:
    why = why_lowered(insight)
    return report_of(
        InsightReport,
        insight,
        text=_advice(insight),
        why_confidence=plain(insight.why_confidence),
        why_lowered=plain(why) if why else None,
    )


def _advice(insight: Insight) -> str:
    """Title, why and how in one line."""
    how = [] if insight.how is None else [f"`{'; '.join(insight.how.splitlines())}`"]
    return " ".join((f"{plain(insight.title)}.", plain(insight.why), *how))
