"""A job -> what `tb-steptime ranks --format json` prints of it (`contract`)."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.ranks import cause_text, ranks_headline
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.result import Cause, JobCollective, JobRanks, LateGroup, LateRank, MessagePair
from tb_steptime.tables.notes import note_report
from tb_steptime.terminal.ranks.contract import (
    CollectiveReport,
    JobReport,
    JobStepReport,
    LateCauseReport,
    LateGroupReport,
    LateRankReport,
    MessagesReport,
    RankReport,
)
from tb_steptime.terminal.ranks.jobs import FoundJob
from tb_steptime.terminal.report import insight_report
from tb_steptime.text.printer import plain


def job_report(found: FoundJob) -> JobReport:
    job = found.ranks
    return JobReport(
        run=found.run,
        traces=[each.found.path for each in found.recorded],
        world_size=job.world_size,
        missing=job.missing,
        text=plain(ranks_headline(job).verdict),
        balance=job.balance,
        unmatched=None if job.unmatched is None else plain(explain(job.unmatched)),
        matched_steps=job.matched_steps,
        ranks=rank_reports(found),
        steps=[
            JobStepReport(
                each.name,
                each.ranks,
                each.slowest,
                each.slowest_ns,
                each.median_ns,
                each.fastest,
                each.fastest_ns,
                each.late,
            )
            for each in job.steps
        ],
        late=[_late(each) for each in job.late],
        late_together=None if job.late_group is None else _late_together(job.late_group),
        imbalance_causes=_causes(job.imbalance_causes),
        collectives=[collective_report(each, job) for each in job.collectives],
        messages=[messages_report(each) for each in job.pairs],
        clock_residual_ns=job.clocks.residual_ns,
        insights=[insight_report(insight) for insight in judge_job(job)],
        notes=[note_report(worded(note)) for note in job.notes],
    )


def rank_reports(found: FoundJob) -> list[RankReport]:
    job, steps = found.ranks, found.ranks.matched_steps
    caused = found.waits.caused_ns() if found.waits else [None] * len(job.ranks)
    return [
        RankReport(
            rank=row.rank,
            worker=row.worker,
            host=row.host,
            steps=row.steps,
            mean_step_ns=row.mean_step_ns,
            wait_ns=row.exposed_wait_ns // steps if steps else None,
            makes_others_wait_ns=caused_ns,
            last_share=row.last / row.matched if row.matched else None,
            clock_offset_ns=row.clock_offset_ns,
        )
        for row, caused_ns in zip(job.ranks, caused, strict=True)
    ]


def _late(late: LateRank) -> LateRankReport:
    return LateRankReport(
        rank=late.rank,
        wait_ns=late.wait_ns,
        gain_ns=late.gain_ns,
        last_share=late.last_share,
        late_steps=late.late_steps,
        steps=late.steps,
        text=plain(cause_text(late)),
        causes=_causes(late.causes),
    )


def _late_together(group: LateGroup) -> LateGroupReport:
    return LateGroupReport(
        ranks=group.ranks,
        first=group.first,
        host=group.host,
        wait_ns=group.wait_ns,
        gain_ns=group.gain_ns,
        late_steps=group.late_steps,
        steps=group.steps,
        causes=_causes(group.causes),
    )


def _causes(causes: Sequence[Cause]) -> list[LateCauseReport]:
    return [LateCauseReport(each.id, each.own_ns, each.others_ns, each.name) for each in causes]


def collective_report(row: JobCollective, job: JobRanks) -> CollectiveReport:
    steps = max(1, job.matched_steps)
    return CollectiveReport(
        kind=row.kind,
        role=row.role,
        group=row.group,
        ranks=row.ranks,
        members=row.members,
        dtype=row.dtype,
        bytes=row.bytes,
        count=row.count / steps,
        transfer_ns=row.transfer_ns // steps // max(1, row.ranks),
        wait_ns=row.wait_ns // steps // max(1, row.ranks),
        exposed_share=row.exposed_ns / row.running_ns if row.running_ns else None,
        algorithm_rate=row.algorithm_rate,
        bus_rate=row.bus_rate,
        of_peak=row.of_peak,
    )


def messages_report(pair: MessagePair) -> MessagesReport:
    return MessagesReport(
        source=pair.source,
        target=pair.target,
        group=pair.group,
        bytes=pair.bytes,
        count=pair.count / pair.steps,
        transfer_ns=pair.transfer_ns // pair.steps,
        sender_wait_ns=pair.sender_wait_ns // pair.steps,
        receiver_wait_ns=pair.receiver_wait_ns // pair.steps,
    )
