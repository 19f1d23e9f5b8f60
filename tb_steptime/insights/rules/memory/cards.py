"""Code that cards about memory share: they save bytes and no time, and claim no more than the evidence supports."""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Confidence, EvidenceRow, Insight, Severity
from tb_steptime.text import Phrase, phrase

#: From this share of its memory on, a device may run out of memory with the next longer batch.
NEARLY_FULL = 0.8


class MemoryCard(msgspec.Struct, frozen=True):
    """What differs between cards about memory. saves: how the bytes in `why` are computed, and what they leave out."""

    id: str
    title: Phrase
    why: Phrase
    how: str
    saves: Phrase
    why_confidence: Phrase
    severity: Severity = Severity.MINOR
    confidence: Confidence = Confidence.MEDIUM
    row: EvidenceRow | None = None


def memory_card(card: MemoryCard) -> Insight:
    """Returns the insight. It has no gain, because no time of the step is saved."""
    return Insight(
        id=card.id,
        severity=card.severity,
        title=card.title,
        why=card.why,
        how=card.how,
        gain_ns=0,
        gain_fraction=0.0,
        later_ns=None,
        gain_formula=card.saves,
        confidence=card.confidence,
        why_confidence=card.why_confidence,
        view="memory",
        colour="other",
        row=card.row,
        instead=phrase("less memory"),
    )
