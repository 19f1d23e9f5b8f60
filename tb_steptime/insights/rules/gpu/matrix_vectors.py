"""Inference in which products of a matrix and a single vector take most of the GPU's time, as decoding one sequence.

one row     W W W W W W W W  x        every product reads all of its weights: the memory sets the pace
16 rows     W W W W W W W W  xxxx     the same bytes, for 16 times as much output
"""

from __future__ import annotations

from tb_steptime.analyses.tensor_cores import KernelRow
from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import Facts, confidence
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import count, fraction, ns, phrase
from tb_steptime.text.patterns import expression

#: Minimum share of kernel time: with less, other kernels are the better place to begin.
MOSTLY = 0.5
#: Minimum mean length of these kernels: a shorter one may take as long as it takes to begin and to end.
LEAST_NS = 20_000
#: Short names of these kernels where weights have 16 bits or more.
_PRODUCT = expression(r"^gemv (?:f16|bf16|f32)\b")
_FUSED_ATTENTION = expression(r"(?i)attn|attention|fmha|flash")
#: Ops whose products have no weights: those of attention.
_OF_ATTENTION = ("aten::bmm", "aten::baddbmm")
_HOW = """\
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
    split = facts.kernel_split
    if split is None or facts.job.purpose != "inference" or facts.bound is not Bound.GPU:
        return None
    products = [row for row in split.kernels if _PRODUCT.search(row.short)]
    share, total_ns = sum(row.share for row in products), sum(row.total_ns for row in products)
    number = sum(row.count for row in products)
    if share < MOSTLY or total_ns < LEAST_NS * number:
        return None
    named_ns = sum(row.split.kernel_ns for row in split.ops if row.op is not None)
    attention_ns = sum(row.split.kernel_ns for row in split.ops if row.op in _OF_ATTENTION)
    fused = any(_FUSED_ATTENTION.search(row.short) for row in split.kernels)
    if 2 * attention_ns >= total_ns or (2 * named_ns < total_ns and not fused):
        return None
    decoder, one_row = fused or attention_ns > 0 or facts.job.server is not None, _one_row(products)
    if not decoder if one_row is None else one_row < MOSTLY:
        return None
    steps = len(facts.overview.steps)
    level, why = confidence(facts, Confidence.MEDIUM, phrase("The names of the kernels say what they compute."))
    return Insight(
        id="matrix_vectors",
        title=phrase("Increase the batch size, or quantize the weights"),
        why=phrase(
            "Products of a matrix and a single vector take {share} of the kernel time, {count} a step of {each}: "
            "reading the weights sets their pace.",
            share=fraction(share),
            count=count(round(number / steps)),
            each=ns(round(total_ns / number)),
        ),
        how=_OF_SERVER if facts.job.server is not None else _OF_DECODER if decoder else _HOW,
        gain_formula=phrase(
            "Not computed: a larger batch has more results in about the same time, and what fewer bits cost in quality "
            "is not recorded."
        ),
        confidence=level,
        why_confidence=why,
        view="gpu",
        colour="kernel",
        part="kernel",
        about_ns=total_ns // steps,
        instead=phrase("gain not computed"),
    )


def _one_row(products: list[KernelRow]) -> float | None:
    """Returns the part of the products' time in products with one row of input; None if the shapes are not recorded for
    most of it."""
    known = [(row.total_ns, row.one_row) for row in products if row.one_row is not None]
    known_ns = sum(total_ns for total_ns, _ in known)
    if 2 * known_ns <= sum(row.total_ns for row in products):
        return None
    return sum(total_ns * share for total_ns, share in known) / known_ns
