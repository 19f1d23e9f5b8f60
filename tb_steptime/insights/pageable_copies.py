"""Copies of pageable memory: the driver stages their bytes while the host stands still, asynchronous or not."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.blocking_rows import bubble_ns, name_of, pageable
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import MEASURED, HostCard, evidence_of_calls, host_card
from tb_steptime.insights.sync_bubble import BUBBLES
from tb_steptime.metrics.blocking import BlockingRow
from tb_steptime.phrases import Phrase, code, nbytes, ns, phrase, text


def pageable_copies(facts: Facts) -> Insight | None:
    """Fires when copies of pageable memory to the GPU leave it idle long enough for a card."""
    rows = pageable(facts.host)
    if not rows:
        return None
    return host_card(
        facts,
        HostCard(
            id="pageable_copies",
            title=phrase("Pin the memory of the batch"),
            text=_words(rows),
            gain_ns=bubble_ns(rows),
            formula=BUBBLES,
            best=Confidence.HIGH,
            why=MEASURED,
            colour="blocking",
            part="runtime",
            evidence=evidence_of_calls(rows),
        ),
    )


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
