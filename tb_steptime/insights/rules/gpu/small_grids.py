"""Small grids and tails: kernels with too few blocks for the GPU, as a whole or in their last wave."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.wording.kernels import mostly
from tb_steptime.insights.wording.vendors import processors
from tb_steptime.text import fraction, ns, phrase

#: A larger batch comes first, because compilers fuse only elementwise work and do not make products larger.
_LARGER_BATCH = "DataLoader(..., batch_size=2 * batch_size)  # more blocks for each launch, if memory allows"
_TRAINED_BATCH = "batch_size = 2 * batch_size  # more blocks for each launch, if memory allows"
_SEVERAL_INPUTS = "x = torch.stack(inputs)  # several inputs in one call: more blocks for each launch, if memory allows"


def small_grids(facts: Facts) -> Insight | None:
    """Fires when the empty SMs of small grids and of small last waves add up to a card.

    Similar pattern: kernels that loop over tiles and fill the GPU with few blocks, and those that only wait, are known
    by their names; two thirds of the places filled are no fault. A kernel that memory limits, such as a product of a
    matrix and a vector, gains nothing from a full last wave. A batch norm with one block for each channel gets no more
    blocks from a larger batch, and does not count.

    Needs: launch shapes of kernels, which NVIDIA traces hold.

    Jobs: those with an NVIDIA GPU; kernels of the optimizer do not grow with the batch and do not count.

    Gain: sum over these kernels of time x the share of the GPU's places for blocks that they leave empty; never more
    than the time that the memory bandwidth leaves of it.

    Left out: whether the larger kernel is as fast for each block.
    """
    waste = facts.waste
    faults = [each for each in (waste.small_grids, waste.small_tails) if each] if waste else []
    if not any(fault.count for fault in faults):
        return None
    total_ns, gain_ns = sum(fault.total_ns for fault in faults), sum(fault.gain_ns for fault in faults)
    site = max(faults, key=lambda fault: fault.gain_ns).site
    words = "Kernels of {time} a step fill {filled} of the GPU with blocks"
    return kernel_card(
        facts,
        id="small_grids",
        title=phrase("Increase the work per kernel (larger batch or fusion)"),
        later=phrase("After the first fix: increase the work per kernel"),
        why=mostly(phrase(words, time=ns(total_ns), filled=fraction(1 - gain_ns / total_ns)), site),
        how=_how(facts),
        gain_ns=gain_ns,
        formula=phrase(
            "Sum over these kernels of time x the share of the GPU that their blocks leave empty: "
            "{processors} without a block, or the rest of a small last wave. At most the time that the memory "
            "bandwidth leaves.",
            processors=processors(facts.job.vendor),
        ),
        why_confidence=phrase("Occupancy is an estimate from the launch, and a larger batch changes the kernels too."),
        view="gpu",
        site=site,
    )


def _how(facts: Facts) -> str:
    if facts.data_loading.unknown is None:
        return _LARGER_BATCH
    return _TRAINED_BATCH if facts.job.purpose == "training" else _SEVERAL_INPUTS
