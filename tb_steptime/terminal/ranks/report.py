"""Turns a job into the output of `tb-steptime ranks --format json` (`contract`), and says how its time scales."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from tb_steptime.ingest.compared import WorkerOfRun
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.job_ranks import RecordedRank, at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.states import Problem
from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.job_what_if import change_text
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.pipeline import pipeline_text
from tb_steptime.insights.wording.ranks import cause_text, held_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.ranks.result import Cause, DecidingPath, JobReplay, LateRank
from tb_steptime.ranks.scaling import ScaledJob, Scaling, scaling
from tb_steptime.tables.base import report_of
from tb_steptime.tables.notes import note_report
from tb_steptime.tables.ranks import collective_report, messages_report, rank_reports
from tb_steptime.terminal.ranks.contract import (
    BubbleReport,
    JobChangeReport,
    JobReport,
    JobStepReport,
    JobWhatIfReport,
    LargerJobReport,
    LateCauseReport,
    LateGroupReport,
    LateRankReport,
    PathRankReport,
    PathReport,
)
from tb_steptime.terminal.ranks.jobs import NEEDED_VIEWS, FoundJob
from tb_steptime.terminal.report import insight_report
from tb_steptime.terminal.spans import measured_span, read_found
from tb_steptime.text.printer import plain


def job_report(found: FoundJob) -> JobReport:
    job, group = found.ranks, found.ranks.late_group
    return JobReport(
        run=found.run,
        traces=[each.found.path for each in found.recorded],
        world_size=job.world_size,
        missing=job.missing,
        text=" ".join(map(plain, ranks_sentences(job))),
        balance=job.balance,
        unmatched=None if job.unmatched is None else plain(explain(job.unmatched)),
        matched_steps=job.matched_steps,
        ranks=rank_reports(job, found.waits),
        steps=[report_of(JobStepReport, each) for each in job.steps],
        late=[_late(each) for each in job.late],
        late_together=None if group is None else report_of(LateGroupReport, group, causes=_causes(group.causes)),
        imbalance_causes=_causes(job.imbalance_causes),
        path=None if job.path is None else _path(job.path),
        pipeline=None if job.pipeline is None else _pipeline(job.pipeline),
        what_if=None if job.what_if is None else what_if_report(job.what_if),
        what_if_unknown=None if job.what_if_reason is None else plain(explain(job.what_if_reason)),
        collectives=[collective_report(each, job) for each in job.collectives],
        messages=[messages_report(each) for each in job.pairs],
        tokens_unknown=None if job.tokens_reason is None else plain(explain(job.tokens_reason)),
        clock_residual_ns=job.clocks.residual_ns,
        insights=[insight_report(insight) for insight in judge_job(job)],
        notes=[note_report(worded(note)) for note in job.notes],
    )


def _late(late: LateRank) -> LateRankReport:
    return report_of(LateRankReport, late, text=plain(cause_text(late)), causes=_causes(late.causes))


def _path(path: DecidingPath) -> PathReport:
    ranks = [report_of(PathRankReport, each, causes=_causes(each.causes)) for each in path.ranks]
    return report_of(PathReport, path, ranks=ranks)


def _pipeline(found: Pipeline) -> BubbleReport:
    return report_of(BubbleReport, found, text=plain(pipeline_text(found)), stages=found.rows)


def what_if_report(found: JobReplay) -> JobWhatIfReport:
    return report_of(
        JobWhatIfReport,
        found,
        changes=[
            report_of(JobChangeReport, each, text=plain(change_text(each, found.rank_count))) for each in found.changes
        ],
        larger=[report_of(LargerJobReport, each) for each in found.larger],
        larger_unknown=None if found.larger_reason is None else plain(explain(found.larger_reason)),
    )


def _causes(causes: Sequence[Cause]) -> list[LateCauseReport]:
    return [report_of(LateCauseReport, each) for each in causes]


def scalings(runs: Sequence[WorkerOfRun], problems: list[Problem]) -> list[Scaling | None]:
    """Compares each run but the first with the first; None where one of the two has no steps, or both have one rank.
    Spans that cannot be read are added to problems."""
    base, *others = [_scaled(run, problems) for run in runs]
    return [_scaling(base, job) for job in others]


def _scaling(base: ScaledJob | None, job: ScaledJob | None) -> Scaling | None:
    if base is None or job is None or max(len(base.spans), len(job.spans)) < 2:
        return None
    return scaling(base, job)


def _scaled(run: WorkerOfRun, problems: list[Problem]) -> ScaledJob | None:
    """Uses the recording with the most ranks, or the first span where no rank is known."""
    found = [span for span in find_spans([run.path], problems) if span.run == run.run]
    read = [
        (span, msgspec.structs.replace(measured, results={view: measured.results[view] for view in NEEDED_VIEWS}))
        for span, measured in read_found(found, problems, measured_span)
    ]
    ranks = recorded_ranks(read) or [RecordedRank(span, measured, 0) for span, measured in read[:1]]
    if not ranks:
        return None
    spans = rank_spans(max(at_the_same_time(ranks), key=len))
    job = job_ranks(spans)
    return ScaledJob(spans, job) if job.steps else None


def scaling_paragraph(found: Scaling, width: int) -> str:
    return "\n".join(textwrap.wrap(plain(held_text(found)), width))
