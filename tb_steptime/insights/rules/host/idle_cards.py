"""The two kinds of cards about an idle GPU: launches that come late from some place, and calls that block.

late launches    |---- idle ----| until work from the place is launched and reaches the device
blocking calls   |--- bubble ---| from the drain, or the call's start, to the next work that is launched after it
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import (
    PROFILING_SLOWS,
    HostCard,
    evidence_of_calls,
    evidence_of_sites,
    host_card,
    row_of_call,
    row_of_sites,
    sites_of,
)
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, phrase

_LATE = phrase(
    "GPU idle time until work launched from here reaches the GPU, mean over the steps. Waits for the data loader, "
    "blocking calls and pauses are left out. Where the CPU does not set the pace, at most what an instant one "
    "would gain."
)
_BUBBLES = phrase(
    "GPU idle time from the start of the call, or from when the GPU ran out of work, to the next work launched after "
    "the call, mean over the steps."
)
_MEASURED = phrase("The GPU's idle time behind these calls is measured in every step.")


class LateCard(NamedTuple):
    """Launches from some sites. certain: the change takes these launches away, however much profiling slows them.
    evidence: None for the sites' longest gaps."""

    id: str
    title: Phrase
    why: Phrase
    sites: Collection[str]
    gain_ns: int
    how: str | None = None
    certain: bool = False
    evidence: Sequence[Evidence] | None = None


class CallsCard(NamedTuple):
    """Groups of blocking calls, worth the bubbles that they leave."""

    id: str
    title: Phrase
    why: Phrase
    rows: list[BlockingRow]
    how: str | None = None


def late_card(facts: Facts, card: LateCard) -> Insight | None:
    evidence = evidence_of_sites(sites_of(facts.host, card.sites)) if card.evidence is None else card.evidence
    return host_card(
        facts,
        HostCard(
            id=card.id,
            title=card.title,
            why=card.why,
            how=card.how,
            gain_ns=_worth_now(facts, card),
            formula=_LATE,
            best=Confidence.HIGH if card.certain else Confidence.MEDIUM,
            why_confidence=_MEASURED if card.certain else PROFILING_SLOWS,
            evidence=evidence,
            row=row_of_sites(sites_of(facts.host, card.sites)),
        ),
    )


def _worth_now(facts: Facts, card: LateCard) -> int:
    """At most what a replay of the change gains, or an instant CPU where the CPU does not set the pace. Behind a loader
    that does, the card says what is worth doing once batches come in time."""
    change = facts.replayed_gain(card.id) if card.id == "between_graphs" else None
    if change is not None:
        return min(card.gain_ns, change.gain_ns or 0)
    return card.gain_ns if facts.host.bound in (Bound.HOST, Bound.INPUT) else facts.at_most_ns(card.gain_ns, "host")


def calls_card(facts: Facts, card: CallsCard) -> Insight | None:
    return host_card(
        facts,
        HostCard(
            id=card.id,
            title=card.title,
            why=card.why,
            how=card.how,
            gain_ns=bubble_ns(card.rows),
            formula=_BUBBLES,
            best=Confidence.HIGH,
            why_confidence=_MEASURED,
            colour="blocking",
            part="runtime",
            evidence=evidence_of_calls(card.rows),
            row=row_of_call(card.rows),
        ),
    )
