"""What the ops of fused attention compute, and whether their arguments show that the mask is causal."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from tb_steptime.metrics.flops.calls import Call, Work


class Attention(NamedTuple):
    """Where an attention op has its inputs.

    first        place of the query among the inputs
    causal       place of the switch of the causal mask
    heads_last   the sizes are [batch, sequence, heads, size], not [batch, heads, sequence, size]
    """

    first: int
    causal: int
    heads_last: bool = False
    backward: bool = False


#: By name of the op.
ATTENTION: dict[str, Attention] = {
    "aten::scaled_dot_product_attention": Attention(0, 5),
    "aten::_scaled_dot_product_flash_attention": Attention(0, 4),
    "aten::_scaled_dot_product_flash_attention_for_cpu": Attention(0, 4),
    "aten::_scaled_dot_product_efficient_attention": Attention(0, 6),
    "aten::_scaled_dot_product_cudnn_attention": Attention(0, 6),
    "aten::_scaled_dot_product_fused_attention_overrideable": Attention(0, 5),
    "aten::_scaled_dot_product_flash_attention_backward": Attention(1, 11, backward=True),
    "aten::_scaled_dot_product_efficient_attention_backward": Attention(1, 11, backward=True),
    "aten::_scaled_dot_product_cudnn_attention_backward": Attention(1, 14, backward=True),
    "aten::_flash_attention_forward": Attention(0, 8, heads_last=True),
    "aten::_efficient_attention_forward": Attention(0, 9, heads_last=True),
    "aten::_flash_attention_backward": Attention(1, 11, heads_last=True, backward=True),
    "aten::_efficient_attention_backward": Attention(1, 14, heads_last=True, backward=True),
    "flash_attn::_flash_attn_forward": Attention(0, 5, heads_last=True),
    "flash_attn::_flash_attn_backward": Attention(1, 11, heads_last=True, backward=True),
}

#: custom_mask_type of the memory-efficient ops: causal from the top left or from the bottom right.
_MASK_TYPES = {"0": False, "1": True, "2": True}


def attention(op: str) -> Callable[[Call], Work | None]:
    """Forward: query x key, weights x value. Backward: query x key again, and four products of gradients."""
    kind = ATTENTION[op]

    def measure(call: Call) -> Work | None:
        query, key, value, *rest = call.shapes[kind.first :]
        if len(query) < 3 or not len(query) == len(key) == len(value) or (kind.heads_last and len(query) != 4):
            return None
        if kind.heads_last and any(len(shape) == 1 for shape in rest):
            return None  # several sequences in one: their starts are an input, and their lengths unknown
        rows, columns = (query[1], key[1]) if kind.heads_last else (query[-2], key[-2])
        batch, size, value_size = prod(query) // max(1, rows * query[-1]), query[-1], value[-1]
        each = 3 * size + 2 * value_size if kind.backward else size + value_size
        moved = prod(query) + prod(key) + prod(value) + prod(query[:-1]) * value_size
        causal, pairs = _causal(call, kind), rows * columns
        least = pairs if causal is False else _below_diagonal(rows, columns)
        return Work(2 * batch * pairs * each, 2 * batch * least * each, moved, (size, value_size), causal=causal)

    return measure


def _causal(call: Call, kind: Attention) -> bool | None:
    if kind.causal in (9, 14) and kind.heads_last:
        return _MASK_TYPES.get(call.setting(kind.causal))
    return call.flag(kind.causal)


def _below_diagonal(rows: int, columns: int) -> int:
    """Pairs that a causal mask keeps: the first i + 1 columns of row i, counting from 0."""
    square = min(rows, columns)
    return square * (square + 1) // 2 + (rows - square) * columns
