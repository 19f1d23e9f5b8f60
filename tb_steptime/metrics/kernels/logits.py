"""Passes over the logits of a loss with many classes, such as the tokens of a vocabulary.

    aten::mm              [8192,4096] x [4096,128256]     makes the logits: a product, which counts nowhere here
    aten::_to_copy        [8192,128256]                   to FP32
    aten::_log_softmax    [8192,128256]                   each op reads and writes a tensor of 4.2 GB
    aten::nll_loss_forward, ..., and the same backward

A loss that computes the logits in chunks stores none of these tensors. According to
torch/nn/modules/linear_cross_entropy_options.py it is faster if there are at least as many rows as features, and more
classes than features.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import Shape, shapes_of
from tb_steptime.metrics.gpu.activities import KernelSite, find_products, kernel_site
from tb_steptime.metrics.gpu.utilization import kernel_rows_in_window
from tb_steptime.metrics.kernels.stream_kernels import begin_in
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.metrics.tensor_cores.usage import kernel_answers
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import Steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in, values_at

#: Minimum number of classes, which only a vocabulary has. A classifier of images has 1,000 or 21,841.
MANY_CLASSES = 30_000
FP32_BYTES = 4


class LogitsLoss(msgspec.Struct, frozen=True):
    """The largest logits of a loss whose targets are class numbers, made by a product with no more features than rows.

    total_ns   time of the kernels, except products, of ops on tensors of that size; mean per step
    bytes      bytes of such a tensor in FP32
    site       where the kernels with the most time come from
    """

    rows: int
    classes: int
    total_ns: float
    bytes: int
    site: KernelSite


def logits_loss(trace: Trace, device: int, steps: Steps) -> LogitsLoss | None:
    """Returns the passes over the logits; None without recorded shapes, and if no loss has many classes."""
    size = _largest(trace)
    if size is None:
        return None
    rows = kernel_rows_in_window(trace, device)
    other = kernel_answers(trace).where(lambda answer: answer.role == "other")[rows]
    rows = rows[other & begin_in(trace, steps, rows)]
    rows = rows[_are_on_logits(trace, rows, size)]
    if not len(rows):
        return None
    event = trace.kernels.event[rows]
    dur, names = steady_activity_ns(trace, event), trace.events.name[event]
    leading = np.bincount(names, dur)[names].argmax()
    site = kernel_site(trace, rows[names == names[leading]])
    return LogitsLoss(*size, int(dur.sum()) / len(steps.steps), FP32_BYTES * math.prod(size), site)


def _largest(trace: Trace) -> tuple[int, int] | None:
    """Returns the rows and classes of the largest logits of a loss."""
    losses = rows_named(trace, (Kind.CPU_OP,), lambda name: name == "aten::nll_loss_forward")
    if trace.events.shapes is None or not len(losses):
        return None
    places = trace.events.shapes[losses]
    shapes = [_shapes(trace, each) for each in distinct_in(places[places >= 0]).tolist()]
    sizes = [
        (shape[0][0], shape[0][1]) for shape in shapes if shape and len(shape[0]) == 2 and shape[0][1] >= MANY_CLASSES
    ]
    size = max(sizes, key=math.prod, default=None)
    return size if size is not None and 0 < _features(trace, *size) <= size[0] else None


def _features(trace: Trace, rows: int, classes: int) -> int:
    """Returns the number of features from which a product makes such logits; 0 if there is no such product. Labels may
    be shifted, so that the last row of each text has no loss."""
    lengths = [each.work.lengths for each in find_products(trace).distinct if each.work and each.work.batch == 1]
    made = [length[2] for length in lengths if len(length) == 3 and length[0] >= rows and length[1] == classes]
    return max(made, default=0)


def _are_on_logits(trace: Trace, rows: Int64, size: tuple[int, int]) -> Bool:
    """Returns which kernels are of ops with an input as large as the logits, whose last dimension is the classes."""
    assert trace.events.shapes is not None
    place = values_at(trace.events.shapes, kernel_origins(trace).op[rows])
    large = [
        each
        for each in distinct_in(place[place >= 0]).tolist()
        if any(shape[-1] == size[1] and math.prod(shape) >= math.prod(size) for shape in _shapes(trace, each))
    ]
    return is_in(place, large)


def _shapes(trace: Trace, place: int) -> list[Shape]:
    """Returns the shapes of the inputs that are tensors, of a row of the table of inputs."""
    return [each for each in shapes_of(trace.inputs[place]) or () if each]
