"""Pageable batch copies: the batch goes to the GPU while no kernel runs, because pageable memory forbids to overlap."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import HostCard, host_card
from tb_steptime.text import code, nbytes, ns, phrase


def pageable_batch_copies(facts: Facts) -> Insight | None:
    """Fires when copies of batches from pageable memory run alone for long enough. The copy's time is no idle time of
    the GPU, so that nobody else claims it."""
    copy = facts.data_loading.copy
    if copy is None or not copy.pageable:
        return None
    return host_card(
        facts,
        HostCard(
            id="pageable_batch_copies",
            title=phrase("Copy the next batch beside the kernels"),
            why=phrase(
                "{bytes} a step come from pageable memory, and for {alone} no kernel runs: {pin}, {flag} and a stream "
                "of its own.",
                bytes=nbytes(copy.bytes),
                alone=ns(copy.alone_ns),
                pin=code("pin_memory=True"),
                flag=code("non_blocking=True"),
            ),
            gain_ns=copy.alone_ns,
            formula=phrase("Mean over the steps of the batches' copies beside which no kernel runs."),
            best=Confidence.MEDIUM,
            why_confidence=phrase(
                "The copies are recorded; whether kernels are there to run beside them depends on the script."
            ),
            colour="copy",
            part="memcpy",
            view="data_loading",
        ),
    )
