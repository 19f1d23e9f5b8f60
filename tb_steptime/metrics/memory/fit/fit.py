"""The predicted peak of a training's steady steps at other batches, and the largest batch that fits.

Some allocations grow with the batch.

aten::linear [[32,784],[64,784]]  +8192     32 x 64 floats: made of a tensor with the batch in its shape     grows
aten::batch_norm [[32,8,9,9],[8]]   +32     as large as its weight: statistics of each channel               stays
aten::mm [[64,32],[32,784]]     +200704     gradient of a weight, by its lifetime or by its shape            stays
aten::lstm [[9,32,16],[256,64]]  +69632     the weight in padded rows: 64 of 272 floats instead of 256       stays

The peak is a function of the batch. It is the maximum of the lines that belong to instants of steady steps.

instant     constant   per sample     at 8     at 64
a                100            4      132       356
b                180            1      188       244      the peak is at b up to a batch of 26, at a from 27 on
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import TYPE_BYTES, Shape, shapes_of, types_of
from tb_steptime.metrics.memory.allocations import PHASE, allocations, births, sizes, steps_at
from tb_steptime.metrics.memory.categories import CATEGORIES, categories
from tb_steptime.metrics.memory.curves import CPU, NO_TOTALS, NOT_RECORDED, Curve, Place, curve
from tb_steptime.metrics.memory.peak import step_peaks
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.nesting import op_rows, parent_places
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in, places_in, values_at

#: The categories that keep their size at any batch, whichever op made them.
_CONSTANT = ("parameters", "gradients", "optimizer_state")
#: Matrix products, and the places of the two factors among their inputs.
_PRODUCTS = {"aten::mm": (0, 1), "aten::addmm": (1, 2)}
#: Ops that contract dimensions of two inputs. Equal sizes at the same place mean nothing for them.
_CONTRACTIONS = expression(
    r"aten::(linear|matmul|einsum|(add)?mm|(b|baddb)mm|addmv|mv|bilinear|\w*convolution\w*|\w*conv(_transpose)?\dd"
    r"|\w*embedding\w*|\w*(rnn|lstm|gru)\w*)$"
)
#: The type of buffers that a library fills for its own backward pass. They are no tensors of the model.
_OPAQUE = "unsigned char"
#: oneDNN pads rows of a reordered matrix to whole cache lines. It adds another line if rows would start at multiples of
#: a quarter of a page (here of 256 floats), which compete for the same sets of the cache.
_LINE_BYTES, _ROW_STRIDE = 64, 256
#: Ops that only copy. They copy a parameter before an op uses it.
_COPIES = {"aten::to", "aten::_to_copy", "aten::copy_", "aten::clone", "aten::contiguous"}
#: torch's name of the 4-byte type.
FLOAT = "float"
#: The caching allocator of GPUs rounds sizes up to multiples of this.
ROUNDED_TO = 512


@shared
def growing(trace: Trace, batch: int) -> Bool:
    """Returns for each of `allocations` whether its size is proportional to the batch of its step."""
    lives = allocations(trace)
    made_by = births(trace)
    kind = categories(trace)
    size, on_cpu = sizes(trace), trace.memory.device_type[lives.born] == CPU
    fixed = is_in(kind, [CATEGORIES.index(category) for category in _CONSTANT])
    fixed |= is_in(made_by.phase, (PHASE["optimizer"], PHASE["zero_grad"]))
    op = ops_with_shapes(trace, made_by.op.astype(np.int64))
    inputs = kind == CATEGORIES.index("inputs")
    by_ops = np.flatnonzero(~fixed & ~inputs & (op >= 0))
    judge = _Judge(trace, batch)
    of_nothing = ~fixed & (inputs | (op < 0)) & (made_by.phase != PHASE["backward"])  # includes randomly drawn data
    result: Bool = of_nothing & (size % batch == 0) & (size >= batch)
    cases = zip(
        op[by_ops].tolist(),
        size[by_ops].tolist(),
        on_cpu[by_ops].tolist(),
        (made_by.phase[by_ops] == PHASE["backward"]).tolist(),
        strict=True,
    )
    result[by_ops] = [judge.grows(*each) for each in cases]
    return result


def growing_sizes(trace: Trace, batch: int) -> Int64:
    """Returns the bytes of each of `allocations` that grows with the batch; 0 for the others."""
    return np.where(growing(trace, batch), sizes(trace), 0)


def ops_with_shapes(trace: Trace, op: Int64) -> Int64:
    """Returns for each op the op itself, or the innermost op around it, that has a recorded tensor shape, as rows of
    the event table; -1 for none."""
    ops = op_rows(trace)
    if trace.events.shapes is None or not len(ops):
        return np.full(len(op), -1, np.int64)
    texts = np.array(
        [any(shape and all(shape) for shape in shapes_of(text) or ()) for text in trace.inputs.strings] + [False], bool
    )
    tells, parent = texts[trace.events.shapes[ops]], parent_places(trace, ops)
    place = places_in(ops, op)
    while len(silent := np.flatnonzero((place >= 0) & ~tells[place])):
        place[silent] = parent[place[silent]]
    return values_at(ops, place)


class Tensor(msgspec.Struct, frozen=True):
    """A tensor in an allocation. floating: whether its type has 4 bytes and could be a shorter one. opaque: whether it
    is a library's own buffer."""

    shape: Shape
    bytes: int
    floating: bool
    opaque: bool = False


def tensors_of(trace: Trace, op: int) -> list[Tensor]:
    """Returns the input tensors of this op, a row of the event table. They have 4 bytes per element if types were not
    recorded."""
    events = trace.events
    if events.shapes is None or events.shapes[op] < 0:
        return []
    return _tensors(trace, int(events.shapes[op]), -1 if events.dtypes is None else int(events.dtypes[op]))


def _tensors(trace: Trace, shapes: int, dtypes: int) -> list[Tensor]:
    types = types_of(trace.inputs[dtypes]) if dtypes >= 0 else ()
    recorded = shapes_of(trace.inputs[shapes]) or ()
    names = [types[place] if place < len(types) else FLOAT for place in range(len(recorded))]
    return [
        Tensor(shape, math.prod(shape) * TYPE_BYTES.get(name, 4), name == FLOAT, name == _OPAQUE and len(shape) == 1)
        for shape, name in zip(recorded, names, strict=True)
        if shape
    ]


def _padded(tensor: Tensor) -> set[int]:
    """Returns the bytes of a matrix, and of its transpose, in padded rows if these are longer; nothing for other
    tensors.

    >>> _padded(Tensor((256, 32), 256 * 32 * 4, True)), _padded(Tensor((256,), 1024, True))
    ({34816}, set())
    """
    if len(tensor.shape) != 2 or not tensor.bytes:
        return set()
    rows, columns = tensor.shape
    item = tensor.bytes // (rows * columns)
    return {count * _row(side, item) for count, side in ((rows, columns), (columns, rows))} - {tensor.bytes}


def _row(side: int, item: int) -> int:
    """Returns the bytes of a padded row."""
    line = _LINE_BYTES // item
    side = -(-side // line) * line
    return (side if side % _ROW_STRIDE else side + line) * item


class _Judge:
    """Decides whether the size of an allocation grows, once for each distinct call and size."""

    def __init__(self, trace: Trace, batch: int) -> None:
        self.trace, self.batch = trace, batch
        shapes = parameter_shapes(trace)
        self.parameters = {turned for shape in shapes for turned in (shape, shape[::-1])}
        self.counts = {math.prod(shape) for shape in shapes}
        self._decide = lru_cache(maxsize=None)(self._grows)

    def grows(self, op: int, size: int, on_cpu: bool, backward: bool) -> bool:
        events = self.trace.events
        assert events.shapes is not None
        dtypes = -1 if events.dtypes is None else int(events.dtypes[op])
        return self._decide(int(events.name[op]), int(events.shapes[op]), dtypes, size, on_cpu, backward)

    def _grows(self, name: int, shapes: int, dtypes: int, size: int, on_cpu: bool, backward: bool) -> bool:
        op, tensors = self.trace.strings[name], _tensors(self.trace, shapes, dtypes)
        batched = self._batched(op, tensors)
        if not batched or size < self.batch:
            return False
        if on_cpu and any(size in _padded(tensor) for tensor in tensors if tensor not in batched):
            return size in {tensor.bytes for tensor in batched}
        if on_cpu and size % self.batch:  # a workspace, if it is too large for a parameter
            return size > max((tensor.bytes for tensor in tensors if not tensor.opaque), default=0)
        if factors := _PRODUCTS.get(op):
            return self._is_batched_product(shapes, factors)
        step = 1 if on_cpu else ROUNDED_TO
        rounded = {-(-tensor.bytes // step) * step for tensor in batched}
        others = {-(-tensor.bytes // step) * step for tensor in tensors if tensor not in batched}
        if backward:
            item = batched[0].bytes // math.prod(batched[0].shape)
            others |= {-(-count * item // step) * step for count in self.counts}
        return size in rounded or size not in others

    def _batched(self, op: str, tensors: list[Tensor]) -> list[Tensor]:
        """Returns the tensors with the batch in their shape. A tensor with the shape of a parameter is a parameter if
        the op also has other such tensors, or copies it. Otherwise it has that shape by chance, as with a batch of 64
        after 64 neurons."""
        holding = [tensor for tensor in tensors if all(tensor.shape) and holds_batch(tensor.shape, self.batch)]
        sure = [tensor for tensor in holding if tensor.shape not in self.parameters]
        if sure and _CONTRACTIONS.match(op) is None:  # those of the same rank and leading dimension are no parameters
            leading = {(len(tensor.shape), tensor.shape[0]) for tensor in sure}
            return [tensor for tensor in holding if tensor in sure or (len(tensor.shape), tensor.shape[0]) in leading]
        return sure or ([] if op in _COPIES else sorted(holding, key=lambda tensor: -len(tensor.shape))[:1])

    def _is_batched_product(self, shapes: int, factors: tuple[int, int]) -> bool:
        """Returns whether the rows of the product are those of a batch. The gradient of a weight has the shape of a
        parameter, and neither of its factors has."""
        recorded = shapes_of(self.trace.inputs[shapes]) or ()
        left, right = (recorded[place] if place < len(recorded) else () for place in factors)
        if len(left) != 2 or len(right) != 2 or left[0] % self.batch:
            return False
        return bool(self.parameters & {left, right}) or (left[0], right[1]) not in self.parameters


#: The node of the backward pass that accumulates the gradient of one parameter.
_ACCUMULATES = "torch::autograd::AccumulateGrad"
#: The batch is the first or the second dimension of the model's input.
_BATCH_DIMENSIONS = 2
#: Inside a model the batch may come after other dimensions. It is among this many leading ones.
_LEADING = 3
#: Number of tensors at the beginning in which the batch is sought. In the first ones it may be merged with the length
#: of a sequence.
_FIRST = 8
#: The length of a sequence may lead in slightly more tensors than the batch, which comes before it in the first tensor.
#: So a dimension with at least this share of the most frequent one's tensors also qualifies.
_NEARLY = 0.9


@shared
def parameter_shapes(trace: Trace) -> Counter[Shape]:
    """Returns how many parameters with a gradient have each shape; none if shapes were not recorded."""
    rows = _accumulations(trace)
    step = steps_at(trace, trace.events.start_ns[rows])
    each_step = [
        Counter(shape for shapes in shapes_in(trace, rows[step == number]) for shape in shapes if shape)
        for number in distinct_in(step[step >= 0]).tolist()
    ]
    return max(each_step, key=len, default=Counter())


@shared
def parameter_types(trace: Trace) -> set[str]:
    """Returns the types of parameters with a gradient, as torch names them; none if they were not recorded."""
    rows, column = _accumulations(trace), trace.events.dtypes
    typed = column[rows] if column is not None else np.empty(0, np.int64)
    numbers = distinct_in(typed[typed >= 0]).tolist()
    return {each for number in numbers for each in types_of(trace.inputs[number]) if each in TYPE_BYTES}


def _accumulations(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), lambda name: name == _ACCUMULATES)


@shared
def step_batches(trace: Trace) -> tuple[int | None, ...]:
    """Returns the batch of each step's forward pass; None if it has none, or no shapes were recorded."""
    forward = backward_nodes(trace).forward
    forward_ops = distinct_in(forward[forward >= 0])
    step = steps_at(trace, trace.events.start_ns[forward_ops])
    parameters = {turned for shape in parameter_shapes(trace) for turned in (shape, shape[::-1])}
    return tuple(
        _batch(list(shapes_in(trace, forward_ops[step == number])), parameters)
        for number in range(len(find_steps(trace).steps))
    )


def shapes_in(trace: Trace, rows: np.typing.NDArray[np.integer]) -> Iterable[tuple[Shape, ...]]:
    """Yields the shapes of the inputs of each of these rows of the event table, which are empty for a row without
    inputs. Without recorded shapes it yields nothing."""
    column = trace.events.shapes
    for number in [] if column is None else column[rows].tolist():
        yield (shapes_of(trace.inputs[number]) or ()) if number >= 0 else ()


def holds_batch(shape: Shape, batch: int) -> bool:
    """Returns whether a shape has the batch as a dimension, or merged with others as its first dimension greater than
    1.

    >>> holds_batch((32, 784), 32), holds_batch((50, 32, 16), 32), holds_batch((32 * 50, 16), 32)
    (True, True, True)
    """
    first = next((size for size in shape if size > 1), 1)
    return bool(shape) and (first % batch == 0 or batch in shape)


def _batch(calls: list[tuple[Shape, ...]], parameters: set[Shape]) -> int | None:
    """Returns the dimension at the beginning of the forward pass that most tensors have. Tensors shaped like a
    parameter count only if all are. The ops are the differentiated ones, which excludes indexing of a dataset on the
    device."""
    shapes = [shape for call in calls for shape in call if shape and all(shape)]
    shapes = [shape for shape in shapes if shape not in parameters] or shapes
    first = [size for shape in shapes[:_FIRST] for size in shape[:_BATCH_DIMENSIONS]]
    candidates = [size for size in first if size > 1] or first
    counts = [sum(_leads(shape, size) for shape in shapes) for size in candidates]
    enough = _NEARLY * max(counts, default=0)
    return next((size for size, count in zip(candidates, counts, strict=True) if count >= enough), None)


def _leads(shape: Shape, batch: int) -> bool:
    """Returns whether the batch is the first dimension, possibly merged with others. For a sequence it may also be the
    second or third one, as in attention with the length first, or with queries, keys and values stacked."""
    leading = shape[:_LEADING] if len(shape) > _BATCH_DIMENSIONS else shape[:1]
    return any(size % batch == 0 for size in leading)


class PeakLine(msgspec.Struct, frozen=True):
    """The memory at an instant for any batch: constant + batch x per_sample, bytes. row: the instant, as a row of the
    device's curve."""

    constant: int
    per_sample: float
    row: int

    def at(self, batch: float) -> float:
        return self.constant + self.per_sample * batch


def highest_lines(constant: Int64, growing: Int64, batch: int) -> list[PeakLine]:
    """Returns the lines that are the highest at some batch from 0 on, flattest first. growing / batch is the part per
    sample.

    >>> [line.row for line in highest_lines(np.array([100, 180, 90]), np.array([32, 8, 8]), 8)]
    [1, 0]
    """
    highest: list[int] = []
    for row in _steeper_and_lower(constant, growing):
        while highest and _needless(constant, growing, batch, highest, row):
            highest.pop()
        highest.append(row)
    return [PeakLine(int(constant[row]), float(growing[row]) / batch, row) for row in highest]


def _steeper_and_lower(constant: Int64, growing: Int64) -> list[int]:
    """Returns the rows by rising slope and falling constant, without rows that another one exceeds at every batch."""
    order = np.lexsort((constant, growing))[::-1]
    highest = np.maximum.accumulate(constant[order])
    first = np.append(True, highest[1:] > highest[:-1]) if len(order) else order
    return order[np.flatnonzero(first)][::-1].tolist()


def _needless(constant: Int64, growing: Int64, batch: int, highest: list[int], row: int) -> bool:
    """Returns whether the last of the highest lines is nowhere above both of its neighbours."""
    if len(highest) < 2:
        return False
    before, last = highest[-2], highest[-1]
    return _crossing(constant, growing, batch, before, row) <= _crossing(constant, growing, batch, before, last)


def _crossing(constant: Int64, growing: Int64, batch: int, flat: int, steep: int) -> float:
    return float(constant[flat] - constant[steep]) * batch / float(growing[steep] - growing[flat])


def peak_at(lines: list[PeakLine], batch: float) -> float:
    """Returns the peak at this batch, bytes."""
    return max(line.at(batch) for line in lines)


def largest_batch(lines: list[PeakLine], limit: float) -> int | None:
    """Returns the largest whole batch whose peak is within the limit; 0 if there is none, None if every batch fits."""
    if any(line.constant > limit for line in lines):
        return 0
    most = [(limit - line.constant) / line.per_sample for line in lines if line.per_sample > 0]
    return int(min(most)) if most else None


NO_SHAPES = Reason("memory_fit_needs_shapes")
#: Margin of a prediction, in both directions. Workspaces and other choices of libraries depend on shapes in ways that
#: no recording shows. All but two of the models of `benchmarks/memory_fit.py` stay within it.
MARGIN = 0.05


class SteadySteps(msgspec.Struct, frozen=True, eq=False):
    """The basis of a prediction. It is the steps after the first recorded one, which may allocate what stays, or the
    only step; of these, those that have the batch of the step with the highest peak.

    steps    indices of the steps
    curve    the device's memory over time
    within   which events of the curve are in these steps
    grown    int64, how much of the memory allocated after each event grows with the batch
    """

    batch: int
    steps: list[int]
    curve: Curve
    within: Bool
    grown: Int64


class MemoryFit(msgspec.Struct, frozen=True):
    """The peak of steady steps at any batch is the highest of `lines`. batch: the recorded one. peak_bytes: measured
    with it."""

    batch: int
    peak_bytes: int
    lines: list[PeakLine]


@shared
def steady_steps(trace: Trace, place: Place) -> SteadySteps | Reason:
    over_time = curve(trace, place)
    if not len(over_time.row):
        return NOT_RECORDED
    if not over_time.whole:
        return NO_TOTALS
    batches, peaks = step_batches(trace), step_peaks(trace, place)
    with_batches = [number for number in range(min(1, len(batches) - 1), len(batches)) if batches[number]]
    if not with_batches:
        return NO_SHAPES
    batch = batches[max(with_batches, key=lambda number: peaks[number])]
    assert batch is not None
    steps = [number for number in with_batches if batches[number] == batch]
    within = is_in(steps_at(trace, over_time.ts), steps)
    return SteadySteps(batch, steps, over_time, within, bytes_alive(trace, place, growing_sizes(trace, batch)))


def memory_fit(trace: Trace, place: Place) -> MemoryFit | Reason:
    steady = steady_steps(trace, place)
    if isinstance(steady, Reason):
        return steady
    rows = np.flatnonzero(steady.within)
    allocated, growing = steady.curve.allocated[rows], steady.grown[rows]
    lines = [
        PeakLine(line.constant, line.per_sample, int(rows[line.row]))
        for line in highest_lines(allocated - growing, growing, steady.batch)
    ]
    return MemoryFit(steady.batch, int(allocated.max()), lines)


def bytes_alive(trace: Trace, place: Place, size: Int64) -> Int64:
    """Returns the sum over the live allocations after each event of the device. size: the bytes of each of
    `allocations` that count."""
    lives, over_time = allocations(trace), curve(trace, place)
    freed = lives.died >= 0
    rows = np.concatenate((lives.born, lives.died[freed])).astype(np.int64)
    change = exact_sums(rows, np.concatenate((size, -size[freed])), len(trace.memory))
    return np.cumsum(change[over_time.row])


def bounds(value: float, margin: float = MARGIN) -> tuple[int, int]:
    """Returns a prediction minus and plus the margin, in whole bytes."""
    return math.floor(value * (1 - margin)), math.ceil(value * (1 + margin))
