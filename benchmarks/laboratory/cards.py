"""What a card says that is followed, what a difference has to be to count, and how many programs came out how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tb_steptime.insights.base import Insight
from tb_steptime.text.printer import plain

#: A difference between two sides that is smaller than so much of a step is none, whatever the noise.
PACE = 0.02


@dataclass(frozen=True)
class Card:
    id: str
    title: str
    severity: str
    confidence: str
    gain_ns: int

    @classmethod
    def of(cls, insight: Insight) -> Card:
        severity, confidence = insight.severity.value, insight.confidence.value
        return cls(insight.id, plain(insight.title), severity, confidence, insight.gain_ns)


def summary(remarks: Iterable[str]) -> str:
    """How many programs have which remark; what is false of one is not told apart."""
    counts = Counter(remark.partition(":")[0].strip("*") for remark in remarks)
    rows = [f"| {remark} | {number} |" for remark, number in counts.most_common()]
    return "\n".join(["| first card | programs |", "|---|---:|", *rows])
