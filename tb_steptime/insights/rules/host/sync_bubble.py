"""Blocking calls that drain the GPU: while the host waits it launches nothing, and then the GPU waits for the host."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, name_of, place_of, plain
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.insights.rules.host.sync_ops import maker_of
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, ns, phrase, text


def sync_bubble(facts: Facts) -> Insight | None:
    """Fires when what blocking calls of the script cost, not how long they take, is worth a card."""
    rows = plain(facts.host)
    if not rows:
        return None
    return calls_card(facts, "sync_bubble", maker_of(rows[0]).deed, _words(rows[0], bubble_ns(rows)), rows)


def _words(row: BlockingRow, total_ns: int) -> Phrase:
    remedy, place = maker_of(row).remedy, place_of(row)
    who = "{op} in {place}" if place else "{op}"
    cost = " leaves the GPU idle for {most} a step" + (" of {total} in all" if row.bubble_ns < total_ns else "")
    return phrase(
        who + cost + ": " + remedy.template + ".",
        op=text(name_of(row)), place=text(place or ""), most=ns(row.bubble_ns), total=ns(total_ns), **remedy.values,
    )  # fmt: skip
