"""What a followed card says, how large a difference must be to count, and the number of programs by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tb_steptime.insights.base import Insight
from tb_steptime.text.printer import plain

#: A difference between two sides that is a smaller share of a step counts as none, whatever the noise.
PACE = 0.02


@dataclass(frozen=True)
class Card:
    id: str
    title: str
    severity: str
    confidence: str
    gain_ns: int

    @classmethod
    def of(cls, insight: Insight, share: float = 1.0) -> Card:
        """share: that of a core which the recording had. Without other jobs its steps, and the gain that is a part of
        them, would take as much less."""
        severity, confidence = insight.severity.value, insight.confidence.value
        return cls(insight.id, plain(insight.title), severity, confidence, round(share * insight.gain_ns))


def summary(remarks: Iterable[str]) -> str:
    """The number of programs for each remark. What follows a colon, such as the names of false cards, is left out."""
    counts = Counter(remark.partition(":")[0].strip("*") for remark in remarks)
    rows = [f"| {remark} | {number} |" for remark, number in counts.most_common()]
    return "\n".join(["| first card | programs |", "|---|---:|", *rows])
