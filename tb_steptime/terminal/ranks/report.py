"""A job as `tb-steptime ranks` prints it, and how its time scales.

The JSON is `contract`; the text says which rank delays the others, who waits, what they exchange, what to do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tb_steptime.ingest.compared import WorkerOfRun
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.job_ranks import RecordedRank, at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.states import Problem
from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.card_text import card_head, lowered_words
from tb_steptime.insights.wording.job_what_if import change_text, what_if_texts
from tb_steptime.insights.wording.notes import full_text, worded
from tb_steptime.insights.wording.pipeline import pipeline_text
from tb_steptime.insights.wording.ranks import cause_text, comparison_text, experts_texts, path_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.ranks.result import Cause, DecidingPath, JobReplay, LateRank
from tb_steptime.ranks.scaling import ScaledJob, Scaling, scaling
from tb_steptime.tables.base import Surface, Table, report_of
from tb_steptime.tables.notes import note_report
from tb_steptime.tables.ranks import (
    COLLECTIVES,
    MESSAGES,
    RANKS,
    STAGES,
    RankReport,
    collective_report,
    messages_report,
    rank_reports,
)
from tb_steptime.terminal.output import aligned, paragraphs, shortened, text_cell, wrapped
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
from tb_steptime.terminal.ranks.jobs import FoundJob, with_needed_results
from tb_steptime.terminal.report import insight_report
from tb_steptime.terminal.spans import measured_span, read_found
from tb_steptime.text import Phrase, joined, phrase
from tb_steptime.text.printer import (
    GAP,
    counted,
    plain,
    printable,
    render,
)


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
    read = [(span, with_needed_results(measured)) for span, measured in read_found(found, problems, measured_span)]
    ranks = recorded_ranks(read) or [RecordedRank(span, measured, 0) for span, measured in read[:1]]
    if not ranks:
        return None
    spans = rank_spans(max(at_the_same_time(ranks), key=len))
    job = job_ranks(spans)
    return ScaledJob(spans, job) if job.steps else None


def scaling_paragraph(found: Scaling, width: int) -> str:
    return "\n".join(textwrap.wrap(plain(comparison_text(found)), width))


#: Maximum number of rows of a table. The other rows are counted in one line.
TABLE_ROWS = 16
#: Columns that depend on values that the user may provide, or that few jobs have. They are left out where no row has a
#: value.
_TOLD = {"of_peak", "tokens_received", "busiest_expert"}

R = TypeVar("R")


def job_table(found: FoundJob, width: int) -> str:
    """Returns the full text about a job, without a trailing newline."""
    sections = (
        [_top(found), *_headline(found, width)],
        _rows(STAGES, found.ranks.pipeline.rows if found.ranks.pipeline else [], "more stage"),
        [*_ranks(rank_reports(found.ranks, found.waits)), *_said(experts_texts(found.ranks), width)],
        _rows(COLLECTIVES, [collective_report(row, found.ranks) for row in found.ranks.collectives], "more row", 32),
        _rows(MESSAGES, [messages_report(pair) for pair in found.ranks.pairs], "more row"),
        _said(what_if_texts(found.ranks.what_if), width),
        _advice(found, width),
    )
    return paragraphs(sections)


def job_what_if(found: FoundJob, width: int) -> str:
    """Returns only the part that says what a step of the job would take after changes."""
    nothing, reason = phrase("Nothing of this job can be replayed."), found.ranks.what_if_reason
    said = what_if_texts(found.ranks.what_if) or [joined(nothing, explain(reason)) if reason else nothing]
    lines = [f"The job: {_top(found)}", "", *_said(said, width)]
    return "\n".join(lines).replace(GAP, " ")


def job_in_short(found: FoundJob, width: int) -> str:
    """Returns what decides the job and what to do about it, without tables. It follows the texts of the single
    ranks."""
    lines = [f"The job: {_top(found)}", *_headline(found, width), *_advice(found, width)]
    return "\n".join(lines).replace(GAP, " ")


def _top(found: FoundJob) -> str:
    run = found.run if found.run != "." else found.recorded[0].found.folder
    job = found.ranks
    return printable(f"{run} · {counted(len(job.ranks), 'rank')} · {counted(len(job.steps), 'step')}")


def _headline(found: FoundJob, width: int) -> Iterator[str]:
    for sentence in ranks_sentences(found.ranks):
        yield from wrapped(render(sentence), width)
    if found.ranks.pipeline:
        yield from wrapped(render(pipeline_text(found.ranks.pipeline)), width)
    if path := path_text(found.ranks):
        yield from wrapped(render(path), width)


def _ranks(rows: Sequence[RankReport]) -> Iterator[str]:
    """Yields the rank for which the others wait longest first, or the slowest one first where waits are unknown."""
    ordered = sorted(rows, key=lambda row: (-(row.makes_others_wait_ns or 0), -row.mean_step_ns, row.rank))
    return _rows(RANKS, ordered, "more rank")


def _rows(table: Table[R], rows: Sequence[R], more: str, widest: int | None = None) -> Iterator[str]:
    """Yields the first rows, and the number of the others. A column in _TOLD without any value, such as the share of a
    peak, is left out. widest: maximum length of the first column."""
    if not rows:
        return
    shown = rows[:TABLE_ROWS]
    told = [each for each in table.on(Surface.TEXT) if each.id not in _TOLD or any(map(each.value, rows))]
    cells = [[text_cell(column, column.value(row)) for column in told] for row in shown]
    firsts = [shortened(first, widest or len(first)) for first, *_ in cells]
    heads = [column.name(Surface.TEXT) for column in told]
    yield from aligned([heads, *([first, *others] for first, (_, *others) in zip(firsts, cells, strict=True))])
    if len(rows) > len(shown):
        yield f"{counted(len(rows) - len(shown), more)}"


def _said(sentences: Sequence[Phrase], width: int) -> Iterator[str]:
    return (line for each in sentences for line in wrapped(render(each), width, "  "))


def _advice(found: FoundJob, width: int) -> Iterator[str]:
    for insight in judge_job(found.ranks):
        said = f"{render(insight.title)}. {render(insight.why)}{lowered_words(insight)}"
        yield from wrapped(f"{card_head(insight)}: {said}", width, "  ")
        yield from (f"    {line}" for line in (insight.how or "").splitlines())
    for note in map(worded, found.ranks.notes):
        yield from wrapped(f"Note: {render(full_text(note))}", width, "  ")
