"""The environment of a job, the options of its recording, and the inputs of its products."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: Number of products whose inputs are listed. The first products of a step show the batch size, unlike copies of a
#: loader in the same process.
FIRST_INPUTS = 5
_HALF = expression(r'^\["(c10::)?(Half|BFloat16)"')
_PRODUCT = expression(r"::(conv\w*|linear|addmm|bmm|baddbmm|mm|matmul|scaled_dot_product_attention)$")


class OpInputs(msgspec.Struct, frozen=True):
    """The recorded inputs of an op, as in the trace, such as '[[64,3,224,224],[64,3,7,7]]' and '["float","float"]'."""

    op: str
    shapes: str
    dtypes: str


class Setup(msgspec.Struct, frozen=True):
    """The environment of a job and the options of its recording.

    runtime        CUDA or ROCm with its version; None if not recorded
    with_stack, with_shapes, with_memory   options of the profiler; each of them slows the host
    first_inputs   inputs of the first products and convolutions of a step; empty if no op has recorded inputs
    half_share     share of the calls of products and convolutions whose first input has 16 bits; None if no op has
                   recorded types
    """

    runtime: str | None = None
    with_stack: bool = False
    with_shapes: bool = False
    with_memory: bool = False
    first_inputs: list[OpInputs] = []
    half_share: float | None = None


def setup_of(trace: Trace, steps: Bool) -> Setup:
    """Returns the setup of the job. first_inputs are those of the first one of these steps."""
    return Setup(
        runtime=trace.job.runtime,
        with_stack=trace.job.with_stack,
        with_shapes=trace.events.shapes is not None,
        with_memory=trace.job.with_memory,
        first_inputs=_first_inputs(trace, int(np.argmax(steps))),
        half_share=_half_share(trace),
    )


def _half_share(trace: Trace) -> float | None:
    """Returns the share of 16-bit products; None if no product has recorded types. Autocast casts within an op, so the
    inner ops have the types that are really computed with."""
    dtypes = trace.events.dtypes
    if dtypes is None:
        return None
    ops = rows_named(trace, (Kind.CPU_OP,), _PRODUCT.search)
    numbers, calls = np.unique(dtypes[ops[dtypes[ops] >= 0]], return_counts=True)
    half = [bool(_HALF.match(trace.inputs[int(number)])) for number in numbers]
    return float(calls[half].sum() / calls.sum()) if len(numbers) else None


def _first_inputs(trace: Trace, step: int) -> list[OpInputs]:
    events, window = trace.events, find_steps(trace).steps[step]
    if events.shapes is None or events.dtypes is None:
        return []
    ops = events.rows(Kind.CPU_OP)
    inside = (events.start_ns[ops] >= window.host_start_ns) & (events.start_ns[ops] < window.end_ns)
    products = ops[inside & (events.shapes[ops] >= 0) & (events.dtypes[ops] >= 0)]
    products = products[are_named(trace, products, _PRODUCT.search)]
    return [_inputs_of(trace, row) for row in _outermost(trace, products)]


def _inputs_of(trace: Trace, row: int) -> OpInputs:
    events = trace.events
    assert events.shapes is not None and events.dtypes is not None
    shapes = trace.inputs[int(events.shapes[row])]
    dtypes = trace.inputs[int(events.dtypes[row])]
    return OpInputs(trace.name_of(row), shapes, dtypes)


def _outermost(trace: Trace, ops: Int64) -> list[int]:
    """Returns the first outermost ones of these ops, in time order. Each begins after the previous one has ended."""
    outermost: list[int] = []
    over_ns = 0
    for row, start_ns in zip(ops.tolist(), trace.events.start_ns[ops].tolist(), strict=True):
        if not outermost or start_ns >= over_ns:
            outermost.append(row)
            over_ns = start_ns + int(trace.events.dur_ns[row])
        if len(outermost) == FIRST_INPUTS:
            break
    return outermost
