"""Loader overhead: the training process takes long to take over a batch that lies ready."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.data_loading.loader_waits import loader_card, shares
from tb_steptime.text import code, ns, phrase


def loader_overhead(facts: Facts) -> Insight | None:
    """Fires when what each wait lasts, though its batch lies ready, is worth a card."""
    overhead = facts.data_loading.overhead
    if overhead is None or overhead.ns is None:
        return None
    moved = phrase("a thread does it with {pin}", pin=code("pin_memory=True"))
    fewer = phrase("return fewer, larger tensors from {collate}", collate=code("collate_fn"))
    pinned = facts.data_loading.copy is not None and facts.data_loading.copy.pageable is False
    remedy = moved if facts.overview.has_device and not pinned else fewer
    return loader_card(
        facts,
        "loader_overhead",
        phrase("Make batches cheaper to take over"),
        phrase(
            "The training process unpickles and maps each batch itself, {time} though it lies ready: "
            + remedy.template
            + ".",
            time=ns(overhead.ns),
            **remedy.values,
        ),
        shares(facts).overhead_ns,
        phrase("Told from waits that are alike whatever the step does, or from batches that lay ready."),
        Confidence.HIGH if overhead.told_by == "recorder" else Confidence.MEDIUM,
    )
