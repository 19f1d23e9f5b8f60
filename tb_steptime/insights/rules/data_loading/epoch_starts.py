"""Epoch starts: the first batch of each epoch is waited for, however many workers there are."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import LoaderCard, loader_card
from tb_steptime.metrics.data_loading.epoch_starts import EpochStarts
from tb_steptime.text import agreeing, count, ns, phrase

_TITLES = {
    True: phrase("Keep the workers between epochs"),
    False: phrase("Make epochs longer"),
    None: phrase("Keep the workers between epochs, or make epochs longer"),
}
_WHY = {
    True: "Workers start again for each epoch, whose first batch takes {each}.",
    False: "The first batch of an epoch takes {each}, as none is prefetched.",
    None: "The first batch of an epoch takes {each}, with the start of the workers where these are not kept.",
}
_FORMULA = phrase(
    "Mean over the steps of the exposed wait where an epoch ends and the next one begins, less the recorded production "
    "time of first batches where workers start again. No other card's gain has any of it."
)


def epoch_starts(facts: Facts) -> Insight | None:
    """Fires when waits for first batches are worth a card, and worker processes produce them: without these every batch
    is waited for, the first one no longer than others.

    Gain: the exposed wait where epochs end and begin, mean over the steps, less the recorded production time of first
    batches where workers start again.
    """
    result = facts.data_loading
    starts = result.causes.starts if result.causes else None
    if starts is None or result.multiprocess is False:
        return None
    return loader_card(
        facts,
        LoaderCard(
            id="epoch_starts",
            title=_TITLES[starts.respawned],
            why=phrase(_WHY[starts.respawned], each=ns(starts.wait_ns)),
            how=None if starts.respawned is False else "DataLoader(..., persistent_workers=True)",
            waited_ns=starts.exposed_ns,
            gain_ns=_gain_ns(facts, starts),
            formula=_FORMULA,
            best=Confidence.MEDIUM,
            why_confidence=phrase(
                agreeing("{number} (epoch begins|epochs begin) in these steps; longer epochs do so less often.",
                         starts.batches),
                number=count(starts.batches),
            ),
            steps=starts.steps,
            of_main=False,
        ),
    )  # fmt: skip


def _gain_ns(facts: Facts, starts: EpochStarts) -> int:
    """Workers that are kept save their start, and produce a first batch, too; what a GPU idles while the iterator is
    set up is a matter of the host's cards."""
    recorded = facts.data_loading.recorded
    if not starts.respawned or recorded is None or recorded.production_ns is None:
        return starts.exposed_ns
    produced = min(recorded.production_ns, starts.wait_ns) * starts.batches // len(facts.data_loading.steps)
    return max(0, starts.exposed_ns - produced) + (0 if facts.overview.has_device else starts.setup_ns)
