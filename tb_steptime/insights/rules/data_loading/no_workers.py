"""No workers: the training process produces each batch itself while the GPU waits."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import MARKS_AGREE, LoaderCard, loader_card, shares
from tb_steptime.text import ns, phrase


def no_workers(facts: Facts) -> Insight | None:
    """Fires when the loader that is waited for most runs in the training process, and its late batches are worth a
    card.

    Gain: the mean step less the predicted step with the recommended number of workers; without a prediction, the
    exposed wait for late batches.
    """
    result = facts.data_loading
    if result.multiprocess is not False or result.mean is None:
        return None
    number = result.curve.recommended if result.curve else None
    words = "The training process produces each batch itself, in {batch}; worker processes do so while it trains."
    return loader_card(
        facts,
        LoaderCard(
            id="no_workers",
            title=phrase("Load batches in worker processes"),
            why=phrase(words, batch=ns(result.batch_ns)),
            how=f"DataLoader(..., num_workers={'N' if number is None else number})",
            waited_ns=result.curve.gain_ns if result.curve else shares(facts).late_ns,
            best=Confidence.HIGH,
            why_confidence=MARKS_AGREE,
        ),
    )
