"""The two kinds of cards about an idle GPU: launches that come late from some place, and calls that block.

late launches    |---- idle ----| until work from the place is launched and reaches the device
blocking calls   |--- bubble ---| from the drain, or the call's start, to the next work that is launched after it
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import (
    PROFILING_SLOWS,
    HostCard,
    evidence_of_calls,
    evidence_of_sites,
    host_card,
    sites_of,
)
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, phrase

_LATE = phrase(
    "Mean over the steps of the GPU's idle time until work from here is launched and reaches it; waits for the loader, "
    "blocking calls and pauses left out."
)
_BUBBLES = phrase(
    "Mean over the steps of the GPU's idle time from its drain, or the call's start, to the next work that is launched "
    "after the call."
)
_MEASURED = phrase("The GPU's idle time behind these very calls is recorded, step by step.")


def late_card(
    facts: Facts,
    id: str,
    title: str,
    text: Phrase,
    sites: Collection[str],
    gain_ns: int,
    *,
    certain: bool = False,
    evidence: Sequence[Evidence] | None = None,
) -> Insight | None:
    """A card about launches from some sites. certain: the deed takes these launches away, whatever profiling adds to
    them. evidence: None for the sites' longest gaps."""
    return host_card(
        facts,
        HostCard(
            id=id,
            title=phrase(title),
            why=text,
            gain_ns=gain_ns,
            formula=_LATE,
            best=Confidence.HIGH if certain else Confidence.MEDIUM,
            why_confidence=_MEASURED if certain else PROFILING_SLOWS,
            evidence=evidence_of_sites(sites_of(facts.host, sites)) if evidence is None else evidence,
        ),
    )


def calls_card(facts: Facts, id: str, title: Phrase, text: Phrase, rows: list[BlockingRow]) -> Insight | None:
    """A card about groups of blocking calls, worth the bubbles that they leave."""
    return host_card(
        facts,
        HostCard(
            id=id,
            title=title,
            why=text,
            gain_ns=bubble_ns(rows),
            formula=_BUBBLES,
            best=Confidence.HIGH,
            why_confidence=_MEASURED,
            colour="blocking",
            part="runtime",
            evidence=evidence_of_calls(rows),
        ),
    )
