"""Blocking calls that the script does not show: an op of the backward pass or of the optimizer waits for the GPU."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.blocking_rows import bubble_ns, hidden, name_of, place_of
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import MEASURED, HostCard, evidence_of_calls, host_card
from tb_steptime.insights.sync_bubble import BUBBLES
from tb_steptime.insights.sync_makers import maker_of
from tb_steptime.metrics.blocking import BlockingRow
from tb_steptime.phrases import Phrase, ns, phrase, text

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


def _hidden_sync(facts: Facts, phase: str) -> Insight | None:
    rows = hidden(facts.host, phase)
    if not rows:
        return None
    return host_card(
        facts,
        HostCard(
            id=f"hidden_sync_{phase}",
            title=phrase(_TITLES[phase]),
            text=_words(rows[0], bubble_ns(rows)),
            gain_ns=bubble_ns(rows),
            formula=BUBBLES,
            best=Confidence.HIGH,
            why=MEASURED,
            colour="blocking",
            part="runtime",
            evidence=evidence_of_calls(rows),
        ),
    )


def _words(row: BlockingRow, total_ns: int) -> Phrase:
    """Names the op, and the line, module or op of the forward pass that made it."""
    remedy, place = maker_of(row).remedy, place_of(row)
    made = ", made by {place}," if place else ""
    return phrase(
        "{op}" + made + " leaves the GPU idle for {total} a step: " + remedy.template + ".",
        op=text(name_of(row)), place=text(place or ""), total=ns(total_ns), **remedy.values,
    )  # fmt: skip
