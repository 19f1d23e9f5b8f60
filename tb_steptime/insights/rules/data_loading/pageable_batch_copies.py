"""Pageable batch copies: the batch goes to the GPU while no kernel runs, because pageable memory forbids to overlap."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import HostCard, host_card
from tb_steptime.text import nbytes, ns, phrase


def pageable_batch_copies(facts: Facts) -> Insight | None:
    """Fires when copies of batches from pageable memory run alone for long enough. The copy's time is no idle time of
    the GPU, so that no other card claims it.

    Gain: the time of the batches' copies while no kernel runs, mean over the steps.
    """
    copy = facts.data_loading.copy
    if copy is None or not copy.pageable:
        return None
    return host_card(
        facts,
        HostCard(
            id="pageable_batch_copies",
            title=phrase("Copy the next batch while kernels run"),
            why=phrase(
                "{bytes} a step come from pageable memory, and for {alone} of the copy no kernel runs.",
                bytes=nbytes(copy.bytes),
                alone=ns(copy.alone_ns),
            ),
            how="DataLoader(..., pin_memory=True)\nbatch.to(device, non_blocking=True)  # on a stream of its own",
            gain_ns=copy.alone_ns,
            formula=phrase("Mean over the steps of the batches' copies during which no kernel runs."),
            best=Confidence.MEDIUM,
            why_confidence=phrase(
                "The copies are recorded; whether kernels are there to run meanwhile depends on the script."
            ),
            colour="copy",
            part="memcpy",
            view="data_loading",
        ),
    )
