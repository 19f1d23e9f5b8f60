"""The number of dimensions along which the filters of convolutions and the windows of pooling move, 2 for images; and
whether the channels of images come last."""

from __future__ import annotations

from tb_steptime.metrics.flops.op_flops import shapes_of
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.nesting import innermost, self_times
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

#: Functions of torch that convolve. The number is that of the dimensions along which the filter moves.
_CONVOLVES = expression(r"aten::conv(?:_transpose)?(?P<dimensions>[123])d$")
#: The ops of all convolutions. Their first input has two more dimensions.
_ANY_CONVOLUTION = ("aten::convolution", "aten::convolution_backward")
#: Functions of torch that pool along one dimension. While gradients are recorded, they call those for images.
_POOLS_ALONG_ONE = expression(r"aten::(?:max|avg)_pool1d")
#: Functions that pool images. Both kinds of functions call the op max_pool2d_with_indices.
_POOLS_IMAGES = expression(r"aten::(?:max|avg)_pool2d$")
#: Number of dimensions along which they move, which are the last ones. A batch of images has two more.
_SPATIAL = 2
#: oneDNN's convolution. If the channels come first, it describes its result to torch by as_strided_. If they come last,
#: oneDNN writes into a tensor that torch has resized.
_OF_ONEDNN = expression(r"aten::mkldnn_convolution$")
_DESCRIBES, _RESIZES = (expression(rf"aten::{name}_$") for name in ("as_strided", "resize"))


def channels_last(trace: Trace, rows: Int64) -> bool | None:
    """Returns whether oneDNN's convolutions among these ops spend most of their time on images whose channels come
    last; None if there are none."""
    events = trace.events
    onednn_ops = rows[are_named(trace, rows, _OF_ONEDNN.match)]
    if not len(onednn_ops):
        return None
    described, resized = (
        is_in(onednn_ops, innermost(trace, onednn_ops, rows_named(trace, (Kind.CPU_OP,), inside.match)))
        for inside in (_DESCRIBES, _RESIZES)
    )
    last = resized & ~described
    return bool(2 * events.dur_ns[onednn_ops[last]].sum() > events.dur_ns[onednn_ops].sum())


def _dimensions(trace: Trace, rows: Int64) -> int | None:
    """Returns the number of dimensions of the convolutions with most of the time, according to the functions that call
    them, or else to their inputs; None if neither is recorded."""
    events, shapes = trace.events, trace.events.shapes
    called: dict[int, int] = {}
    shaped: dict[int, int] = {}
    for name in distinct_in(events.name[rows]).tolist():
        of_name = rows[events.name[rows] == name]
        function = _CONVOLVES.match(trace.strings[name])
        if function:
            number = int(function["dimensions"])
            called[number] = called.get(number, 0) + int(events.dur_ns[of_name].sum())
        elif shapes is not None and trace.strings[name] in _ANY_CONVOLUTION:
            for text in distinct_in(shapes[of_name[shapes[of_name] >= 0]]).tolist():
                number = len((shapes_of(trace.inputs[text]) or [()])[0]) - 2
                shaped[number] = shaped.get(number, 0) + int(events.dur_ns[of_name[shapes[of_name] == text]].sum())
    by_number = called or {number: time for number, time in shaped.items() if number > 0}
    return max(by_number, key=lambda number: by_number[number], default=None)


def _pooled_dimensions(trace: Trace, rows: Int64) -> int | None:
    """Returns the number of dimensions of most of the pooling's time in the forward pass; None if it is not recorded.
    It is that of the function that calls the pooling, or else of its input, which torch extends by a dimension of
    length 1 to pool along one."""
    shapes = trace.events.shapes
    forward = rows[~are_named(trace, rows, lambda name: name.endswith("_backward"))]
    times = self_times(trace, forward)
    flat = innermost(trace, rows_named(trace, (Kind.CPU_OP,), _POOLS_ALONG_ONE.match), forward) >= 0
    image = (innermost(trace, rows_named(trace, (Kind.CPU_OP,), _POOLS_IMAGES.match), forward) >= 0) & ~flat
    if shapes is not None:
        for text in distinct_in(shapes[forward[shapes[forward] >= 0]]).tolist():
            first = (shapes_of(trace.inputs[text]) or [()])[0]
            of_shape = (shapes[forward] == text) & ~flat & ~image
            if len(first) > _SPATIAL:
                (flat if 1 in first[-_SPATIAL:] or len(first) == 1 + _SPATIAL else image)[of_shape] = True
    times_of = {1: int(times[flat].sum()), 2: int(times[image].sum())}
    return max(times_of, key=lambda number: times_of[number]) if any(times_of.values()) else None


#: The kinds of ops that move along dimensions, each with the function that counts these dimensions.
DIMENSIONS = {"convolution": _dimensions, "pooling": _pooled_dimensions}
