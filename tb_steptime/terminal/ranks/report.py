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
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.wording.card_text import card_head, lowered_words
from tb_steptime.insights.wording.job_what_if import change_text, pipeline_text, what_if_texts
from tb_steptime.insights.wording.notes import full_text, worded
from tb_steptime.insights.wording.ranks import cause_text, comparison_text, experts_texts, path_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.ranks.result import Cause, DecidingPath, JobReplay
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
from tb_steptime.terminal.output import aligned, cut_off, paragraphs, text_cell, wrapped
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
from tb_steptime.text.printer import GAP, counted, plain, printable, render


def job_report(job: FoundJob) -> JobReport:
    ranks, group = job.ranks, job.ranks.late_group
    return JobReport(
        run=job.run,
        traces=[span.found.path for span in job.recorded],
        world_size=ranks.world_size,
        missing=ranks.missing,
        text=" ".join(map(plain, ranks_sentences(ranks))),
        balance=ranks.balance,
        unmatched=None if ranks.unmatched is None else plain(explain(ranks.unmatched)),
        matched_steps=ranks.matched_steps,
        ranks=rank_reports(ranks, job.waits),
        steps=[report_of(JobStepReport, step) for step in ranks.steps],
        late=[
            report_of(LateRankReport, each, text=plain(cause_text(each)), causes=_causes(each.causes))
            for each in ranks.late
        ],
        late_together=None if group is None else report_of(LateGroupReport, group, causes=_causes(group.causes)),
        imbalance_causes=_causes(ranks.imbalance_causes),
        path=None if ranks.path is None else _path(ranks.path),
        pipeline=None if ranks.pipeline is None else _pipeline(ranks.pipeline),
        what_if=None if ranks.what_if is None else what_if_report(ranks.what_if),
        what_if_unknown=None if ranks.what_if_reason is None else plain(explain(ranks.what_if_reason)),
        collectives=[collective_report(collective, ranks) for collective in ranks.collectives],
        messages=[messages_report(pair) for pair in ranks.pairs],
        tokens_unknown=None if ranks.tokens_reason is None else plain(explain(ranks.tokens_reason)),
        clock_residual_ns=ranks.clocks.residual_ns,
        insights=[insight_report(insight) for insight in judge_job(ranks)],
        notes=[note_report(worded(note)) for note in ranks.notes],
    )


def _path(path: DecidingPath) -> PathReport:
    ranks = [report_of(PathRankReport, rank, causes=_causes(rank.causes)) for rank in path.ranks]
    return report_of(PathReport, path, ranks=ranks)


def _pipeline(pipeline: Pipeline) -> BubbleReport:
    return report_of(BubbleReport, pipeline, text=plain(pipeline_text(pipeline)), stages=pipeline.rows)


def what_if_report(replay: JobReplay) -> JobWhatIfReport:
    return report_of(
        JobWhatIfReport,
        replay,
        changes=[
            report_of(JobChangeReport, change, text=plain(change_text(change, replay.rank_count)))
            for change in replay.changes
        ],
        larger=[report_of(LargerJobReport, larger) for larger in replay.larger],
        larger_unknown=None if replay.larger_reason is None else plain(explain(replay.larger_reason)),
    )


def _causes(causes: Sequence[Cause]) -> list[LateCauseReport]:
    return [report_of(LateCauseReport, cause) for cause in causes]


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
    run_spans = [span for span in find_spans([run.path], problems) if span.run == run.run]
    read = [(span, with_needed_results(measured)) for span, measured in read_found(run_spans, problems, measured_span)]
    ranks = recorded_ranks(read) or [RecordedRank(span, measured, 0) for span, measured in read[:1]]
    if not ranks:
        return None
    spans = rank_spans(max(at_the_same_time(ranks), key=len))
    job = job_ranks(spans)
    return ScaledJob(spans, job) if job.steps else None


def scaling_paragraph(job_scaling: Scaling, width: int) -> str:
    return "\n".join(textwrap.wrap(plain(comparison_text(job_scaling)), width))


#: Maximum number of rows of a table. The other rows are counted in one line.
TABLE_ROWS = 16
#: Columns that depend on values that the user may provide, or that few jobs have. They are left out where no row has a
#: value.
_ONLY_WITH_VALUES = {"of_peak", "tokens_received", "busiest_expert"}

R = TypeVar("R")


def job_table(job: FoundJob, width: int) -> str:
    """Returns the full text about a job, without a trailing newline."""
    sections = (
        [_top(job), *_headline(job, width)],
        _rows(STAGES, job.ranks.pipeline.rows if job.ranks.pipeline else [], "more stage"),
        [*_ranks(rank_reports(job.ranks, job.waits)), *_paragraphs(experts_texts(job.ranks), width)],
        _rows(COLLECTIVES, [collective_report(row, job.ranks) for row in job.ranks.collectives], "more row", 32),
        _rows(MESSAGES, [messages_report(pair) for pair in job.ranks.pairs], "more row"),
        _paragraphs(what_if_texts(job.ranks.what_if), width),
        _advice(job, width),
    )
    return paragraphs(sections)


def job_what_if(job: FoundJob, width: int) -> str:
    """Returns only the part that says what a step of the job would take after changes."""
    nothing = phrase("Nothing of this job can be replayed.")
    reason = job.ranks.what_if_reason
    sentences = what_if_texts(job.ranks.what_if) or [joined(nothing, explain(reason)) if reason else nothing]
    lines = [f"The job: {_top(job)}", "", *_paragraphs(sentences, width)]
    return "\n".join(lines).replace(GAP, " ")


def job_in_short(job: FoundJob, width: int) -> str:
    """Returns what decides the job and what to do about it, without tables. It follows the texts of the single
    ranks."""
    lines = [f"The job: {_top(job)}", *_headline(job, width), *_advice(job, width)]
    return "\n".join(lines).replace(GAP, " ")


def _top(job: FoundJob) -> str:
    run = job.run if job.run != "." else job.recorded[0].found.folder
    ranks = job.ranks
    return printable(f"{run} · {counted(len(ranks.ranks), 'rank')} · {counted(len(ranks.steps), 'step')}")


def _headline(job: FoundJob, width: int) -> Iterator[str]:
    for sentence in ranks_sentences(job.ranks):
        yield from wrapped(render(sentence), width)
    if job.ranks.pipeline:
        yield from wrapped(render(pipeline_text(job.ranks.pipeline)), width)
    if path := path_text(job.ranks):
        yield from wrapped(render(path), width)


def _ranks(rows: Sequence[RankReport]) -> Iterator[str]:
    """Yields the rank for which the others wait longest first, or the slowest one first where waits are unknown."""
    ordered = sorted(rows, key=lambda row: (-(row.makes_others_wait_ns or 0), -row.mean_step_ns, row.rank))
    return _rows(RANKS, ordered, "more rank")


def _rows(table: Table[R], rows: Sequence[R], more: str, widest: int | None = None) -> Iterator[str]:
    """Yields the first rows, and the number of the others. A column of `_ONLY_WITH_VALUES` without any value is left
    out. widest: maximum length of the first column."""
    if not rows:
        return
    shown = rows[:TABLE_ROWS]
    shown_columns = [
        column
        for column in table.on(Surface.TEXT)
        if column.id not in _ONLY_WITH_VALUES or any(map(column.value, rows))
    ]
    cells = [[text_cell(column, column.value(row)) for column in shown_columns] for row in shown]
    firsts = [cut_off(first, widest or len(first)) for first, *_ in cells]
    heads = [column.name(Surface.TEXT) for column in shown_columns]
    yield from aligned([heads, *([first, *others] for first, (_, *others) in zip(firsts, cells, strict=True))])
    if len(rows) > len(shown):
        yield f"{counted(len(rows) - len(shown), more)}"


def _paragraphs(sentences: Sequence[Phrase], width: int) -> Iterator[str]:
    return (line for sentence in sentences for line in wrapped(render(sentence), width, "  "))


def _advice(job: FoundJob, width: int) -> Iterator[str]:
    for insight in judge_job(job.ranks):
        text = f"{render(insight.title)}. {render(insight.why)}{lowered_words(insight)}"
        yield from wrapped(f"{card_head(insight)}: {text}", width, "  ")
        yield from (f"    {line}" for line in (insight.how or "").splitlines())
    for note in map(worded, job.ranks.notes):
        yield from wrapped(f"Note: {render(full_text(note))}", width, "  ")
