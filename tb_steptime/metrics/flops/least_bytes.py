"""The least bytes that memory-bound ops move, and the few operations that they do, by a formula for each kind of op.

    aten::gelu [512, 4096] bf16             4 MB read, 4 MB written, one operation per element
    aten::native_layer_norm [512, 4096]     the same, plus reading weight and bias, 8 operations per element

Inputs are read once and outputs written once, whatever a kernel does; everything beyond that depends on caches and
choices. Sizes are those of the shapes. An expanded tensor holds less than its shape shows, so the true least may be
smaller.

    kind            read                          written                 operations
    elementwise     its inputs                    their common shape      1 an element of the result
    fill            nothing                       the tensor              none
    copy            the source                    the tensor              none
    softmax         its inputs                    their shape             5 an element, backward 4
    norm            input, weight, bias           the input's shape       8 an element, backward 12
    reduction       its inputs                    left out: small         1 an element of the input
    pooling         the input                     windows, and places     1 an element of the input
    embedding       the rows asked for, places    the rows                none

There is no formula for lists of tensors (`_foreach_*`, `cat`, fused optimizers), because the profiler does not write
their types.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import msgspec

from tb_steptime.metrics.flops.op_flops import TYPE_BYTES, Call, Shape, Work, settings_of, shapes_of, types_of


class CallTraffic(msgspec.Struct, frozen=True):
    """Bytes and operations of one call."""

    bytes: int
    flops: int


class Tensors(msgspec.Struct, frozen=True):
    """The inputs of a call. sizes: bytes per element of each input, 0 if it is not a tensor."""

    call: Call
    sizes: tuple[int, ...]

    def read(self, *places: int) -> int:
        """Returns the bytes of the inputs at these places, as far as these exist."""
        shapes = self.call.shapes
        return sum(prod(shapes[i]) * self.sizes[i] for i in places if i < len(shapes) and i < len(self.sizes))


Formula = Callable[[Tensors], CallTraffic | None]


def moved_by(op: str, shapes: str, dtypes: str, settings: str = "") -> Work | None:
    """Returns the bytes that an op moves, by its name and the compact JSON of its inputs; None if there is no formula,
    or shapes or types are not recorded.

    >>> moved_by("aten::add", "[[128,64],[128,64],[]]", '["float","float","Scalar"]').least_bytes
    98304
    """
    formula, given = _FORMULAS.get(op), shapes_of(shapes)
    types = types_of(dtypes)
    if formula is None or not given or not types:
        return None
    main = next((place for place, shape in enumerate(given) if shape and place < len(types)), 0)
    if types[main] not in TYPE_BYTES:
        return None
    sizes = tuple(TYPE_BYTES.get(each, 0) for each in types)
    try:
        moved = formula(Tensors(Call(given, settings_of(settings)), sizes))
    except (IndexError, ValueError):
        return None
    return None if moved is None or moved.bytes <= 0 else Work(moved.flops, 0, moved.bytes, (), types[main])


def _elementwise(arity: int, operations: int = 1, out_bytes: int | None = None, in_place: bool = False) -> Formula:
    """Returns the formula for an op that uses the first `arity` inputs. The result has their common shape, and the
    widest of their types, or in place the type of the first one."""

    def measure(tensors: Tensors) -> CallTraffic | None:
        inputs = tensors.call.shapes[:arity]
        shape = _common([each for each in inputs if each])
        if shape is None:
            return None
        widest = max((size for each, size in zip(inputs, tensors.sizes, strict=False) if each), default=0)
        elements = prod(shape)
        new_size = widest if out_bytes is None else out_bytes
        written = elements * (tensors.sizes[0] if in_place else new_size)
        return CallTraffic(tensors.read(*range(arity)) + written, operations * elements)

    return measure


def _common(shapes: list[Shape]) -> Shape | None:
    """Returns the shape to which these are broadcast; None if they do not fit together."""
    width = max(map(len, shapes), default=0)
    padded = [(1,) * (width - len(shape)) + shape for shape in shapes]
    longest = tuple(max(lengths) for lengths in zip(*padded, strict=True))
    fit = all(length in (1, most) for shape in padded for length, most in zip(shape, longest, strict=True))
    return longest if fit and shapes else None


def _reading(*read: int, counted: tuple[int, ...] = ()) -> Formula:
    """Returns the formula for an op that moves the tensors at these places, with one operation for each element of the
    largest of those that are counted."""

    def measure(tensors: Tensors) -> CallTraffic | None:
        return CallTraffic(tensors.read(*read), max((prod(tensors.call.shapes[i]) for i in counted), default=0))

    return measure


def _norm(*read: int, operations: int = 8) -> Formula:
    """Returns the formula for a norm, whose result has the shape of the first input."""

    def measure(tensors: Tensors) -> CallTraffic | None:
        elements = prod(tensors.call.shapes[0])
        return CallTraffic(tensors.read(*read, 0), operations * elements) if tensors.call.shapes[0] else None

    return measure


def _max_pool(tensors: Tensors) -> CallTraffic | None:
    """Returns the traffic of max pooling, which also writes the indices of the maxima, 8 bytes each; None
    if a setting is not recorded, or the size of the output is rounded up."""
    call = tensors.call
    source, count = call.shapes[0], 2
    window, stride, padding, dilation = (call.sizes(place, count) for place in (1, 2, 3, 4))
    if window is None or padding is None or dilation is None or call.flag(5) is not False:
        return None
    lengths = zip(source[-count:], window, stride or window, padding, dilation, strict=True)
    results = prod(source[:-count]) * prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in lengths)
    return CallTraffic(tensors.read(0) + results * (tensors.sizes[0] + 8), prod(source))


def _rows(places: int) -> Formula:
    """Returns the formula for an op that reads and writes rows of a table, and reads their indices."""

    def measure(tensors: Tensors) -> CallTraffic | None:
        table, indices = tensors.call.shapes[0], tensors.call.shapes[places]
        along_first = places == 1 or tensors.call.setting(1) == "0"
        if not table or not indices or not along_first:
            return None
        return CallTraffic(2 * prod(indices) * prod(table[1:]) * tensors.sizes[0] + tensors.read(places), 0)

    return measure


def _embedding_backward(tensors: Tensors) -> CallTraffic | None:
    gradient, rows = tensors.call.shapes[0], int(tensors.call.setting(2))
    return CallTraffic(tensors.read(0, 1) + rows * gradient[-1] * tensors.sizes[0], prod(gradient))


def _each(arity: int, names: str, operations: int = 1, out_bytes: int | None = None) -> dict[str, Formula]:
    """Returns the formulas of elementwise ops of these names, and of their in-place variants."""
    plain, in_place = _elementwise(arity, operations, out_bytes), _elementwise(arity, operations, in_place=True)
    return {f"aten::{name}": plain for name in names.split()} | {f"aten::{name}_": in_place for name in names.split()}


def _named(formula: Formula, names: str, ending: str = "") -> dict[str, Formula]:
    return {f"aten::{name}{ending}": formula for name in names.split()}


_FORMULAS: dict[str, Formula] = {
    **_each(
        1,
        "abs neg exp log sqrt rsqrt sin cos tanh sigmoid relu gelu silu mish hardswish hardtanh hardsigmoid leaky_relu "
        "elu softplus clamp clamp_min clamp_max reciprocal floor ceil round sign erf square log1p exp2 tril triu",
    ),
    **_each(1, "bitwise_not logical_not isnan isinf isfinite", out_bytes=1),
    **_each(
        2,
        "add sub rsub mul div floor_divide remainder fmod pow maximum minimum masked_fill bitwise_and bitwise_or "
        "gelu_backward silu_backward threshold_backward sigmoid_backward tanh_backward hardtanh_backward "
        "leaky_relu_backward elu_backward softplus_backward mish_backward hardswish_backward native_dropout_backward",
    ),
    **_each(2, "eq ne lt le gt ge logical_and logical_or", out_bytes=1),
    **_each(3, "where addcmul addcdiv lerp"),
    **_named(_reading(0), "fill zero normal uniform bernoulli random exponential", "_"),
    "aten::copy_": _reading(0, 1),
    **_named(_elementwise(1, 5), "_softmax _log_softmax"),
    **_named(_elementwise(2, 4), "_softmax_backward_data _log_softmax_backward_data"),
    "aten::native_layer_norm": _norm(0, 2, 3),
    "aten::native_layer_norm_backward": _norm(0, 1, 3, 4, 5, operations=12),
    "aten::_fused_rms_norm": _norm(0, 2, operations=4),
    "aten::_fused_rms_norm_backward": _norm(0, 1, 3, 4, operations=8),
    "aten::native_group_norm": _norm(0, 1, 2),
    "aten::native_group_norm_backward": _norm(0, 1, 2, 3, 4, operations=12),
    **dict.fromkeys(
        ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm"), _norm(0, 1, 2, 3, 4)
    ),
    **dict.fromkeys(
        ("aten::native_batch_norm_backward", "aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward"),
        _norm(0, 1, 2, operations=12),
    ),
    **_named(
        _reading(0, counted=(0,)),
        "sum mean amax amin max min argmax argmin all any norm linalg_vector_norm var std prod",
    ),
    "aten::mse_loss": _reading(0, 1, counted=(0, 1)),
    "aten::max_pool2d_with_indices": _max_pool,
    # The gradient of the result and the places of the maxima are read; the gradient of the input is written.
    **_named(_reading(0, 1, 7, counted=(0,)), "max_pool2d_with_indices_backward avg_pool2d_backward"),
    "aten::embedding": _rows(1),
    "aten::index_select": _rows(2),
    "aten::embedding_dense_backward": _embedding_backward,
}

#: The ops whose least bytes are computed here.
MEMORY_OPS = frozenset(_FORMULAS)
