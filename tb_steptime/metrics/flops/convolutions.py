"""What convolutions compute. The output size depends on settings, which are not among the shapes.

    conv2d   input [8, 3, 32, 32], weight [16, 3, 3, 3], stride 2, padding 1     ->  output [8, 16, 16, 16]

If the trace does not record the settings, the backward convolution of the same input and weight may show the size.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from tb_steptime.metrics.flops.calls import Call, Shape, Work, shapes_of


class Places(NamedTuple):
    """Where a forward convolution's settings stand among its inputs; None: it has no such setting, and 1 or 0
    applies."""

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

#: By forward op.
FORWARD: dict[str, Places] = {
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
BACKWARD: dict[str, tuple[int, int, int]] = {
    "aten::convolution_backward": (0, 1, 2),
    "aten::convolution_backward_overrideable": (0, 1, 2),
    "aten::cudnn_convolution_backward": (1, 0, 2),
    "aten::miopen_convolution_backward": (1, 0, 2),
}
#: Place of the input that says which gradients are requested: of input, weight and bias.
_MASK = {"aten::convolution_backward": 10, "aten::convolution_backward_overrideable": 9}


def forward(places: Places) -> Callable[[Call], Work | None]:
    """Work by stride, padding and dilation if these are recorded, or else by the size learned from a backward
    convolution."""

    def measure(call: Call) -> Work | None:
        source, weight = call.shapes[0], call.shapes[1]
        output = output_size(call, places) or (call.outputs or {}).get((source, weight))
        return None if output is None else _convolved(source, weight, output)

    return measure


def output_size(call: Call, places: Places) -> Shape | None:
    """[N, K, ...] of a forward convolution; None where a setting is not recorded."""
    source, weight = call.shapes[0], call.shapes[1]
    count = len(weight) - 2
    if count < 1 or len(source) != len(weight):
        return None
    transposed = places.always_transposed or _flag(call, places.transposed)
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
    """The padding of both sides together; "same" adds the amount that the window removes."""
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


def _flag(call: Call, place: int | None) -> bool | None:
    return False if place is None else call.flag(place)


def backward(op: str) -> Callable[[Call], Work | None]:
    """Work of the requested gradients: each takes as many operations as the forward convolution. If ops inside compute
    one gradient each, the op's own kernels compute one."""

    def measure(call: Call) -> Work | None:
        output, source, weight = (call.shapes[place] for place in BACKWARD[op])
        if not len(output) == len(source) == len(weight):
            return None
        each, gradients = _convolved(source, weight, output), _gradients(call, _MASK.get(op))
        moved = prod(output) + min(prod(source), prod(weight)) + max(prod(source), prod(weight))
        least = each.least_flops * (1 if gradients is None else gradients)
        count = next(known for known in (gradients, call.gradients, 2) if known is not None)
        return each._replace(flops=each.flops * count, least_flops=least, least_bytes=moved)

    return measure


def _gradients(call: Call, place: int | None) -> int | None:
    """How many of the gradients of input and weight are requested; None if not recorded."""
    mask = [] if place is None else call.setting(place).strip("[]").lower().replace(" ", "").split(",")
    return sum(each == "true" for each in mask[:2]) if len(mask) == 3 else None


def gradient_of_input(call: Call) -> Work | None:
    """Work by the gradient of the output and the weight, which 2021 recorded."""
    output, weight = call.shapes[0], call.shapes[1]
    flops = 2 * prod(output) * prod(weight[1:])
    return Work(flops, _fewest(flops, weight[2:]), None, weight[:2])


def convolution_output(op: str, shapes: str) -> tuple[tuple[Shape, Shape], Shape] | None:
    """((input, weight), output) as a backward convolution records them; None for other ops."""
    given, order = shapes_of(shapes), BACKWARD.get(op)
    if given is None or order is None or len(given) < len(order):
        return None
    output, source, weight = (given[place] for place in order)
    whole = len(output) == len(source) == len(weight) >= 3
    return ((source, weight), output) if whole else None


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
    """Operations of the most economical algorithm for a convolution with this window; 0: unknown."""
    return 0 if max(window, default=1) > 3 else flops // prod(2 if length > 1 else 1 for length in window)
