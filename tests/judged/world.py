"""Other people's jobs: judgements by an expert from the raw events, compared with the conclusions of the package.

The judgements are not part of this project; they are in `world_judged.json` among the reference values. By trace it has

    verdict    the verdicts that are right
    must       pairs (pattern, least gain): the page has to have a match; if the least gain is above 0, it has to be in
               a card whose gain is at least this share of the step
    must_not   pairs (pattern, largest tolerated gain as a share of the step): no card that matches may promise more. A
               tolerance of 1, which no gain exceeds, means that nothing on the page may match

Each verdict and each pair is one judgement. None of these jobs was recorded or drawn here, so their share of right
judgements is printed separately from that of our own corpus and never added to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.text.printer import plain
from tests.drawn.real_traces import is_there, real_path, reference
from tests.judged.found import judgement_of

#: The tolerance for a pattern that must not occur at all.
NEVER = 1


@dataclass(frozen=True)
class Judged:
    """One judgement. said: the text of the package that decides it; why: the expert's reason."""

    trace: str
    asked: str
    right: bool
    said: str
    why: str


def traces() -> list[str]:
    """The judged traces that are available here."""
    return [name for name in reference("world_judged.json") if is_there(f"traces_world/{name}")]


@cache
def judged(name: str) -> tuple[Judged, ...]:
    """All judgements of one trace."""
    label = reference("world_judged.json")[name]
    found = judgement_of(real_path(f"traces_world/{name}"))
    bound = found.verdict.bound.value
    why = label["why"]
    return (
        Judged(name, f"verdict {' or '.join(label['verdict'])}", bound in label["verdict"], bound, why),
        *(_must(name, found, pattern, gain, why) for pattern, gain in label["must"]),
        *(_must_not(name, found, pattern, gain, why) for pattern, gain in label["must_not"]),
    )


def _must(name: str, found: Judgement, pattern: str, gain: float, why: str) -> Judged:
    cards = _matching(found, pattern)
    right = any(card.gain_fraction >= gain for card in cards) if gain else bool(cards or _elsewhere(found, pattern))
    requirement = f"must say {pattern}" + (f" with at least {gain:.0%}" if gain else "")
    return Judged(name, requirement, right, _card_texts(cards) or "no card", why)


def _must_not(name: str, found: Judgement, pattern: str, tolerated: float, why: str) -> Judged:
    cards = _matching(found, pattern)
    if tolerated >= NEVER:
        elsewhere = _elsewhere(found, pattern)
        answer = ", ".join(filter(None, [_card_texts(cards), *elsewhere]))
        return Judged(name, f"must not say {pattern}", not answer, answer or "nothing", why)
    wrong = [card for card in cards if card.gain_fraction > tolerated]
    requirement = f"must not promise more than {tolerated:.1%} by {pattern}"
    return Judged(name, requirement, not wrong, _card_texts(wrong) or "no card", why)


def _matching(found: Judgement, pattern: str) -> list[Insight]:
    return [card for card in found.insights if re.search(pattern, _text(card), re.IGNORECASE)]


def _text(card: Insight) -> str:
    return "\n".join((card.id, plain(card.title), plain(card.why), card.how or ""))


def _elsewhere(found: Judgement, pattern: str) -> list[str]:
    """Sentences of the page that match, outside of cards."""
    return [sentence for sentence in _sentences(found) if re.search(pattern, sentence, re.IGNORECASE)]


def _sentences(found: Judgement) -> Iterator[str]:
    yield plain(found.verdict.text)
    for headline in found.headlines.values():
        yield plain(headline.verdict)
        if headline.action:
            yield plain(headline.action)
    for notes in found.notes.values():
        for note in notes:
            yield f"{note.id}: {plain(note.cause)} {plain(note.effect)}"
    for finding in found.quality:
        yield f"{finding.id}: {plain(finding.cause)} {plain(finding.effect)}"


def _card_texts(cards: list[Insight]) -> str:
    return ", ".join(f"{card.id} {card.gain_fraction:.1%}" for card in cards)


def report() -> Iterator[str]:
    """Markdown: how many judgements are right, and each that is wrong."""
    every = [each for name in traces() for each in judged(name)]
    right = sum(each.right for each in every)
    yield f"{right} of {len(every)} judgements are right ({right / max(1, len(every)):.1%}) on {len(traces())} traces."
    wrong = [each for each in every if not each.right]
    if not wrong:
        return
    yield ""
    yield "| trace | asked for | said |"
    yield "|---|---|---|"
    for each in wrong:
        yield f"| {Path(each.trace).name.split('.')[0]} | {_cell(each.asked)} | {_cell(each.said)} |"


def _cell(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")
