"""The ranks of a run as one job."""

from __future__ import annotations

from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.job_what_if import what_if_texts
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.pipeline import pipeline_text
from tb_steptime.insights.wording.ranks import experts_texts, path_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.notes import note_line
from tb_steptime.tables.pipeline import STAGES
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, Which
from tb_steptime.terminal.agent.numbers import lines
from tb_steptime.terminal.ranks.jobs import FoundJob, Jobs
from tb_steptime.text.printer import plain


def ranks(logs: Logs, run: str | None) -> contract.Ranks:
    """Raises RefusalError."""
    jobs, chosen = Jobs(), logs.find(Which(run)).run
    for span in logs.spans()[0]:
        if span.run == chosen:
            jobs.add(span, logs.measured(span))
    return contract.Ranks([_job(each) for each in jobs.found()])


def _job(found: FoundJob) -> contract.Job:
    job = found.ranks
    path, pipeline = path_text(job), job.pipeline
    return contract.Job(
        run=found.run,
        ranks=[row.rank for row in job.ranks],
        missing=job.missing,
        verdict=" ".join(map(plain, ranks_sentences(job))),
        path=None if path is None else plain(path),
        pipeline=None if pipeline is None else plain(pipeline_text(pipeline)),
        stages=lines(STAGES, pipeline.rows if pipeline else []),
        what_if=[plain(each) for each in what_if_texts(job.what_if)],
        what_if_unknown=None if job.what_if_reason is None else plain(explain(job.what_if_reason)),
        experts=list(map(plain, experts_texts(job))),
        cards=lines(CARDS, judge_job(job)),
        notes=[note_line(worded(note)) for note in job.notes],
    )
