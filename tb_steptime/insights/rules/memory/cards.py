"""Code that cards about memory share: they save bytes and no time, and claim no more than the evidence supports."""

from __future__ import annotations

from tb_steptime.analyses.memory import DeviceMemory
from tb_steptime.insights.base import Confidence, EvidenceRow, Insight, Severity
from tb_steptime.text import Phrase, phrase

#: From this share of its memory on, a device may run out of memory with the next longer batch.
NEARLY_FULL = 0.8


#: Maximum difference between the peaks of the steps, as a share. A larger difference comes from batches of several
#: sizes, of which the largest may not be recorded.
EVEN = 0.05


def has_even_peaks(device: DeviceMemory) -> bool:
    peaks = device.step_peaks
    return len(peaks) > 1 and min(peaks) >= (1 - EVEN) * max(peaks)


def memory_card(
    id: str,
    title: Phrase,
    why: Phrase,
    how: str,
    saves: Phrase,
    why_confidence: Phrase,
    severity: Severity = Severity.MINOR,
    confidence: Confidence = Confidence.MEDIUM,
    row: EvidenceRow | None = None,
) -> Insight:
    """Returns the card. It has no gain, because no time of the step is saved. saves: how the bytes in `why` are
    computed, and what they leave out."""
    return Insight(
        id=id,
        severity=severity,
        title=title,
        why=why,
        how=how,
        gain_formula=saves,
        confidence=confidence,
        why_confidence=why_confidence,
        view="memory",
        colour="other",
        row=row,
        instead=phrase("less memory"),
    )
