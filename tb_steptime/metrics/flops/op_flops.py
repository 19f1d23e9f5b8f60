"""How much an op computes and moves at least, from the shapes of its inputs. There are rules for matrix products,
convolutions and attention.

    aten::addmm(bias [n], a [m, k], b [k, n])      2 m n k floating-point operations,
                                                   (m k + k n + m n) x size of an element moved

A multiply and an add count as two operations. If a needed size is not recorded, as the stride of a forward convolution,
the result is None and never a guess. Which kernels did the work is measured by `usage`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod

import msgspec
from msgspec.structs import replace

# A trace records a call of an op as the shapes, types and settings of its inputs. What the call computes follows from
# these.
#
# aten::conv2d   shapes    [[8,3,32,32],[16,3,3,3],[16],[],[],[],[]]
#                settings  ["","","","[2, 2]","[1, 1]","[1, 1]","1"]     what is no tensor, as text

#: Bytes of an element by the type's name as the profiler writes it. These are C++ names, whose length depends on the
#: version.
TYPE_BYTES = {
    "double": 8, "float": 4, "c10::Half": 2, "c10::BFloat16": 2, "long": 8, "long int": 8, "int": 4, "short": 2,
    "signed char": 1, "unsigned char": 1, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2fnuz": 1, "c10::complex<float>": 8, "c10::complex<double>": 16,
    "bool": 1, "short int": 2,
}  # fmt: skip

Shape = tuple[int, ...]

#: Output sizes of convolutions by the shapes of input and weight, as the backward convolutions of the same trace show
#: them.
Outputs = Mapping[tuple[Shape, Shape], Shape]


#: Number of sizes of a matrix product: m, n and k. Convolutions and attention have fewer.
_LENGTHS_OF_PRODUCT = 3


class Work(msgspec.Struct, frozen=True):
    """What one call of an op computes.

    flops         operations as written out, including those above the diagonal of causal attention; for a convolution's
                  backward, those of the requested gradients (both, if not recorded)
    least_flops   fewest that any kernel for it executes: Winograd's transforms halve a convolution's multiplications in
                  each dimension of a kernel of 2 or 3 (Lavin and Gray 2015, F(4, 3)), Fourier transforms save more on
                  larger ones (then 0), a causal mask leaves out what is above the diagonal, and only one gradient may
                  be requested from a backward
    least_bytes   inputs and outputs once each, in the recorded type; None if a size or the type is not recorded
    lengths       sizes that must fit the units of tensor cores: m, n, k; channels of a convolution; head size
    dtype         type of the first operand; empty if not recorded
    depthwise     a convolution whose channels do not mix: it multiplies no matrices
    batch         products of matrices in one call of bmm and similar ops; 1 for all others
    causal        of attention, whether the mask is causal; None if that is not recorded, and for all others
    """

    flops: int
    least_flops: int
    least_bytes: int | None
    lengths: Shape
    dtype: str = ""
    depthwise: bool = False
    batch: int = 1
    causal: bool | None = None

    @property
    def rows(self) -> int:
        """Number of rows of the first matrix of a matrix product; 0 for convolutions and attention."""
        return self.lengths[0] if len(self.lengths) == _LENGTHS_OF_PRODUCT else 0


class Call(msgspec.Struct, frozen=True):
    """One call of an op. shapes, settings: one entry per input; () and "" if it has none, or it is not recorded.
    outputs: as in `Outputs`.

    gradients: for a convolution's backward, how many gradients the ops inside compute; None if no op inside shows it.
    """

    shapes: tuple[Shape, ...]
    settings: tuple[str, ...] = ()
    outputs: Outputs | None = None
    gradients: int | None = None

    def sizes(self, place: int, count: int) -> Shape | None:
        """Returns a setting of integers, one for each of `count` dimensions; None if not recorded.

        >>> Call((), ("", "[2]")).sizes(1, 2)
        (2, 2)
        """
        try:
            values = msgspec.json.decode(self.setting(place), type=tuple[int, ...])
        except msgspec.MsgspecError:
            return None
        if len(values) == 1:
            return values * count
        return values if len(values) == count else None

    def flag(self, place: int) -> bool | None:
        """Returns a setting that is on or off; None if it is not recorded."""
        return {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}.get(
            self.setting(place)
        )

    def setting(self, place: int) -> str:
        return self.settings[place] if place < len(self.settings) else ""


@lru_cache(maxsize=4096)
def shapes_of(text: str) -> tuple[Shape, ...] | None:
    """Returns one shape per input, () for an input that is not a tensor; None if the text is not a list. A list of
    tensors counts as no tensor."""
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
def types_of(text: str) -> tuple[str, ...]:
    """Returns the name of each input's type; empty if the text is not a list of names."""
    try:
        return msgspec.json.decode(text or "[]", type=tuple[str, ...])
    except msgspec.MsgspecError:
        return ()


@lru_cache(maxsize=4096)
def settings_of(text: str) -> tuple[str, ...]:
    """Returns the setting of each input, "" for a tensor; empty if the text is not a list of texts."""
    return types_of(text)


# What a convolution computes depends on its output size, and that on settings, which are not among the shapes.
#
#     conv2d   input [8, 3, 32, 32], weight [16, 3, 3, 3], stride 2, padding 1     ->  output [8, 16, 16, 16]
#
# If the trace does not record the settings, the backward convolution of the same input and weight may show the size.


class Places(msgspec.Struct, frozen=True):
    """Where a forward convolution's settings are among its inputs. If a place is None, the op has no such setting, and
    1 or 0 applies."""

    stride: int
    padding: int
    dilation: int | None = None
    transposed: int | None = None
    output_padding: int | None = None
    groups: int | None = None
    always_transposed: bool = False


_CONVND = Places(3, 4, 5)
_CONVOLUTION = Places(3, 4, 5, 6, 7, 8)
_MIOPEN = Places(4, 3, 5)
_CUDNN = Places(3, 2, 4)
_SLOW = Places(4, 5)
_DEPTHWISE = Places(4, 5, 6)

#: The places of the settings, by forward op.
FORWARD_CONVOLUTIONS: dict[str, Places] = {
    **dict.fromkeys(("aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::cudnn_convolution_relu"), _CONVND),
    **dict.fromkeys(("aten::convolution", "aten::_convolution"), _CONVOLUTION),
    **dict.fromkeys(
        ("aten::miopen_convolution", "aten::miopen_depthwise_convolution", "aten::mkldnn_convolution"), _MIOPEN
    ),
    "aten::cudnn_convolution": _CUDNN,
    **dict.fromkeys(("aten::thnn_conv2d", "aten::_slow_conv2d_forward"), _SLOW),
    **dict.fromkeys(("aten::_conv_depthwise2d", "aten::conv_depthwise3d"), _DEPTHWISE),
    **dict.fromkeys(
        ("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"),
        Places(3, 4, 7, None, 5, 6, always_transposed=True),
    ),
    "aten::cudnn_convolution_transpose": Places(4, 2, 5, None, 3, 6, always_transposed=True),
}

#: Places of output (its gradient), input and weight among the inputs of a backward convolution.
BACKWARD_CONVOLUTIONS: dict[str, tuple[int, int, int]] = {
    "aten::convolution_backward": (0, 1, 2),
    "aten::convolution_backward_overrideable": (0, 1, 2),
    "aten::cudnn_convolution_backward": (1, 0, 2),
    "aten::miopen_convolution_backward": (1, 0, 2),
}
#: Place of the input that says which gradients are requested: of input, weight and bias.
_MASK = {"aten::convolution_backward": 10, "aten::convolution_backward_overrideable": 9}


def forward_convolution(places: Places) -> Callable[[Call], Work | None]:
    """Returns a function that computes the work from stride, padding and dilation if these are recorded, or else from
    the output size that a backward convolution shows."""

    def measure(call: Call) -> Work | None:
        source, weight = call.shapes[0], call.shapes[1]
        output = output_size(call, places) or (call.outputs or {}).get((source, weight))
        return None if output is None else _convolved(source, weight, output)

    return measure


def output_size(call: Call, places: Places) -> Shape | None:
    """Returns the output size of a forward convolution, [N, K, ...]; None if a setting is not recorded."""
    source, weight = call.shapes[0], call.shapes[1]
    count = len(weight) - 2
    if count < 1 or len(source) != len(weight):
        return None
    transposed = places.always_transposed or (places.transposed is not None and call.flag(places.transposed))
    stride, padding = call.sizes(places.stride, count), _padding(call, places, count)
    dilation, more = (_sizes(call, place, count, fill) for place, fill in
                      ((places.dilation, 1), (places.output_padding, 0)))  # fmt: skip
    if stride is None or padding is None or dilation is None or more is None or transposed is None:
        return None
    window = [d * (k - 1) + 1 for d, k in zip(dilation, weight[2:], strict=True)]
    lengths = zip(source[2:], stride, padding, window, more, strict=True)
    if transposed:
        groups = int(call.setting(places.groups)) if places.groups is not None and call.setting(places.groups) else 1
        return source[0], weight[1] * groups, *((n - 1) * s - p + w + o for n, s, p, w, o in lengths)
    return source[0], weight[0], *((n + p - w) // s + 1 for n, s, p, w, _ in lengths)


def _padding(call: Call, places: Places, count: int) -> Shape | None:
    """Returns the padding of both sides together, which for "same" is the amount that the window removes; None if not
    recorded."""
    word = call.setting(places.padding).strip("\"'")
    if word == "valid":
        return (0,) * count
    if word == "same":
        dilation = _sizes(call, places.dilation, count, 1)
        return dilation and tuple(d * (k - 1) for d, k in zip(dilation, call.shapes[1][2:], strict=True))
    sides = call.sizes(places.padding, count)
    return None if sides is None else tuple(2 * side for side in sides)


def _sizes(call: Call, place: int | None, count: int, fill: int) -> Shape | None:
    return (fill,) * count if place is None else call.sizes(place, count)


def backward_convolution(op: str) -> Callable[[Call], Work | None]:
    """Returns a function that computes the work of the requested gradients. Each takes as many operations as the
    forward convolution. If ops inside compute one gradient each, the op's own kernels compute one."""

    def measure(call: Call) -> Work | None:
        output, source, weight = (call.shapes[place] for place in BACKWARD_CONVOLUTIONS[op])
        if not len(output) == len(source) == len(weight):
            return None
        each = _convolved(source, weight, output)
        gradients = _gradients(call, _MASK.get(op))
        moved = prod(output) + min(prod(source), prod(weight)) + max(prod(source), prod(weight))
        least = each.least_flops * (1 if gradients is None else gradients)
        count = next(number for number in (gradients, call.gradients, 2) if number is not None)
        return replace(each, flops=each.flops * count, least_flops=least, least_bytes=moved)

    return measure


def _gradients(call: Call, place: int | None) -> int | None:
    """Returns how many of the gradients of input and weight are requested; None if this is not recorded."""
    mask = [] if place is None else call.setting(place).strip("[]").lower().replace(" ", "").split(",")
    return sum(each == "true" for each in mask[:2]) if len(mask) == 3 else None


def gradient_of_input(call: Call) -> Work | None:
    """Returns the work of an op that computes the gradient of the input from the gradient of the output and the weight.
    PyTorch of 2021 and before recorded such ops."""
    output, weight = call.shapes[0], call.shapes[1]
    flops = 2 * prod(output) * prod(weight[1:])
    return Work(flops, _fewest(flops, weight[2:]), None, weight[:2])


def convolution_output(op: str, shapes: str) -> tuple[tuple[Shape, Shape], Shape] | None:
    """Returns ((input, weight), output) as a backward convolution records them; None for other ops."""
    sizes, order = shapes_of(shapes), BACKWARD_CONVOLUTIONS.get(op)
    if sizes is None or order is None or len(sizes) < len(order):
        return None
    output, source, weight = (sizes[place] for place in order)
    whole = len(output) == len(source) == len(weight) >= 3
    return ((source, weight), output) if whole else None


def _convolved(source: Shape, weight: Shape, output: Shape) -> Work:
    """Returns the work of a convolution with output [N, K, ...] and weight [K, C / groups, ...]. Each element of the
    output sums C / groups x window products.

    A transposed convolution has input and output in each other's place; its weight is [C, K / groups, ...].
    """
    spread = weight[0] == source[1] and weight[0] != output[1]
    summed, channels = (source, source[1]) if spread else (output, output[1])
    flops = 2 * prod(summed) * prod(weight[1:])
    depthwise = weight[1] == 1 and source[1] > 1 and channels >= source[1]
    moved = prod(source) + prod(weight) + prod(output)
    return Work(flops, _fewest(flops, weight[2:]), moved, (weight[0], weight[1]), "", depthwise)


def _fewest(flops: int, window: Shape) -> int:
    """Returns the number of operations of the most economical algorithm for a convolution with this window; 0 if it is
    unknown."""
    return 0 if max(window, default=1) > 3 else flops // prod(2 if length > 1 else 1 for length in window)


def work_of(
    op: str,
    shapes: str,
    dtypes: str,
    settings: str = "",
    outputs: Outputs | None = None,
    gradients: int | None = None,
) -> Work | None:
    """Returns the work of an op by its name and the compact JSON of its inputs' shapes, types and settings; None if
    these do not suffice. gradients: as in `Call`.

    >>> work_of("aten::mm", "[[128,64],[64,32]]", '["float","float"]').flops
    524288
    """
    rule, sizes = _RULES.get(op), shapes_of(shapes)
    if rule is None or sizes is None:
        return None
    first, measure = rule
    types = types_of(dtypes)
    dtype = types[first] if len(types) > first else ""
    try:
        work = measure(Call(sizes, settings_of(settings), outputs, gradients))
    except (IndexError, ValueError):
        return None
    if work is None or work.flops <= 0:
        return None
    size = TYPE_BYTES.get(dtype)
    moved = None if size is None or work.least_bytes is None else work.least_bytes * size
    return replace(work, least_bytes=moved, dtype=dtype)


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
    shapes = call.shapes
    rows, k = shapes[0][:-1], shapes[0][-1]
    n, k_too = shapes[1] if len(shapes[1]) > 1 else (1, *shapes[1])
    return _product(1, prod(rows), n, k) if k == k_too else None


def _matmul(call: Call) -> Work | None:
    """Returns the work of a product of vectors or matrices. Vectors become matrices of one row or column, batch
    dimensions are broadcast, and a shared matrix is moved once."""
    shapes = call.shapes
    left = (1, *shapes[0]) if len(shapes[0]) == 1 else shapes[0]
    right = (*shapes[1], 1) if len(shapes[1]) == 1 else shapes[1]
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
    return gradient_of_input(replace(call, shapes=call.shapes[1:]))


class Attention(msgspec.Struct, frozen=True):
    """Where an attention op has its inputs.

    first        place of the query among the inputs
    causal       place of the switch of the causal mask
    heads_last   the sizes are [batch, sequence, heads, size], not [batch, heads, sequence, size]
    """

    first: int
    causal: int
    heads_last: bool = False
    backward: bool = False


#: The places of the inputs, by name of the op.
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
    """Returns a function that computes the work of an attention op. Forward, these are the products of query and key
    and of weights and value. Backward, they are query x key again, and four products of gradients."""
    kind = ATTENTION[op]

    def measure(call: Call) -> Work | None:
        query, key, value, *rest = call.shapes[kind.first :]
        if len(query) < 3 or not len(query) == len(key) == len(value) or (kind.heads_last and len(query) != 4):
            return None
        if kind.heads_last and any(len(shape) == 1 for shape in rest):
            return None  # several sequences in one; their starts are an input, so their lengths are unknown
        rows, columns = (query[1], key[1]) if kind.heads_last else (query[-2], key[-2])
        batch = prod(query) // max(1, rows * query[-1])
        size = query[-1]
        value_size = value[-1]
        each = 3 * size + 2 * value_size if kind.backward else size + value_size
        moved = prod(query) + prod(key) + prod(value) + prod(query[:-1]) * value_size
        causal = _causal(call, kind)
        pairs = rows * columns
        square = min(rows, columns)
        # A causal mask keeps the first i + 1 columns of row i, counting from 0.
        least = pairs if causal is False else square * (square + 1) // 2 + (rows - square) * columns
        return Work(2 * batch * pairs * each, 2 * batch * least * each, moved, (size, value_size), causal=causal)

    return measure


def _causal(call: Call, kind: Attention) -> bool | None:
    if kind.causal in (9, 14) and kind.heads_last:
        return _MASK_TYPES.get(call.setting(kind.causal))
    return call.flag(kind.causal)


#: By op: the place of the first operand among its inputs, and the function that computes the work of a call.
_RULES: dict[str, tuple[int, Callable[[Call], Work | None]]] = {
    **{f"aten::{op}": (0, _mm(0)) for op in ("mm", "_scaled_mm", "_int_mm")},
    **{f"aten::{op}": (1, _mm(1)) for op in ("addmm", "addmm_", "_addmm_activation")},
    "aten::bmm": (0, _bmm(0)),
    **{f"aten::{op}": (1, _bmm(1)) for op in ("baddbmm", "baddbmm_")},
    "aten::linear": (0, _linear),
    "aten::matmul": (0, _matmul),
    **{op: (0, forward_convolution(places)) for op, places in FORWARD_CONVOLUTIONS.items()},
    **{op: (0, backward_convolution(op)) for op in BACKWARD_CONVOLUTIONS},
    "aten::cudnn_convolution_backward_input": (1, _gradient_of_input),
    "aten::miopen_convolution_backward_input": (1, _gradient_of_input),
    **{op: (kind.first, attention(op)) for op, kind in ATTENTION.items()},
}

#: The ops whose arithmetic is computed here.
OPS = frozenset(_RULES)
