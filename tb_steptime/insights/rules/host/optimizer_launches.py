"""The GPU waits for the launches of the optimizer: one for each tensor, or few that take long to prepare."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import late_ns, sites_of
from tb_steptime.insights.rules.gpu.kernel_gains import device_split
from tb_steptime.insights.rules.host.host_bound import OPTIMIZER
from tb_steptime.insights.rules.host.idle_cards import late_card
from tb_steptime.text import agreeing, code, count, ns, phrase

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
    title = "Let the optimizer take all tensors at once"
    return late_card(facts, "tiny_optimizer_kernels", title, text, OPTIMIZER, late_ns(facts.host, OPTIMIZER))


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
    return late_card(facts, "fused_optimizer", "Fuse the optimizer", text, OPTIMIZER, late)


def _short_kernels(facts: Facts) -> float:
    device = device_split(facts)
    return device.waste.optimizer.count if device else 0.0
