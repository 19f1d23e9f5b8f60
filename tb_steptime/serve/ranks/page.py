"""A job -> the page of its ranks."""

from __future__ import annotations

from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.ranks import cause_text, cause_words, one_rank_headline, ranks_headline, ranks_titles
from tb_steptime.serve.rank_answers import RanksPage
from tb_steptime.serve.ranks.jobs import Job, Jobs


def ranks_page(job: Job, jobs: Jobs) -> RanksPage:
    """As far as its ranks are read. Raises OSError, DamagedSummary, KeyError where a summary lacks the results of this
    release."""
    spans, read = [span.found.id for span in job.spans], len(job.spans)
    simulated = next((span.measured.facts.simulated for span in job.spans if span.measured), None)
    known = jobs.of(job) if job.recorded else None
    found = known.ranks if known else None
    if known is None or found is None or len(found.ranks) < 2:
        headline = one_rank_headline(found.world_size if found else None, len(job.recorded), job.unread, job.workers)
        return RanksPage(headline, None, [], spans, read, read + job.unread, {}, [], [], [], [], simulated)
    return RanksPage(
        headline=ranks_headline(found),
        job=found,
        caused_ns=known.waits.caused_ns() if known.waits else [],
        spans=[row.key for row in found.ranks],
        read=read,
        found=read + job.unread,
        titles=dict(ranks_titles(found)),
        causes=[cause_text(late) for late in found.late],
        turns=[cause_words(cause) for cause in found.imbalance_causes],
        notes=[worded(note) for note in found.notes],
        insights=judge_job(found),
        simulated=simulated,
    )
