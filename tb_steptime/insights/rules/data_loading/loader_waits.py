"""What the cards about loaders share: their gains are disjoint pieces of the one exposed wait."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Evidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import HostCard, host_card
from tb_steptime.metrics.data_loading.loaders import with_label
from tb_steptime.metrics.data_loading.wait_shares import WaitShares
from tb_steptime.text import Phrase, phrase

#: "Leaves the GPU idle" cannot be said of a trace without a GPU.
IDLE, STANDS = "leave the GPU idle", "leave the step standing"

#: How the gain of most of the cards is computed.
EXPOSED = phrase("Mean over the steps of the time in which the loader is waited for and the GPU is idle.")


def shares(facts: Facts) -> WaitShares:
    """All zero without loader events."""
    return facts.data_loading.shares or WaitShares(0, 0, 0, 0, 0)


def judged_label(facts: Facts) -> Phrase | None:
    """The name of the loader that is judged; None where there is no other."""
    result = facts.data_loading
    if len(result.loaders) == 1 or result.main_loader is None:
        return None
    return result.loaders[result.main_loader].label


def _of_judged(facts: Facts, said: Phrase) -> Phrase:
    label = judged_label(facts)
    return with_label(label, said) if label else said


def loader_card(
    facts: Facts, id: str, title: Phrase, text: Phrase, gain_ns: int, why: Phrase, best: Confidence = Confidence.HIGH,
    steps: list[str] | None = None, formula: Phrase = EXPOSED, judged: bool = True,
) -> Insight | None:  # fmt: skip
    """The card, if its gain is worth one. judged: it is of the judged loader, which is named where there are others."""
    said = _of_judged(facts, text) if judged else text
    return host_card(
        facts,
        HostCard(
            id, title, said, gain_ns, formula, best, why, "data", "data_loader", "data_loading",
            _evidence(facts, steps), steps or [],
        ),
    )  # fmt: skip


def idles(facts: Facts) -> str:
    return IDLE if facts.overview.has_device else STANDS


def _evidence(facts: Facts, steps: list[str] | None) -> list[Evidence]:
    """The steps that wait longest, of those that are named."""
    starts = {row.name: (row.start_ns, row.start_ns + row.duration_ns) for row in facts.overview.steps}
    rows = [row for row in facts.data_loading.steps if row.exposed_ns > 0 and (not steps or row.name in steps)]
    rows.sort(key=lambda row: -row.exposed_ns)
    return [Evidence(row.name, *starts[row.name]) for row in rows[:3] if row.name in starts]
