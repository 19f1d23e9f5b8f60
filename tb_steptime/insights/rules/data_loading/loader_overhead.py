"""Loader overhead: the training process takes long to receive a batch that is ready."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import LoaderCard, loader_card, shares
from tb_steptime.text import ns, phrase


def loader_overhead(facts: Facts) -> Insight | None:
    """Fires when what each wait lasts, though its batch is ready, is worth a card.

    Gain: the exposed wait that passes though the batch is ready, mean over the steps.
    """
    result = facts.data_loading
    overhead = result.causes.overhead if result.causes else None
    if overhead is None or overhead.ns is None:
        return None
    pinned = result.copy is not None and result.copy.pageable is False
    by_thread = facts.overview.has_device and not pinned
    return loader_card(
        facts,
        LoaderCard(
            id="loader_overhead",
            title=phrase("Receive batches on a thread") if by_thread else phrase("Return fewer, larger tensors"),
            why=phrase(
                "The training process unpickles and maps each ready batch itself: {time}.", time=ns(overhead.ns)
            ),
            how="DataLoader(..., pin_memory=True)" if by_thread else "collate_fn",
            waited_ns=shares(facts).overhead_ns,
            best=Confidence.HIGH if overhead.source == "recorder" else Confidence.MEDIUM,
            why_confidence=phrase("From waits for ready batches, or waits that are alike whatever the step does."),
        ),
    )
