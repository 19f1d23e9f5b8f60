"""The kind of each kernel in the sequence of its stream, as needed for fusing: a product, a softmax, elementwise work.

    stream 7    bmm   mul   add   softmax   dropout   bmm   cat   add
    kind        P     E     E     S         E         P     C     E

The op takes precedence over the kernel's name.
"""

from __future__ import annotations

import enum
import re

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import kernel_rows_in_window
from tb_steptime.metrics.kernel_names.work_kinds import (
    CONCATENATION_KERNEL,
    ELEMENTWISE_KERNEL,
    FIXED_NORM_KERNEL,
    GENERATED_KERNEL,
    GENERATED_SOFTMAX_KERNEL,
    NORM_TRANSFORM_KERNEL,
    REDUCTION_KERNEL,
    SOFTMAX_KERNEL,
)
from tb_steptime.metrics.phases.assignment import PHASES, kernel_phases
from tb_steptime.metrics.tensor_cores.usage import kernel_answers
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Bool, Int64, Kind, UInt8, distinct_in, is_in


class KernelKind(enum.IntEnum):
    """OTHER ends every chain."""

    OTHER = 0
    PRODUCT = 1  # a matrix product, convolution or attention
    BATCHED = 2  # a product of many matrices: bmm, baddbmm
    SOFTMAX = 3
    ELEMENTWISE = 4  # batch norm by fixed statistics, too
    REDUCTION = 5
    CONCATENATION = 6
    COPY = 7  # an elementwise kernel that only copies, perhaps to another layout or type
    GENERATED = 8  # by a compiler, which has fused what it could


_ATEN = expression(r"^aten::")
_BATCHED_OP = expression(r"^aten::(?:baddbmm_?|bmm)$")
_SOFTMAX_OP = expression(r"^aten::_?(?:safe_|masked_)?softmax(?:_backward(?:_data)?)?$")
_COPY_OP = expression(r"^aten::copy_$")

_BY_NAME = (
    (ELEMENTWISE_KERNEL, KernelKind.ELEMENTWISE),
    (FIXED_NORM_KERNEL, KernelKind.ELEMENTWISE),
    (REDUCTION_KERNEL, KernelKind.REDUCTION),
    (CONCATENATION_KERNEL, KernelKind.CONCATENATION),
    (GENERATED_KERNEL, KernelKind.GENERATED),
    (GENERATED_SOFTMAX_KERNEL, KernelKind.SOFTMAX),
)

#: Work that does not belong to a layer: of optimizers, of summing gradients, and of exchanging them.
_NO_LAYER = expression(
    r"AccumulateGrad|c10d|torch\.distributed|record_param_comms|Optimizer\.|_foreach_|_amp_"
    r"|(?i:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all)"
)
_NO_LAYER_PHASES = tuple(PHASES.index(phase) for phase in ("optimizer", "zero_grad", "data_loading"))


class StreamKernels(msgspec.Struct, frozen=True, eq=False):
    """Kernels of one device that start in the span's window, stream after stream, in time order.

    row        of the kernel table
    kind       a `KernelKind`
    broken     a copy, a set, a step or another stream begins before it, so that a chain cannot continue from the kernel
               before
    of_layer   part of a layer's forward or backward pass, and launched by an op
    """

    row: Int64
    kind: UInt8
    broken: Bool
    of_layer: Bool


@shared
def stream_kernels(trace: Trace, device: int) -> StreamKernels:
    """The kernels in the order in which each stream runs them."""
    events, rows = trace.events, kernel_rows_in_window(trace, device)
    event = trace.kernels.event[rows]
    order = np.lexsort((events.start_ns[event], events.stream[event]))
    rows = rows[order]
    return StreamKernels(rows, _kinds(trace, rows), _broken(trace, device, rows), _of_layer(trace, rows))


def _kinds(trace: Trace, rows: Int64) -> UInt8:
    event, op = trace.kernels.event[rows], kernel_origins(trace).op[rows].astype(np.int64)
    matmul = kernel_answers(trace).where(lambda answer: answer.role == "matmul")[rows]
    kind = np.full(len(rows), KernelKind.OTHER, np.uint8)
    for pattern, its_kind in _BY_NAME:
        kind[are_named(trace, event, pattern.search)] = its_kind
    kind[are_named(trace, event, NORM_TRANSFORM_KERNEL.search) & _alone_in_op(op)] = KernelKind.ELEMENTWISE
    kind[matmul] = KernelKind.PRODUCT
    copying = _with_op(trace, op, _COPY_OP)
    kind[copying & (kind == KernelKind.ELEMENTWISE)] = KernelKind.COPY
    kind[_with_op(trace, op, _BATCHED_OP) & matmul] = KernelKind.BATCHED
    kind[are_named(trace, event, SOFTMAX_KERNEL.search) & ~_with_op(trace, op, _ATEN)] = KernelKind.SOFTMAX
    kind[_with_op(trace, op, _SOFTMAX_OP)] = KernelKind.SOFTMAX
    return kind


def _alone_in_op(op: Int64) -> Bool:
    """Which kernels are the only one of their op, so that no other one measured statistics for them."""
    alone: Bool = (op >= 0) & (np.bincount(op + 1)[op + 1] == 1)
    return alone


def _with_op(trace: Trace, op: Int64, pattern: re.Pattern[str]) -> Bool:
    """Which of these ops, -1 for none, have a name that matches the pattern."""
    result = op >= 0
    result[result] = are_named(trace, op[result], pattern.search)
    return result


def _broken(trace: Trace, device: int, rows: Int64) -> Bool:
    """Where a chain is broken: by a copy or set of the same stream, or the begin of a step or stream."""
    events, event = trace.events, trace.kernels.event[rows]
    others = events.rows(*(kind for kind in DEVICE_KINDS if kind != Kind.KERNEL))
    others = others[events.device[others] == device]
    begins = find_steps(trace).start_ns
    broken = np.ones(len(rows), bool)
    for stream in distinct_in(events.stream[event] + 1).tolist():
        mine = np.flatnonzero(events.stream[event] == stream - 1)
        between = np.sort(np.concatenate((events.start_ns[others[events.stream[others] == stream - 1]], begins)))
        before = np.searchsorted(between, events.start_ns[event[mine]], side="right")
        broken[mine[1:]] = before[1:] != before[:-1]
    return broken


def _of_layer(trace: Trace, rows: Int64) -> Bool:
    origins = kernel_origins(trace)
    anchor = np.where(origins.call[rows] >= 0, origins.call[rows], origins.op[rows]).astype(np.int64)
    apart = is_in(kernel_phases(trace)[rows], _NO_LAYER_PHASES)
    of_layer: Bool = (origins.op[rows] >= 0) & ~apart & in_layer(trace, anchor)
    return of_layer


def in_layer(trace: Trace, calls: Int64) -> Bool:
    """Which calls or ops are not inside a range of an optimizer, of summing gradients or of exchanging them."""
    apart = rows_named(trace, (Kind.CPU_OP, Kind.USER), _NO_LAYER.search)
    inside: Bool = innermost(trace, apart, calls) < 0
    return inside
