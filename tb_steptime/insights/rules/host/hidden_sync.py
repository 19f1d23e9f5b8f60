"""Blocking calls that the script does not show: an op of the backward pass or of the optimizer waits for the GPU."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, hidden, name_of, place_of
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.insights.rules.host.sync_ops import maker_of
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, ns, phrase, text

_TITLES = {
    "backward": "Take the hidden wait out of the backward pass",
    "optimizer": "Take the hidden wait out of the optimizer",
}


def hidden_sync_backward(facts: Facts) -> Insight | None:
    """Fires when blocking calls inside autograd nodes and hooks are worth a card."""
    return _hidden_sync(facts, "backward")


def hidden_sync_optimizer(facts: Facts) -> Insight | None:
    """Fires when blocking calls inside an optimizer step are worth a card."""
    return _hidden_sync(facts, "optimizer")


def _hidden_sync(facts: Facts, where: str) -> Insight | None:
    rows = hidden(facts.host, where)
    if not rows:
        return None
    text = _words(rows[0], bubble_ns(rows))
    return calls_card(facts, f"hidden_sync_{where}", phrase(_TITLES[where]), text, rows)


def _words(row: BlockingRow, total_ns: int) -> Phrase:
    """Names the op, and the line, module or op of the forward pass that made it."""
    remedy, place = maker_of(row).remedy, place_of(row)
    made = ", made by {place}," if place else ""
    return phrase(
        "{op}" + made + " leaves the GPU idle for {total} a step: " + remedy.template + ".",
        op=text(name_of(row)), place=text(place or ""), total=ns(total_ns), **remedy.values,
    )  # fmt: skip
