"""The GPU waits for the launches of the optimizer: one for each tensor, or few that take long to prepare."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_bound import LATE, OPTIMIZER
from tb_steptime.insights.host_gains import (
    PROFILING_SLOWS,
    HostCard,
    evidence_of_sites,
    host_card,
    late_ns,
    sites_of,
)
from tb_steptime.insights.kernel_gains import device_split
from tb_steptime.phrases import Phrase, agreeing, code, count, ns, phrase

#: An optimizer that takes all tensors at once launches a few dozen kernels at most.
MANY_KERNELS = 100


def tiny_optimizer_kernels(facts: Facts) -> Insight | None:
    """Fires when an optimizer launches many short kernels, and the GPU's wait for them is worth a card."""
    kernels = _short_kernels(facts)
    if kernels < MANY_KERNELS:
        return None
    text = phrase(
        "It launches {count} short kernels a step while the GPU is idle for {idle}: {foreach} or {fused}.",
        count=count(round(kernels)),
        idle=ns(late_ns(facts.host, OPTIMIZER)),
        foreach=code("foreach=True"),
        fused=code("fused=True"),
    )
    return _card(facts, "tiny_optimizer_kernels", "Let the optimizer take all tensors at once", text)


def fused_optimizer(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for an optimizer that takes all tensors at once already."""
    if _short_kernels(facts) >= MANY_KERNELS:
        return None
    late = late_ns(facts.host, OPTIMIZER)
    launches = sum(row.launches for row in sites_of(facts.host, OPTIMIZER))
    words = "Its {launches} (launch a step takes|launches a step take) the host {each} each to prepare, and the GPU "
    text = phrase(
        agreeing(words, round(launches)) + "waits: {fused}.",
        launches=count(round(launches)),
        each=ns(late / launches if launches else None),
        fused=code("fused=True"),
    )
    return _card(facts, "fused_optimizer", "Fuse the optimizer", text)


def _short_kernels(facts: Facts) -> float:
    device = device_split(facts)
    return device.waste.optimizer.count if device else 0.0


def _card(facts: Facts, id: str, title: str, text: Phrase) -> Insight | None:
    return host_card(
        facts,
        HostCard(
            id=id,
            title=phrase(title),
            text=text,
            gain_ns=late_ns(facts.host, OPTIMIZER),
            formula=LATE,
            best=Confidence.MEDIUM,
            why=PROFILING_SLOWS,
            evidence=evidence_of_sites(sites_of(facts.host, OPTIMIZER)),
        ),
    )
