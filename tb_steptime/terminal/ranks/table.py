"""A job as the terminal shows it: which rank delays the others, who waits, what they exchange, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.card_text import card_head, lowered_words
from tb_steptime.insights.wording.job_what_if import what_if_texts
from tb_steptime.insights.wording.notes import said_in_full, worded
from tb_steptime.insights.wording.pipeline import pipeline_text
from tb_steptime.insights.wording.ranks import experts_texts, path_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.tables.base import Surface, Table
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
from tb_steptime.terminal.ranks.jobs import FoundJob
from tb_steptime.text import Phrase, joined, phrase
from tb_steptime.text.printer import (
    GAP,
    counted,
    printable,
    render,
)

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
        yield from wrapped(f"Note: {render(said_in_full(note))}", width, "  ")
