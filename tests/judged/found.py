"""The package's conclusions on a recording, as far as labels cover them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tb_steptime.insights.base import Insight, Judgement, Severity
from tb_steptime.trace.kineto import read_trace
from tests.drawn.cards import judged


@dataclass(frozen=True)
class Card:
    id: str
    minor: bool
    gain: float


@dataclass(frozen=True)
class Found:
    """A span's verdict and its cards, in the order in which they are shown."""

    bound: str
    cards: tuple[Card, ...]
    insights: tuple[Insight, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(card.id for card in self.cards)

    @property
    def above_minor(self) -> frozenset[str]:
        return frozenset(card.id for card in self.cards if not card.minor)


def judgement_of(path: Path) -> Judgement:
    """All conclusions of the package from one file."""
    trace = read_trace(path)
    return judged(trace)


def found_in(path: Path) -> Found:
    judgement = judgement_of(path)
    cards = (Card(card.id, card.severity is Severity.MINOR, card.gain_fraction) for card in judgement.insights)
    return Found(judgement.verdict.bound.value, tuple(cards), tuple(judgement.insights))
