"""A job as the terminal shows it: which rank delays the others, who waits, what they exchange, what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.card_text import card_head, lowered_words
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.ranks import ROLE_LABELS, ranks_headline
from tb_steptime.metrics.communication.kinds import KIND_LABELS
from tb_steptime.terminal.ranks.contract import CollectiveReport, MessagesReport, RankReport
from tb_steptime.terminal.ranks.jobs import FoundJob
from tb_steptime.terminal.ranks.report import collective_report, messages_report, rank_reports
from tb_steptime.terminal.rows import columns, shortened
from tb_steptime.text.printer import (
    GAP,
    UNKNOWN,
    counted,
    duration,
    nbytes,
    number,
    percent_exact,
    printable,
    rate,
    render,
)

#: Rows of a table; what is beyond them is one line.
TABLE_ROWS = 16
_RANK_HEADS = ("Rank", "mean step", "waits for others", "makes others wait", "arrives last")
_MESSAGE_HEADS = ("Messages", "size", "calls", "transfer", "sender waits", "receiver waits")
_HEADS = ("Collective", "for", "ranks", "size", "calls", "transfer", "wait", "exposed", "bus")


def job_table(found: FoundJob, width: int) -> str:
    """The whole of a job, without a line end at the end."""
    sections = (
        [_top(found), *_headline(found, width)],
        _ranks(rank_reports(found)),
        _collectives([collective_report(row, found.ranks) for row in found.ranks.collectives]),
        _messages([messages_report(pair) for pair in found.ranks.pairs]),
        _advice(found, width),
    )
    text = "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines)
    return text.replace(GAP, " ")


def _top(found: FoundJob) -> str:
    run = found.run if found.run != "." else found.recorded[0].found.folder
    job = found.ranks
    return printable(f"{run} · {counted(len(job.ranks), 'rank')} · {counted(len(job.steps), 'step')}")


def _headline(found: FoundJob, width: int) -> Iterator[str]:
    headline = ranks_headline(found.ranks)
    yield from _wrap(render(headline.verdict), width)
    if headline.action:
        yield from _wrap(render(headline.action), width)


def _ranks(rows: Sequence[RankReport]) -> Iterator[str]:
    """The one that the others wait for most first; where waits are not known the slowest."""
    ordered = sorted(rows, key=lambda row: (-(row.makes_others_wait_ns or 0), -row.mean_step_ns, row.rank))
    shown, more = ordered[:TABLE_ROWS], ordered[TABLE_ROWS:]
    yield from columns([_RANK_HEADS, *(_rank(row) for row in shown)])
    if more:
        yield f"{counted(len(more), 'more rank')}"


def _rank(row: RankReport) -> tuple[str, ...]:
    host = "" if row.host is None else f" ({printable(row.host)})"
    return (
        f"rank {row.rank}{host}",
        duration(row.mean_step_ns),
        _or_unknown(duration, row.wait_ns),
        _or_unknown(duration, row.makes_others_wait_ns),
        _or_unknown(percent_exact, row.last_share),
    )


def _collectives(rows: Sequence[CollectiveReport]) -> Iterator[str]:
    if not rows:
        return
    shown, more = rows[:TABLE_ROWS], rows[TABLE_ROWS:]
    table = [_HEADS, *(_collective(row) for row in shown)]
    if any(row.of_peak is not None for row in rows):
        of_peak = ["of peak", *(_or_unknown(percent_exact, row.of_peak) for row in shown)]
        table = [(*cells, last) for cells, last in zip(table, of_peak, strict=True)]
    yield from columns(table)
    if more:
        yield f"{counted(len(more), 'more row')}"


def _collective(row: CollectiveReport) -> tuple[str, ...]:
    name = ", ".join(filter(None, (KIND_LABELS.get(row.kind, row.kind), row.dtype)))
    return (
        printable(shortened(name, 32)),
        ROLE_LABELS[row.role],
        str(row.ranks),
        _or_unknown(nbytes, row.bytes),
        number(row.count),
        duration(row.transfer_ns),
        duration(row.wait_ns),
        _or_unknown(percent_exact, row.exposed_share),
        _or_unknown(rate, row.bus_rate),
    )


def _messages(rows: Sequence[MessagesReport]) -> Iterator[str]:
    if not rows:
        return
    shown, more = rows[:TABLE_ROWS], rows[TABLE_ROWS:]
    yield from columns([_MESSAGE_HEADS, *(_message(row) for row in shown)])
    if more:
        yield f"{counted(len(more), 'more row')}"


def _message(row: MessagesReport) -> tuple[str, ...]:
    return (
        f"rank {row.source} to {row.target}",
        _or_unknown(nbytes, row.bytes),
        number(row.count),
        duration(row.transfer_ns),
        duration(row.sender_wait_ns),
        duration(row.receiver_wait_ns),
    )


def _advice(found: FoundJob, width: int) -> Iterator[str]:
    for insight in judge_job(found.ranks):
        said = f"{render(insight.title)}. {render(insight.why)}{lowered_words(insight)}"
        yield from _wrap(f"{card_head(insight)}: {said}", width, "  ")
        yield from (f"    {line}" for line in (insight.how or "").splitlines())
    for note in map(worded, found.ranks.notes):
        yield from _wrap(f"Note: {render(note.cause)} {render(note.effect)}", width, "  ")


def _or_unknown(write: Callable[[float], str], value: float | None) -> str:
    return UNKNOWN if value is None else write(value)


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
