"""What a notebook shows: self-contained HTML without scripts, in its own theme or the system's. All text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ingest.measured import SpanFacts
from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.insights.wording.card_text import card_head, lowered_words
from tb_steptime.insights.wording.compare import CONTRIBUTION_LABELS
from tb_steptime.notebook.step_bar import step_bar
from tb_steptime.tables.comparison import CandidateReport, ChangeReport
from tb_steptime.tables.kinds import Cell
from tb_steptime.text import Phrase
from tb_steptime.text.printer import UNKNOWN, change, count, counted, duration, number, render

#: Maximum number of rows of a table, so that it fits on a screen. Only the number of the other rows is shown.
TABLE_ROWS = 20
_CARDS = 5
_QUOTED = re.compile(r"`([^`]*)`")
_STYLE = Path(__file__).with_name("notebook.css")


def span_html(name: str, facts: SpanFacts, overview: OverviewResult, judgement: Judgement, notes: Sequence[str]) -> str:
    """Returns the name and size, verdict, the mean step as a bar, the first cards, and the notes."""
    headline = judgement.headlines["overview"]
    steps, cards = counted(facts.step_count, "step"), judgement.insights
    more = len(cards) - _CARDS
    return _page(
        f"<p class=head><span>{escape(name)}</span> {escape(f'{steps} · {render(judgement.job.line)}')}</p>",
        f"<p class=verdict>{_stressed(headline.verdict)}</p>",
        f"<p>{_stressed(headline.action)}</p>" if headline.action else "",
        step_bar(overview, judgement.could_be),
        *map(_card, cards[:_CARDS]),
        f"<p class=more>{counted(more, 'more card')}: see <code>.cards</code></p>" if more > 0 else "",
        *(f"<p class=more>{_quoted(escape(note))}</p>" for note in notes),
    )


def table_html(name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Returns the first rows of a table, and the number of the others."""
    heads = "".join(f"<th>{escape(column)}</th>" for column in columns)
    shown = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:TABLE_ROWS])
    more = len(rows) - TABLE_ROWS
    tail = f"<p class=more>{counted(more, 'more row')} of {escape(name)}</p>" if more > 0 else ""
    return _page(f"<div class=wide><table><tr>{heads}</tr>{shown}</table></div>", tail)


def comparison_html(base: str, found: CandidateReport) -> str:
    """Returns a table of what changed, by part of the step."""
    heads = ("", base, found.run, "change", "95 % interval")
    step = found.step_ns
    whole = ChangeReport(step.base, step.candidate, step.change, step.low, step.high)
    rows = [_change(CONTRIBUTION_LABELS[part], row) for part, row in found.parts.items()] + [_change("Step", whole)]
    return _page(
        *(f"<p class=warning>{escape(warning.text)}</p>" for warning in found.warnings),
        f"<p class=verdict>{escape(found.text)}</p>",
        f"<table><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>{''.join(rows)}</table>",
    )


def _change(label: str, row: ChangeReport) -> str:
    interval = UNKNOWN if row.low is None or row.high is None else f"{change(row.low)} to {change(row.high)}"
    cells = (duration(row.base_ns), duration(row.candidate_ns), change(row.change_ns), interval)
    return f"<tr><td>{escape(label)}</td>{''.join(f'<td class=n>{escape(cell)}</td>' for cell in cells)}</tr>"


def _card(card: Insight) -> str:
    how = f"<pre>{escape(card.how)}</pre>" if card.how else ""
    head = f"<b>{_stressed(card.title)}</b> <span>{escape(card_head(card))}</span>"
    why = f"{_stressed(card.why)}{escape(lowered_words(card))}"
    return f"<div class='card {card.severity.value}'><p>{head}</p><p>{why}</p>{how}</div>"


def _stressed(phrase: Phrase) -> str:
    """Escapes a phrase as a whole. Emphasis is marked with characters that no name contains, and made HTML after."""
    text = escape(render(phrase, lambda words: f"\x01{words}\x02"))
    return _quoted(text).replace("\x01", "<b>").replace("\x02", "</b>")


def _quoted(text: str) -> str:
    return _QUOTED.sub(r"<code>\1</code>", text)


def _cell(value: Cell) -> str:
    if value is None:
        return f"<td class=n>{UNKNOWN}</td>"
    if isinstance(value, str | bool):
        return f"<td>{escape(str(value))}</td>"
    return f"<td class=n>{count(value) if isinstance(value, int) else number(value)}</td>"


def _page(*parts: str) -> str:
    return f"<div class=tb-steptime><style>{_STYLE.read_text('utf-8')}</style>{''.join(parts)}</div>"
