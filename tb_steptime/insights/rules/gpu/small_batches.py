"""Kernels with too little work for the GPU, which a larger batch would give them.

small grids   kernels with too few blocks for the GPU, as a whole or in their last wave
one row       W W W W W W W W  x        every product reads all of its weights: the memory sets the pace
16 rows       W W W W W W W W  xxxx     the same bytes, for 16 times as much output
"""

from __future__ import annotations

from tb_steptime.insights.base import Insight, medium
from tb_steptime.insights.cards import card
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.wording.gpu import mostly
from tb_steptime.insights.wording.terms import processors
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import count, fraction, ns, phrase

#: A larger batch comes first, because compilers fuse only elementwise work and do not make products larger.
_LARGER_BATCH = "DataLoader(..., batch_size=2 * batch_size)  # more blocks for each launch, if memory allows"
_TRAINED_BATCH = "batch_size = 2 * batch_size  # more blocks for each launch, if memory allows"
_SEVERAL_INPUTS = "x = torch.stack(inputs)  # several inputs in one call: more blocks for each launch, if memory allows"


def small_grids(facts: Facts) -> Insight | None:
    """Fires when the empty SMs of small grids and of small last waves add up to a card.

    Similar pattern: kernels that loop over tiles and fill the GPU with few blocks, and those that only wait, are known
    by their names; two thirds of the places filled are no fault. A kernel that memory limits, such as a product of a
    matrix and a vector, gains nothing from a full last wave. A batch norm with one block for each channel gets no more
    blocks from a larger batch, nor does the gradient of weights, which sums over the batch, nor do most decompositions
    of matrices and solvers, which work through one matrix after another: these do not count.

    Needs: launch shapes of kernels, which NVIDIA traces hold.

    Jobs: those with an NVIDIA GPU; kernels of the optimizer do not grow with the batch and do not count.

    Gain: sum over these kernels of time x the share of the GPU's places for blocks that they leave empty; never more
    than the time that the memory bandwidth leaves of it.

    Left out: whether the larger kernel is as fast for each block.
    """
    faults = [each for each in (facts.waste.small_grids, facts.waste.small_tails) if each]
    if not any(fault.count for fault in faults):
        return None
    total_ns, gain_ns = sum(fault.total_ns for fault in faults), sum(fault.gain_ns for fault in faults)
    site = max(faults, key=lambda fault: fault.gain_ns).site
    template = "Kernels of {time} a step fill {filled} of the GPU with blocks"
    return kernel_card(
        facts,
        id="small_grids",
        title=phrase("Increase the work per kernel (larger batch or fusion)"),
        later=phrase("After the first fix: increase the work per kernel"),
        why=mostly(phrase(template, time=ns(total_ns), filled=fraction(1 - gain_ns / total_ns)), site),
        how=_LARGER_BATCH
        if facts.data_loading.unknown is None
        else _TRAINED_BATCH
        if facts.trains
        else _SEVERAL_INPUTS,
        gain_ns=gain_ns,
        formula=phrase(
            "Sum over these kernels of time x the share of the GPU that their blocks leave empty: "
            "{processors} without a block, or the rest of a small last wave. At most the time that the memory "
            "bandwidth leaves.",
            processors=processors(facts.job.vendor),
        ),
        doubt="Occupancy is an estimate from the launch, and a larger batch changes the kernels too.",
        site=site,
    )


#: Minimum share of kernel time: with less, other kernels are the better place to begin.
MOSTLY = 0.5
#: Minimum mean length of these kernels: a shorter one may take as long as it takes to begin and to end.
LEAST_NS = 20_000
_MORE_INPUTS = """\
# more inputs in a batch: the weights are read once for all of them
# or weights in 8 or 4 bits: half or a quarter of the bytes"""

_OF_DECODER = """\
output = model.generate(**several_prompts)  # the weights are read once for all of them
# or weights in 8 or 4 bits: half or a quarter of the bytes
# or speculative decoding: several tokens in a pass"""

_OF_SERVER = """\
# more requests at a time: the weights are read once for all of them
# or --quantization fp8: half of the bytes; checkpoints in 4 bits: a quarter"""


def matrix_vectors(facts: Facts) -> Insight | None:
    """Fires when the GPU sets the pace of inference and spends half of its time in products of a matrix and a vector.

    Similar pattern: attention that is written out reads keys and values by such products, which a larger batch does not
    share: where ops of attention launch them, or nothing shows what does and no fused attention runs, there is no card.
    Products of several rows are other kernels. A layer with a single output, and a solver, multiply a matrix of many
    rows by a vector: a larger batch takes longer there. Shapes tell them apart, and without shapes the card needs
    attention or a server, which show a decoder. Short products may take no longer than any kernel does. Weights that
    are stored in fewer bits have kernels of other names.

    Needs: kernels with their names. Shapes of the inputs, where neither attention nor a server is recorded.

    Jobs: inference with a GPU, such as a language model that decodes one sequence.

    Gain: none is computed: a larger batch takes as long for more results, and what fewer bits cost in quality is not
    recorded.

    Left out: that requests may not come together.
    """
    vectors = facts.waste.vectors
    if vectors is None or not facts.infers or facts.bound is not Bound.GPU:
        return None
    if vectors.share < MOSTLY or vectors.total_ns < LEAST_NS * vectors.count:
        return None
    fused = facts.fuses_attention
    if 2 * vectors.attention_ns >= vectors.total_ns or (2 * vectors.named_ns < vectors.total_ns and not fused):
        return None
    decoder = fused or vectors.attention_ns > 0 or facts.job.server is not None
    if not decoder if vectors.one_row is None else vectors.one_row < MOSTLY:
        return None
    return card(
        facts,
        id="matrix_vectors",
        title=phrase("Increase the batch size, or quantize the weights"),
        why=phrase(
            "Products of a matrix and a single vector take {share} of the kernel time, {count} a step of {each}: "
            "reading the weights sets their pace.",
            share=fraction(vectors.share),
            count=count(round(vectors.count)),
            each=ns(round(vectors.total_ns / vectors.count)),
        ),
        formula="Not computed: a larger batch has more results in about the same time, and what fewer bits cost in "
        "quality is not recorded.",
        certainty=medium("The names of the kernels say what they compute."),
        view="gpu",
        part="kernel",
        how=_OF_SERVER if facts.job.server is not None else _OF_DECODER if decoder else _MORE_INPUTS,
        about_ns=int(vectors.total_ns),
    )
