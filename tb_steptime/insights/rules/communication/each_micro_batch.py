"""DistributedDataParallel exchanges gradients after each micro-batch, though the optimizer steps after several."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.communication.exchange_cards import early_ns, exchange_card, rows
from tb_steptime.text import count, ns, phrase

_NO_SYNC = """for number, batch in enumerate(micro_batches, 1):
    with contextlib.nullcontext() if number == len(micro_batches) else model.no_sync():
        loss_of(model(batch)).backward()  # gradients add up; only the last pass exchanges them"""


def each_micro_batch(facts: Facts) -> Insight | None:
    """Fires when DistributedDataParallel exchanges the same gradients after several backward passes before one step of
    an optimizer.

    Similar pattern: several models with an optimizer for all: passes that exchange other sizes are not counted, and
    models of the same size look alike. A model that is called several times before one backward pass exchanges once.
    Losses with a backward pass each are micro-batches too.

    Needs: CPU activity with the ranges of DistributedDataParallel and of the optimizer, and what launched collectives.

    Jobs: training with DistributedDataParallel and gradient accumulation.

    Gain: exposed time of the exchanges before the last of each optimizer step, less est. waits for other ranks, which
    the last one keeps. At most what the host leaves.

    Left out: that without an exchange a pass needs no copies into buckets.
    """
    found = facts.overview.communication
    if found is None or found.passes < 2:
        return None
    early = sum(early_ns(facts, row) for row in rows(facts))
    return exchange_card(
        facts,
        id="each_micro_batch",
        title=phrase("Exchange gradients once per optimizer step"),
        later=phrase("After the first fix: exchange gradients once per optimizer step"),
        why=phrase(
            "Before one optimizer step, {passes} backward passes exchange the same gradients: for {early} a step "
            "only those run that the last could replace.",
            passes=count(found.passes),
            early=ns(early),
        ),
        how=_NO_SYNC,
        gain_ns=early,
        formula=phrase(
            "Exposed time of the exchanges before the last of each optimizer step, less est. waits. At most what "
            "the host leaves."
        ),
        best=Confidence.MEDIUM,
        why_confidence=phrase("The trace does not tell one model from two of the same size."),
        evidence=found.examples,
    )
