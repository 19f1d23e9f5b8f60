"""How much an op computes and moves at least, from the shapes of its inputs: products, convolutions and attention.

    aten::addmm(bias [n], a [m, k], b [k, n])      2 m n k floating-point operations,
                                                   (m k + k n + m n) x size of an element moved

A multiply and an add count as two. Where a needed size is not recorded (the stride of a forward convolution), nothing
is said: None, never a guess. Which kernels did the work is measured by `usage`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod
from typing import NamedTuple

import msgspec

#: Bytes of an element by the type's name as the profiler writes it: C++ names, shorter or longer by version.
TYPE_BYTES = {
    "double": 8, "float": 4, "c10::Half": 2, "c10::BFloat16": 2, "long": 8, "long int": 8, "int": 4, "short": 2,
    "signed char": 1, "unsigned char": 1, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2fnuz": 1, "c10::complex<float>": 8, "c10::complex<double>": 16,
}  # fmt: skip

Shape = tuple[int, ...]


class Work(NamedTuple):
    """What one call of an op computes.

    flops         operations as written out; of a convolution's backward, both gradients
    least_flops   fewest that any kernel for it executes: Winograd's transforms halve a convolution's multiplications in
                  each dimension of a kernel of 2 or 3 (Lavin and Gray 2015, F(4, 3)), Fourier transforms save more on
                  larger ones (then 0), a causal mask leaves out what is above the diagonal, and a backward
                  may be asked for one gradient only
    least_bytes   inputs and outputs once each, in the recorded type; None where a size or the type is not recorded
    lengths       sizes that must fit the units of tensor cores: m, n, k; channels of a convolution; head size
    dtype         type of the first operand; empty where not recorded
    depthwise     a convolution whose channels do not mix: it multiplies no matrices
    """

    flops: int
    least_flops: int
    least_bytes: int | None
    lengths: Shape
    dtype: str = ""
    depthwise: bool = False


#: Output sizes of convolutions by the shapes of input and weight, learned from the backward ones of the same trace.
Outputs = Mapping[tuple[Shape, Shape], Shape]


def work_of(op: str, shapes: str, dtypes: str, outputs: Outputs | None = None) -> Work | None:
    """Of an op by its name and the compact JSON of its inputs' shapes and types; None where they do not tell.

    >>> work_of("aten::mm", "[[128,64],[64,32]]", '["float","float"]')
    Work(flops=524288, least_flops=524288, least_bytes=57344, lengths=(128, 32, 64), dtype='float', depthwise=False)
    """
    rule = _RULES.get(op)
    given = shapes_of(shapes)
    if rule is None or given is None:
        return None
    first, measure = rule
    operands = given[first:]
    types = _types_of(dtypes)
    dtype = types[first] if len(types) > first else ""
    try:
        work = measure(operands, outputs or {})
    except (IndexError, ValueError):
        return None
    if work is None or work.flops <= 0:
        return None
    size = TYPE_BYTES.get(dtype)
    moved = None if size is None or work.least_bytes is None else work.least_bytes * size
    return work._replace(least_bytes=moved, dtype=dtype)


def convolution_output(op: str, shapes: str) -> tuple[tuple[Shape, Shape], Shape] | None:
    """((input, weight), output) as a backward convolution records them; None for other ops."""
    given, order = shapes_of(shapes), _BACKWARD_ORDER.get(op)
    if given is None or order is None or len(given) < len(order):
        return None
    output, source, weight = (given[place] for place in order)
    whole = len(output) == len(source) == len(weight) >= 3
    return ((source, weight), output) if whole else None


@lru_cache(maxsize=4096)
def shapes_of(text: str) -> tuple[Shape, ...] | None:
    """One shape per input, () for what is no tensor; None for what is no list. Lists of tensors count as none."""
    try:
        inputs = msgspec.json.decode(text, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        return None
    return tuple(_shape(each) for each in inputs)


def _shape(text: msgspec.Raw) -> Shape:
    try:
        shape = msgspec.json.decode(text, type=tuple[int, ...])
    except msgspec.MsgspecError:
        return ()
    return shape if min(shape, default=0) >= 0 else ()


@lru_cache(maxsize=4096)
def _types_of(text: str) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(text or "[]", type=tuple[str, ...])
    except msgspec.MsgspecError:
        return ()


def _product(batch: int, m: int, n: int, k: int, elements: int | None = None) -> Work:
    flops = 2 * batch * m * n * k
    return Work(flops, flops, batch * (m * k + k * n + m * n) if elements is None else elements, (m, n, k))


def _mm(given: tuple[Shape, ...], _: Outputs) -> Work | None:
    (m, k), (k_too, n) = given[0], given[1]
    return _product(1, m, n, k) if k == k_too else None


def _bmm(given: tuple[Shape, ...], _: Outputs) -> Work | None:
    (batch, m, k), (batch_too, k_too, n) = given[0], given[1]
    return _product(batch, m, n, k) if (batch, k) == (batch_too, k_too) else None


def _linear(given: tuple[Shape, ...], _: Outputs) -> Work | None:
    rows, k = given[0][:-1], given[0][-1]
    n, k_too = given[1] if len(given[1]) > 1 else (1, *given[1])
    return _product(1, prod(rows), n, k) if k == k_too else None


def _matmul(given: tuple[Shape, ...], outputs: Outputs) -> Work | None:
    """Vectors become matrices of one row or column; batch dimensions are broadcast; a shared matrix is moved once."""
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


def _convolution(given: tuple[Shape, ...], outputs: Outputs) -> Work | None:
    """The output's size depends on stride and padding, which are not recorded among the shapes."""
    source, weight = given[0], given[1]
    output = outputs.get((source, weight))
    return None if output is None else _convolved(source, weight, output)


def _convolution_backward(order: tuple[int, int, int]) -> Callable[[tuple[Shape, ...], Outputs], Work | None]:
    def measure(given: tuple[Shape, ...], _: Outputs) -> Work | None:
        output, source, weight = (given[place] for place in order)
        if not len(output) == len(source) == len(weight):
            return None
        forward = _convolved(source, weight, output)
        moved = prod(output) + min(prod(source), prod(weight)) + max(prod(source), prod(weight))
        return forward._replace(flops=2 * forward.flops, least_bytes=moved)

    return measure


def _gradient_of_input(given: tuple[Shape, ...], _: Outputs) -> Work | None:
    """From the gradient of the output and the weight, as 2021 recorded it."""
    output, weight = given[0], given[1]
    flops = 2 * prod(output) * prod(weight[1:])
    return Work(flops, _fewest(flops, weight[2:]), None, weight[:2])


def _convolved(source: Shape, weight: Shape, output: Shape) -> Work:
    """output [N, K, ...], weight [K, C / groups, ...]: each element of the output sums C / groups x window products.

    A transposed convolution has the two in each other's place: its weight is [C, K / groups, ...].
    """
    spread = weight[0] == source[1] and weight[0] != output[1]
    summed, channels = (source, source[1]) if spread else (output, output[1])
    flops = 2 * prod(summed) * prod(weight[1:])
    depthwise = weight[1] == 1 and source[1] > 1 and channels >= source[1]
    moved = prod(source) + prod(weight) + prod(output)
    return Work(flops, _fewest(flops, weight[2:]), moved, (weight[0], weight[1]), "", depthwise)


def _fewest(flops: int, window: Shape) -> int:
    """Operations of the most thrifty algorithm for a convolution with this window; 0: nobody can tell."""
    return 0 if max(window, default=1) > 3 else flops // prod(2 if length > 1 else 1 for length in window)


def _attention(heads_last: bool, backward: bool) -> Callable[[tuple[Shape, ...], Outputs], Work | None]:
    """Forward: query x key, weights x value. Backward: the first again, and four products of gradients."""

    def measure(given: tuple[Shape, ...], _: Outputs) -> Work | None:
        query, key, value = given[0], given[1], given[2]
        if len(query) < 3 or not len(query) == len(key) == len(value) or (heads_last and len(query) != 4):
            return None
        if heads_last and any(len(shape) == 1 for shape in given[3:]):
            return None  # sequences of several lengths in one: their starts are an input, and their lengths unknown
        rows, columns = (query[1], key[1]) if heads_last else (query[-2], key[-2])
        batch, size, value_size = prod(query) // max(1, rows * query[-1]), query[-1], value[-1]
        each = 3 * size + 2 * value_size if backward else size + value_size
        moved = prod(query) + prod(key) + prod(value) + prod(query[:-1]) * value_size
        flops = 2 * batch * rows * columns * each
        return Work(flops, 2 * batch * _below_diagonal(rows, columns) * each, moved, (size, value_size))

    return measure


def _below_diagonal(rows: int, columns: int) -> int:
    """Pairs that a causal mask keeps: in row i the first i + 1 columns."""
    square = min(rows, columns)
    return square * (square + 1) // 2 + (rows - square) * columns


#: Where output (its gradient), input and weight stand among the inputs of a backward convolution.
_BACKWARD_ORDER = {
    "aten::convolution_backward": (0, 1, 2),
    "aten::convolution_backward_overrideable": (0, 1, 2),
    "aten::cudnn_convolution_backward": (1, 0, 2),
    "aten::miopen_convolution_backward": (1, 0, 2),
}

#: By op: the place of the first operand among its inputs, and what measures it from there on.
_RULES: dict[str, tuple[int, Callable[[tuple[Shape, ...], Outputs], Work | None]]] = {
    **{f"aten::{op}": (0, _mm) for op in ("mm", "_scaled_mm", "_int_mm")},
    **{f"aten::{op}": (1, _mm) for op in ("addmm", "addmm_", "_addmm_activation")},
    "aten::bmm": (0, _bmm),
    **{f"aten::{op}": (1, _bmm) for op in ("baddbmm", "baddbmm_")},
    "aten::linear": (0, _linear),
    "aten::matmul": (0, _matmul),
    **{
        f"aten::{op}": (0, _convolution)
        for op in (
            "conv1d", "conv2d", "conv3d", "convolution", "_convolution", "cudnn_convolution", "miopen_convolution",
            "cudnn_convolution_relu", "thnn_conv2d", "_slow_conv2d_forward", "_conv_depthwise2d", "conv_depthwise3d",
            "miopen_depthwise_convolution", "conv_transpose2d", "cudnn_convolution_transpose",
        )
    },
    **{op: (0, _convolution_backward(order)) for op, order in _BACKWARD_ORDER.items()},
    "aten::cudnn_convolution_backward_input": (1, _gradient_of_input),
    "aten::miopen_convolution_backward_input": (1, _gradient_of_input),
    **{
        f"aten::{op}": (0, _attention(heads_last=False, backward=False))
        for op in (
            "scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_fused_attention_overrideable", "_scaled_dot_product_flash_attention_for_cpu",
        )
    },
    **{
        f"aten::_scaled_dot_product_{kind}_attention_backward": (1, _attention(heads_last=False, backward=True))
        for kind in ("flash", "efficient", "cudnn")
    },
    **{
        f"aten::_{kind}_attention_forward": (0, _attention(heads_last=True, backward=False))
        for kind in ("flash", "efficient")
    },
    **{
        f"aten::_{kind}_attention_backward": (1, _attention(heads_last=True, backward=True))
        for kind in ("flash", "efficient")
    },
}  # fmt: skip

#: Ops whose arithmetic is known here.
OPS = frozenset(_RULES)
