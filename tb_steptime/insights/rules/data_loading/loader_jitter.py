"""Loader jitter: a few batches come late, the others in time."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import LoaderCard, loader_card, shares
from tb_steptime.metrics.data_loading.scaling.worker_curve import DEEP_PREFETCH
from tb_steptime.text import agreeing, count, ns, phrase

FORMULA = phrase("Mean over the steps of what these waits cost beyond the usual one.")


def loader_jitter(facts: Facts) -> Insight | None:
    """Fires when rare long waits, beyond the usual one, are worth a card.

    Gain: what these waits cost beyond the usual one, mean over the steps.
    """
    result = facts.data_loading
    jitter = result.causes.jitter if result.causes else None
    if jitter is None:
        return None
    prefetch = result.recorded.main_loader.prefetch if result.recorded else None
    deep = (prefetch or 0) >= DEEP_PREFETCH
    words = "{number} (batch comes|batches come) late: a wait of {long}, of the others {typical}."
    return loader_card(
        facts,
        LoaderCard(
            id="loader_jitter",
            title=phrase("Make the slowest batches faster") if deep else phrase("Prefetch more batches"),
            why=phrase(
                agreeing(words, jitter.long_count),
                number=count(jitter.long_count),
                long=ns(jitter.long_ns),
                typical=ns(jitter.typical_ns),
            ),
            how=None if deep else f"DataLoader(..., prefetch_factor={DEEP_PREFETCH})",
            waited_ns=shares(facts).jitter_ns,
            formula=FORMULA,
            best=Confidence.MEDIUM,
            why_confidence=phrase("Seen in few steps only, so another span may have more or fewer of them."),
            steps=jitter.steps,
        ),
    )
