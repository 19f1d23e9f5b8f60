"""Copies of pageable memory: the driver stages their bytes while the host stands still, asynchronous or not."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import name_of, pageable
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, code, nbytes, ns, phrase, text


def pageable_copies(facts: Facts) -> Insight | None:
    """Fires when copies of pageable memory to the GPU leave it idle long enough for a card."""
    rows = pageable(facts.host)
    if not rows:
        return None
    return calls_card(facts, "pageable_copies", phrase("Pin the memory of the batch"), _words(rows), rows)


def _words(rows: list[BlockingRow]) -> Phrase:
    known = [row.bytes for row in rows if row.bytes is not None]
    return phrase(
        "{op} copies {bytes} a step from pageable memory and holds the host for {blocked}: {pin} and {flag}.",
        op=text(name_of(rows[0])),
        bytes=nbytes(sum(known) if known else None),
        blocked=ns(sum(row.blocked_ns for row in rows)),
        pin=code("pin_memory=True"),
        flag=code("non_blocking=True"),
    )
