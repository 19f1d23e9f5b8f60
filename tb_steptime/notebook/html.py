"""What a notebook shows: self-contained HTML without scripts, in its own theme or the system's. All text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.ingest.measured import SpanFacts
from tb_steptime.insights.base import CouldBe, Insight, Judgement
from tb_steptime.insights.wording.card_text import card_head, lowered_words
from tb_steptime.insights.wording.compare import CONTRIBUTION_LABELS
from tb_steptime.metrics.base import PartMeaning
from tb_steptime.metrics.steps.parts import PART_MEANINGS, Parts
from tb_steptime.tables.base import Cell
from tb_steptime.tables.comparison import CandidateReport, ChangeReport
from tb_steptime.text import Phrase
from tb_steptime.text.printer import UNKNOWN, change, count, counted, duration, interval, number, percent_exact, render

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


def comparison_html(base: str, candidate: CandidateReport) -> str:
    """Returns a table of what changed, by part of the step."""
    heads = ("", base, candidate.run, "change", "95 % interval")
    step = candidate.step_ns
    whole = ChangeReport(step.base, step.candidate, step.change, step.low, step.high)
    rows = [_change(CONTRIBUTION_LABELS[part], row) for part, row in candidate.parts.items()] + [_change("Step", whole)]
    return _page(
        *(f"<p class=warning>{escape(warning.text)}</p>" for warning in candidate.warnings),
        f"<p class=verdict>{escape(candidate.text)}</p>",
        f"<table><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>{''.join(rows)}</table>",
    )


def _change(label: str, row: ChangeReport) -> str:
    cells = (duration(row.base_ns), duration(row.candidate_ns), change(row.change_ns), interval(row.low, row.high))
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


def step_bar(overview: OverviewResult, could_be: CouldBe | None) -> str:
    """Returns bars on one scale. Their widths are shares of the longer step."""
    step_ns = overview.mean_duration_ns
    longest_ns = max(step_ns, could_be.duration_ns if could_be else 0)
    if not longest_ns:
        return ""
    rows = _row("Mean step", step_ns, overview.mean_parts_ns, longest_ns)
    if could_be:
        rows += _row("Could be", could_be.duration_ns, could_be.parts_ns, longest_ns)
    legend = "".join(_entry(part, ns, step_ns) for part, ns in _parts(overview.mean_parts_ns))
    return f'<div class="rows">{rows}</div><div class="legend">{legend}</div>'


def _row(name: str, step_ns: int, parts: Parts, longest_ns: int) -> str:
    shares = ", ".join(f"{part.label} {duration(ns)}" for part, ns in _parts(parts))
    segments = ""
    for part, ns in _parts(parts):
        hint = escape(f"{part.label}: {duration(ns)}, {percent_exact(ns / step_ns)}. {part.meaning}")
        width = f"{100 * ns / longest_ns:.4g}%"
        segments += f'<i class="{_mark(part)}" style="width:{width}" title="{hint}"></i>'
    label = escape(f"{name}, {duration(step_ns)}: {shares}")
    bar = f'<div class="bar" role="img" aria-label="{label}">{segments}</div>'
    return f"<span>{name} <b>{duration(step_ns)}</b></span>{bar}"


def _parts(parts: Parts) -> list[tuple[PartMeaning, int]]:
    """Returns the parts with a length, in the order that all charts use."""
    return [(part, ns) for part in PART_MEANINGS if (ns := getattr(parts, part.id))]


def _entry(part: PartMeaning, ns: int, step_ns: int) -> str:
    share = percent_exact(ns / step_ns)
    return (
        f'<span title="{escape(part.meaning)}"><i class="{_mark(part)}"></i>{escape(part.label)} <b>{share}</b></span>'
    )


def _mark(part: PartMeaning) -> str:
    return f"c-{part.colour}{' hatched' if part.hatched else ''}"
