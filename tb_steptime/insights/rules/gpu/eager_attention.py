"""Eager attention: softmax, scale and mask written to memory between two products, where one kernel does all of it."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.wording.kernels import site_phrase
from tb_steptime.metrics.kernels.fusion import EagerAttention
from tb_steptime.text import closed, filled, joined, ns, phrase
from tb_steptime.text.patterns import expression

#: From this share of softmaxes on that torch's own attention op writes to memory, the card is about its inputs.
MOSTLY = 0.5

#: Ops of a softmax that masks what comes later, so that no tensor holds the mask. A mask tensor would keep torch's
#: op from flash attention.
_CAUSAL = expression(r"(?i)upper_?triang|causal")
#: Ops of Megatron-LM and of projects that took them over.
_MEGATRON = expression(r"^Scaled\w*Softmax")
_OF_MEGATRON = "# Megatron-LM: --attention-backend flash, in versions without it --use-flash-attn"
_OF_HUGGING_FACE = '# Hugging Face: Model.from_pretrained(name, attn_implementation="sdpa")'
#: Code that shows why torch's attention op found no fused kernel.
EXPLAIN = """with torch.nn.attention.sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
    model(batch)  # warns why no fused kernel takes these inputs"""


def eager_attention(facts: Facts) -> Insight | None:
    """Fires when what attention writes to memory between its products is worth a card.

    Similar pattern: a classifier's softmax has no product of many matrices on both sides; fused attention has no
    softmax kernel at all; a softmax between products of other sizes is something else, where sizes are recorded.

    Needs: GPU kernels and the ops that launched them; with `record_shapes=True` the sizes are compared.

    Jobs: training and inference, eager or compiled; kernels of captured graphs have no op and are not judged.

    Gain: time a step of the kernels between the products that work on the weights: softmax, scale, mask, dropout and
    conversions.

    Left out: the products, which fused kernels mostly speed up too, and the gradients of a bias that some cannot give.
    """
    found = facts.waste.attention if facts.waste else None
    if found is None:
        return None
    by_torch, words = found.written_out >= MOSTLY, "Attention writes its weights out: softmax takes {softmax} a step"
    times = {"softmax": ns(found.softmax_ns), "other": ns(found.other_ns)}
    words += ", scale, mask and the like {other}" if found.other_ns else ""
    title = "Let attention use a fused kernel" if by_torch else "Use fused attention (scaled_dot_product_attention)"
    return kernel_card(
        facts,
        id="eager_attention",
        title=phrase(title),
        later=phrase("After the first fix: use fused attention"),
        why=closed(joined(filled(words, times), site_phrase(found.site), by=": ")),  # names last: they are shortened
        how=EXPLAIN if by_torch else fused_code(found),
        gain_ns=found.total_ns,
        formula=phrase(
            "Time a step of the softmax, scale, mask, dropout and conversion kernels between the products of "
            "attention: fused, they never write the weights to memory."
        ),
        why_confidence=phrase(
            "What else uses the weights of attention, such as a model that returns them, keeps them in memory."
        ),
        view="gpu",
        site=found.site,
    )


def fused_code(found: EagerAttention) -> str:
    """Returns the code for models that implement attention by hand, by what their softmax shows of them."""
    op = found.site.op or ""
    mask = "is_causal=True" if _CAUSAL.search(op) else "attn_mask=mask"
    code = f"torch.nn.functional.scaled_dot_product_attention(q, k, v, {mask})"
    if _MEGATRON.match(op):
        return f"{code}\n{_OF_MEGATRON}"
    return f"{code}\n{_OF_HUGGING_FACE}" if not op or op.startswith("aten::") else code
