"""What the cards about loaders share: their gains are disjoint parts of the one exposed wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import HostCard, host_card
from tb_steptime.insights.wording.data_loading import joined, main_label, of_loader
from tb_steptime.metrics.data_loading.wait_shares import WaitShares
from tb_steptime.text import Phrase, fraction, ns, phrase

#: How the gain of most of the cards is computed.
EXPOSED = phrase("Mean over the steps of the time in which the loader is waited for and the GPU is idle.")
MARKS_AGREE = phrase("Every step waits: the loader's own marks and the GPU's idle time agree.")
_ALL_ZERO = WaitShares(0, 0, 0, 0, 0)


class LoaderCard(NamedTuple):
    """What differs between the cards. waited_ns: of the mean step, for what is said in why; gain_ns: of it, None: all.
    steps: that show it, empty for all. of_main: it is of the main loader, which is named where there are others."""

    id: str
    title: Phrase
    why: Phrase
    waited_ns: int
    best: Confidence
    why_confidence: Phrase
    how: str | None = None
    gain_ns: int | None = None
    formula: Phrase = EXPOSED
    steps: Sequence[str] = ()
    of_main: bool = True


def shares(facts: Facts) -> WaitShares:
    """All zero without loader events."""
    return facts.data_loading.causes.shares if facts.data_loading.causes else _ALL_ZERO


def loader_card(facts: Facts, card: LoaderCard) -> Insight | None:
    """The card, if its gain is worth one."""
    why, label = joined(_waits(facts, card.waited_ns), card.why), main_label(facts.data_loading)
    return host_card(
        facts,
        HostCard(
            id=card.id,
            title=card.title,
            why=of_loader(label, why) if label and card.of_main else why,
            how=card.how,
            gain_ns=card.waited_ns if card.gain_ns is None else card.gain_ns,
            formula=card.formula,
            best=card.best,
            why_confidence=card.why_confidence,
            colour="data",
            part="data_loader",
            view="data_loading",
            evidence=_evidence(facts, card.steps),
            steps=card.steps,
        ),
    )


def _waits(facts: Facts, waited_ns: int) -> Phrase:
    device = "The GPU idles {waited} a step ({share})."
    words = device if facts.overview.has_device else "A step waits {waited} ({share})."
    return phrase(words, waited=ns(waited_ns), share=fraction(facts.share(waited_ns)))


def _evidence(facts: Facts, steps: Sequence[str]) -> list[Evidence]:
    """The steps that wait longest, of those that are named."""
    starts = {row.name: (row.start_ns, row.start_ns + row.duration_ns) for row in facts.overview.steps}
    rows = [row for row in facts.data_loading.steps if row.exposed_ns > 0 and (not steps or row.name in steps)]
    rows.sort(key=lambda row: -row.exposed_ns)
    return [Evidence(row.name, *starts[row.name]) for row in rows[:3] if row.name in starts]
