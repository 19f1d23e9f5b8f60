"""How much an op computes and moves at least, from the shapes of its inputs: matrix products, convolutions and
attention.

    aten::addmm(bias [n], a [m, k], b [k, n])      2 m n k floating-point operations,
                                                   (m k + k n + m n) x size of an element moved

A multiply and an add count as two. If a needed size is not recorded (the stride of a forward convolution), the result
is None, never a guess. Which kernels did the work is measured by `usage`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from tb_steptime.metrics.flops.calls import (
    TYPE_BYTES,
    Call,
    Outputs,
    Shape,
    Work,
    settings_of,
    shapes_of,
    types_of,
)
from tb_steptime.metrics.flops.convolutions import BACKWARD, FORWARD, backward, forward, gradient_of_input


def work_of(
    op: str,
    shapes: str,
    dtypes: str,
    settings: str = "",
    outputs: Outputs | None = None,
    gradients: int | None = None,
) -> Work | None:
    """The work of an op by its name and the compact JSON of its inputs' shapes, types and settings; None if these do
    not suffice. gradients: as in `Call`.

    >>> work_of("aten::mm", "[[128,64],[64,32]]", '["float","float"]').flops
    524288
    """
    rule, given = _RULES.get(op), shapes_of(shapes)
    if rule is None or given is None:
        return None
    first, measure = rule
    types = types_of(dtypes)
    dtype = types[first] if len(types) > first else ""
    try:
        work = measure(Call(given, settings_of(settings), outputs, gradients))
    except (IndexError, ValueError):
        return None
    if work is None or work.flops <= 0:
        return None
    size = TYPE_BYTES.get(dtype)
    moved = None if size is None or work.least_bytes is None else work.least_bytes * size
    return work._replace(least_bytes=moved, dtype=dtype)


def _product(batch: int, m: int, n: int, k: int, elements: int | None = None) -> Work:
    flops = 2 * batch * m * n * k
    moved = batch * (m * k + k * n + m * n) if elements is None else elements
    return Work(flops, flops, moved, (m, n, k), batch=batch)


def _mm(first: int) -> Callable[[Call], Work | None]:
    def measure(call: Call) -> Work | None:
        (m, k), (k_too, n) = call.shapes[first], call.shapes[first + 1]
        return _product(1, m, n, k) if k == k_too else None

    return measure


def _bmm(first: int) -> Callable[[Call], Work | None]:
    def measure(call: Call) -> Work | None:
        (batch, m, k), (batch_too, k_too, n) = call.shapes[first], call.shapes[first + 1]
        return _product(batch, m, n, k) if (batch, k) == (batch_too, k_too) else None

    return measure


def _linear(call: Call) -> Work | None:
    given = call.shapes
    rows, k = given[0][:-1], given[0][-1]
    n, k_too = given[1] if len(given[1]) > 1 else (1, *given[1])
    return _product(1, prod(rows), n, k) if k == k_too else None


def _matmul(call: Call) -> Work | None:
    """Vectors become matrices of one row or column; batch dimensions are broadcast; a shared matrix is moved once."""
    given = call.shapes
    left = (1, *given[0]) if len(given[0]) == 1 else given[0]
    right = (*given[1], 1) if len(given[1]) == 1 else given[1]
    (m, k), (k_too, n) = left[-2:], right[-2:]
    batches = _broadcast(left[:-2], right[:-2])
    if k != k_too or batches is None:
        return None
    batch = prod(batches)
    return _product(batch, m, n, k, prod(left) + prod(right) + batch * m * n)


def _broadcast(left: Shape, right: Shape) -> Shape | None:
    width = max(len(left), len(right))
    pairs = list(zip((1,) * (width - len(left)) + left, (1,) * (width - len(right)) + right, strict=True))
    return tuple(max(a, b) for a, b in pairs) if all(a == b or 1 in (a, b) for a, b in pairs) else None


def _gradient_of_input(call: Call) -> Work | None:
    return gradient_of_input(call._replace(shapes=call.shapes[1:]))


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


#: By op: the place of the first operand among its inputs, and the function that computes the work of a call.
_RULES: dict[str, tuple[int, Callable[[Call], Work | None]]] = {
    **{f"aten::{op}": (0, _mm(0)) for op in ("mm", "_scaled_mm", "_int_mm")},
    **{f"aten::{op}": (1, _mm(1)) for op in ("addmm", "addmm_", "_addmm_activation")},
    "aten::bmm": (0, _bmm(0)),
    **{f"aten::{op}": (1, _bmm(1)) for op in ("baddbmm", "baddbmm_")},
    "aten::linear": (0, _linear),
    "aten::matmul": (0, _matmul),
    **{op: (0, forward(places)) for op, places in FORWARD.items()},
    **{op: (0, backward(op)) for op in BACKWARD},
    "aten::cudnn_convolution_backward_input": (1, _gradient_of_input),
    "aten::miopen_convolution_backward_input": (1, _gradient_of_input),
    **{op: (kind.first, attention(op)) for op, kind in ATTENTION.items()},
}

#: Ops whose arithmetic is computed here.
OPS = frozenset(_RULES)
