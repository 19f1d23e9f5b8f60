"""A label compared with what was found: what is wrong or missing; and over all jobs, how often cards are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.judged.found import Found
from tests.judged.labels import Label

#: Readers act on the first cards, so the card for what limits the job has to be among them.
FIRST_CARDS = 3


def verdict_is_right(label: Label, found: Found) -> bool:
    return found.bound in label.bounds


def missed(label: Label, found: Found) -> list[frozenset[str]]:
    """Required cards that are missing; the card of the main cause has to be among the first ones."""
    first = found.ids[:FIRST_CARDS]
    return [
        names
        for place, names in enumerate(label.asked_for)
        if names.isdisjoint(first if place == 0 and label.main else found.ids)
    ]


def wrong(label: Label, found: Found) -> list[str]:
    """Cards above minor that no reader of the events would accept, and minor cards that the events contradict."""
    return [id for id in found.ids if id in false_cards(label, found) or id in label.forbidden]


def false_cards(label: Label, found: Found) -> frozenset[str]:
    return found.above_minor - label.allowed


def main_is_found(label: Label, found: Found) -> bool:
    """Whether the verdict is right, and the card of the declared cause, where there is one, is among the first."""
    names = label.asked_for[0] if label.main else frozenset[str]()
    return verdict_is_right(label, found) and not (names and names.isdisjoint(found.ids[:FIRST_CARDS]))


@dataclass
class Scores:
    """Totals over a corpus. right and false count cards above minor, contradicted counts minor cards, and missed counts
    required cards that are not there."""

    right: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    contradicted: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    verdicts_right: int = 0
    causes: int = 0
    causes_found: int = 0

    def add(self, label: Label, found: Found) -> None:
        self.jobs += 1
        self.verdicts_right += verdict_is_right(label, found)
        self.causes += bool(label.main)
        self.causes_found += bool(label.main) and main_is_found(label, found)
        self.right.update(found.above_minor & label.allowed)
        self.false.update(false_cards(label, found))
        self.contradicted.update(set(wrong(label, found)) - false_cards(label, found))
        self.missed.update("|".join(sorted(names)) for names in missed(label, found))

    @property
    def recall(self) -> float:
        """The share of the declared main causes that the verdict and the first cards name."""
        return self.causes_found / self.causes if self.causes else 1.0

    @property
    def precision(self) -> float:
        """Share of the cards above minor that are right."""
        fired = self.right.total() + self.false.total()
        return self.right.total() / fired if fired else 1.0


def scored(pairs: Iterable[tuple[Label, Found]]) -> Scores:
    scores = Scores()
    for label, found in pairs:
        scores.add(label, found)
    return scores


def by_card(scores: Scores) -> Iterator[str]:
    """Markdown: one line for each card that fired above minor, was contradicted or was missed."""
    columns = (scores.right, scores.false, scores.contradicted, scores.missed)
    yield "| card | right | false | contradicted | missed |"
    yield "|---|---:|---:|---:|---:|"
    for id in sorted(set().union(*columns)):
        name = " or ".join(f"`{each}`" for each in id.split("|"))
        yield f"| {name} | {' | '.join(str(column[id]) for column in columns)} |"


def by_group(groups: Mapping[str, Scores]) -> Iterator[str]:
    """Markdown: one line for each kind of job, and their sum."""
    yield "| jobs | recordings | right verdicts | main causes found | false cards |"
    yield "|---|---:|---:|---:|---:|"
    for name, scores in groups.items():
        found = f"{scores.causes_found} of {scores.causes}" if scores.causes else "none declared"
        yield f"| {name} | {scores.jobs} | {scores.verdicts_right} | {found} | {scores.false.total()} |"


def in_short(scores: Scores) -> str:
    return (
        f"False cards: {scores.false.total()}. "
        f"Recall of the declared main cause: {100 * scores.recall:.1f} %. "
        f"Precision of the cards above minor: {100 * scores.precision:.1f} %."
    )
