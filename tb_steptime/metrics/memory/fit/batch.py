"""The batch of each step, and the shapes of parameters, from the recorded shapes of ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from tb_steptime.metrics.flops.calls import TYPE_BYTES, Shape, shapes_of, types_of
from tb_steptime.metrics.memory.allocations import steps_at
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in

#: The node of the backward pass that accumulates the gradient of one parameter.
_ACCUMULATES = "torch::autograd::AccumulateGrad"
#: The batch is the first or the second dimension of the model's input.
_BATCH_DIMENSIONS = 2
#: Inside of a model the batch may come after other dimensions; it is among this many leading ones.
_LEADING = 3
#: The batch is looked for in this many tensors at the beginning; in the first ones it may be merged with the length of
#: a sequence.
_FIRST = 8
#: The length of a sequence may lead in slightly more tensors than the batch, which comes before it in the first one. A
#: dimension with at least this share of the most frequent one's tensors also qualifies.
_NEARLY = 0.9


@shared
def parameter_shapes(trace: Trace) -> Counter[Shape]:
    """How many parameters with a gradient have each shape; empty where shapes were not recorded."""
    rows = _accumulations(trace)
    step = steps_at(trace, trace.events.start_ns[rows])
    each_step = [
        Counter(shape for shapes in shapes_in(trace, rows[step == number]) for shape in shapes if shape)
        for number in distinct_in(step[step >= 0]).tolist()
    ]
    return max(each_step, key=len, default=Counter())


@shared
def parameter_types(trace: Trace) -> set[str]:
    """The types of parameters with a gradient, as torch names them; empty where they were not recorded."""
    rows, column = _accumulations(trace), trace.events.dtypes
    numbers = distinct_in(column[rows]).tolist() if column is not None else []
    return {each for number in numbers if number >= 0 for each in types_of(trace.inputs[number]) if each in TYPE_BYTES}


def _accumulations(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), lambda name: name == _ACCUMULATES)


@shared
def step_batches(trace: Trace) -> tuple[int | None, ...]:
    """For each step the batch of its forward pass; None if it has none, or no shapes were recorded."""
    forward = backward_nodes(trace).forward
    made = distinct_in(forward[forward >= 0])
    step = steps_at(trace, trace.events.start_ns[made])
    parameters = {turned for shape in parameter_shapes(trace) for turned in (shape, shape[::-1])}
    return tuple(
        _batch(list(shapes_in(trace, made[step == number])), parameters)
        for number in range(len(find_steps(trace).steps))
    )


def shapes_in(trace: Trace, rows: np.typing.NDArray[np.integer]) -> Iterable[tuple[Shape, ...]]:
    """The shapes of the inputs of each of these rows of the event table; empty where a row has none. Without recorded
    shapes there is nothing."""
    column = trace.events.shapes
    for number in [] if column is None else column[rows].tolist():
        yield (shapes_of(trace.inputs[number]) or ()) if number >= 0 else ()


def holds_batch(shape: Shape, batch: int) -> bool:
    """Whether a shape has the batch as a dimension, or merged with others as its first dimension greater than 1.

    >>> holds_batch((32, 784), 32), holds_batch((50, 32, 16), 32), holds_batch((32 * 50, 16), 32)
    (True, True, True)
    """
    first = next((size for size in shape if size > 1), 1)
    return bool(shape) and (first % batch == 0 or batch in shape)


def _batch(calls: list[tuple[Shape, ...]], parameters: set[Shape]) -> int | None:
    """The dimension at the beginning of the forward pass that most tensors have. Tensors shaped like a parameter count
    only if all are. The ops are the differentiated ones, which excludes indexing of a dataset on the device."""
    shapes = [shape for call in calls for shape in call if shape and all(shape)]
    shapes = [shape for shape in shapes if shape not in parameters] or shapes
    first = [size for shape in shapes[:_FIRST] for size in shape[:_BATCH_DIMENSIONS]]
    candidates = [size for size in first if size > 1] or first
    counts = [sum(_leads(shape, size) for shape in shapes) for size in candidates]
    enough = _NEARLY * max(counts, default=0)
    return next((size for size, count in zip(candidates, counts, strict=True) if count >= enough), None)


def _leads(shape: Shape, batch: int) -> bool:
    """Whether the batch is the first dimension, possibly merged with others; for a sequence also the second or third
    one, as in attention with the length first, or with queries, keys and values stacked."""
    leading = shape[:_LEADING] if len(shape) > _BATCH_DIMENSIONS else shape[:1]
    return any(size % batch == 0 for size in leading)
