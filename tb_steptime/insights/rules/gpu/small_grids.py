"""Small grids and tails: kernels with too few blocks for the GPU, as a whole or in their last wave."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import KernelCard, device_split, kernel_card
from tb_steptime.metrics.kernels.waste import Waste
from tb_steptime.metrics.tensor_cores.name_rules import function_name
from tb_steptime.text import Phrase, ns, phrase, text


def small_grids(facts: Facts) -> Insight | None:
    """Fires when the empty SMs of small grids and of small last waves add up to a card.

    Similar pattern: kernels that loop over tiles and fill the GPU with few blocks: those are known by their names.

    Needs: launch shapes of kernels, which NVIDIA traces hold.

    Jobs: those with an NVIDIA GPU.

    Gain: sum over these kernels of time x the share of the GPU's places for blocks that they leave empty.

    Left out: whether the larger kernel is as fast for each block.
    """
    device = device_split(facts)
    faults = [each for each in (device.waste.small_grids, device.waste.small_tails) if each] if device else []
    if not any(fault.count for fault in faults):
        return None
    return kernel_card(
        facts,
        KernelCard(
            id="small_grids",
            title=phrase("Increase the work per kernel (larger batch or fusion)"),
            later=phrase("After the first fix: increase the work per kernel"),
            why=_why(max(faults, key=lambda fault: fault.gain_ns), sum(fault.total_ns for fault in faults)),
            gain_ns=sum(fault.gain_ns for fault in faults),
            formula=phrase(
                "Sum over these kernels of time x the share of the GPU that their blocks leave empty: "
                "multiprocessors (SMs) without a block, or the rest of a small last wave."
            ),
            why_confidence=phrase(
                "Occupancy is an estimate from the launch, and a larger batch changes the kernels too."
            ),
            view="gpu",
        ),
    )


def _why(leading: Waste, total_ns: float) -> Phrase:
    return phrase(
        "Kernels of {time} a step have too few blocks to fill the GPU, above all {kernel}.",
        time=ns(total_ns),
        kernel=text(function_name(leading.name or "")),
    )
