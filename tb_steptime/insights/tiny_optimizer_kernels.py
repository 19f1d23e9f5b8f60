"""Many tiny optimizer kernels: one for each tensor, with the GPU idle between them."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.kernel_gains import KernelCard, device_split, kernel_card
from tb_steptime.phrases import code, count, ns, phrase

#: An optimizer that takes all tensors at once launches a few dozen kernels at most.
MANY_KERNELS = 100


def tiny_optimizer_kernels(facts: Facts) -> Insight | None:
    """Fires when an optimizer launches many short kernels, and the GPU's idle time while it runs is worth a card."""
    device = device_split(facts)
    if device is None or device.waste.optimizer.count < MANY_KERNELS:
        return None
    found = device.waste.optimizer
    return kernel_card(
        facts,
        KernelCard(
            id="tiny_optimizer_kernels",
            title=phrase("Let the optimizer take all tensors at once"),
            later=phrase("Then let the optimizer take all tensors at once"),
            text=phrase(
                "It launches {count} short kernels a step while the GPU is idle for {idle}: {foreach} or {fused}.",
                count=count(round(found.count)),
                idle=ns(found.gain_ns),
                foreach=code("foreach=True"),
                fused=code("fused=True"),
            ),
            gain_ns=found.gain_ns,
            formula=phrase("Mean over the steps of the time in which an optimizer step runs and the GPU is idle."),
            why=phrase("Profiling itself slows the host, so the unprofiled wait is shorter."),
            view="overview",
        ),
    )
