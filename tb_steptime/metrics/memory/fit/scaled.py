"""The peak if allocations had other sizes, because of other types or of sequences of another length.

                        FP32     all in BF16     sequences twice as long
weights, their state     100              50                         100
activations               40              20                          80
scores of attention       20              10                          80       both their sides are a sequence
indices                    8               8                          16
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import TYPE_BYTES, Shape, types_of
from tb_steptime.metrics.memory.allocations import PHASE, births, sizes
from tb_steptime.metrics.memory.categories import CATEGORIES, categories
from tb_steptime.metrics.memory.curves import CPU, Place
from tb_steptime.metrics.memory.fit.fit import (
    FLOAT,
    PeakLine,
    SteadySteps,
    Tensor,
    bytes_alive,
    growing,
    highest_lines,
    ops_with_shapes,
    parameter_shapes,
    parameter_types,
    shapes_in,
    tensors_of,
)
from tb_steptime.metrics.memory.fit.states import OtherSetting, recorded_states
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.nesting import op_rows
from tb_steptime.trace.table import Bool, Float64, Int64, Kind, distinct_in, is_in, values_at

MIXED_TYPES = Reason("memory_fit_mixed_types")
OWN_CHOICE = Reason("memory_fit_own_choice")
SMALL = Reason("memory_fit_small")
LENGTH_AMBIGUOUS = Reason("memory_fit_length_ambiguous")

#: Minimum peak that is scaled. Workspaces of libraries, which depend on the type and not on the batch, take up to 0.2
#: MB on a CPU.
_LEAST_BYTES = 4_000_000
#: Recurrent layers call as many ops as a sequence is long, or keep a workspace of their library. Attention that is
#: written out in ops is computed in FP32, whatever its input type.
_RECURRENT = expression(r"aten::(lstm|gru|rnn_tanh|rnn_relu|lstm_cell|gru_cell)$")
_IN_FLOATS = expression(r"aten::_scaled_dot_product_attention_math$")
#: Sequence lengths, as factors of the recorded length.
LENGTHS = (0.5, 2)
_SHORT = {name for name, size in TYPE_BYTES.items() if size < TYPE_BYTES[FLOAT] and name.startswith("c10::")}
_STATES = ("parameters", "gradients", "optimizer_state")
#: Ops that return indices or booleans.
_WHOLE_NUMBERS = expression(
    r"aten::(arg(max|min|sort)|eq|ne|lt|le|gt|ge|isnan|isinf|isfinite|logical_\w+|bitwise_\w+|nonzero|randint|arange"
    r"|one_hot|bucketize|searchsorted)_?$"
)
#: Ops that return values and the indices of these, which take 8 bytes each.
_WITH_PLACES = expression(r"aten::(max_pool\dd_with_indices|adaptive_max_pool\dd|topk|sort)$")
_LOOKS_UP = "aten::embedding"
_BF16 = """\
model = model.to(torch.bfloat16)
inputs = inputs.to(torch.bfloat16)  # where they are not tokens
# Weights and optimizer state are in BF16, too, and lose small updates: compare the loss."""
#: Places of a product's two factors among its inputs. Each factor contributes one of its dimensions to the product.
_PRODUCTS = {"aten::mm": (0, 1), "aten::addmm": (1, 2), "aten::bmm": (0, 1), "aten::baddbmm": (1, 2)}


def scaled_settings(trace: Trace, place: Place, steady: SteadySteps) -> list[OtherSetting]:
    """Returns the settings for everything in BF16, and for sequences of other lengths if tokens are looked up."""
    half = in_half(trace, place, steady)
    result = [] if half is None else [OtherSetting("All in BF16", None if isinstance(half, Reason) else _BF16, half)]
    length = lengths(trace, steady)
    if isinstance(length, Reason):
        return [*result, OtherSetting("Sequences of another length", None, length)]
    for times in LENGTHS if length is not None else ():
        assert length is not None
        lines = scaled_lines(trace, place, steady, np.power(float(times), length.power))
        result.append(OtherSetting(f"Sequences of {round(length.recorded * times)}", None, lines))
    return result


def scaled_lines(trace: Trace, place: Place, steady: SteadySteps, factor: Float64, added: int = 0) -> list[PeakLine]:
    """Returns the peak at any batch if each of `allocations` had its size times its factor, and `added` bytes were
    always present."""
    size = sizes(trace)
    scaled = np.rint(size * factor).astype(np.int64)
    whole = steady.curve.allocated + bytes_alive(trace, place, scaled - size) + added
    grown = bytes_alive(trace, place, np.where(growing(trace, steady.batch), scaled, 0))
    return highest_lines((whole - grown)[steady.within], grown[steady.within], steady.batch)


def in_half(trace: Trace, place: Place, steady: SteadySteps) -> list[PeakLine] | Reason | None:
    """Returns the lines for a training in FP32 if all floats had 2 bytes; None if no types were recorded, and the
    reason if they cannot be predicted. Memory from before the recording is parameters and their state, which are not in
    the CPU's total."""
    if not parameter_types(trace):
        return None
    if parameter_types(trace) != {FLOAT} or _types(trace) & _SHORT:
        return MIXED_TYPES
    if _calls(trace, _RECURRENT) or _calls(trace, _IN_FLOATS):
        return OWN_CHOICE
    if int(steady.curve.allocated[steady.within].max()) < _LEAST_BYTES:
        return SMALL
    unseen = 0
    if place.type != CPU:
        states = recorded_states(trace, place)
        if isinstance(states, Reason):
            return states
        seen = int(bytes_alive(trace, place, np.where(_are_states(trace), sizes(trace), 0))[steady.within].max())
        unseen = max(0, min((2 + states.copies) * states.parameters - seen, steady.curve.before))
    return scaled_lines(trace, place, steady, np.where(_floating(trace), 0.5, 1.0), -(unseen // 2))


def _calls(trace: Trace, pattern: re.Pattern[str]) -> bool:
    """Returns whether any op's name matches the pattern."""
    return len(rows_named(trace, (Kind.CPU_OP,), pattern.match)) > 0


def _types(trace: Trace) -> set[str]:
    """Returns the types of all inputs of ops."""
    assert trace.events.dtypes is not None
    typed = trace.events.dtypes[op_rows(trace)]
    numbers = distinct_in(typed[typed >= 0]).tolist()
    return {name for number in numbers for name in types_of(trace.inputs[number])}


def _are_states(trace: Trace) -> Bool:
    """Returns which allocations are parameters, gradients and optimizer state, or temporaries of the optimizer."""
    states = is_in(categories(trace), [CATEGORIES.index(each) for each in _STATES])
    states |= births(trace).phase == PHASE["optimizer"]
    return states


class _Made(msgspec.Struct, frozen=True):
    """What equal calls allocated. op: the innermost op with recorded shapes, "" for none. outermost: the outermost op
    around it, "" for none. given: the input tensors of `op`. bytes: size of one allocation."""

    op: str
    outermost: str
    given: list[Tensor]
    bytes: int


def _each_made(trace: Trace, decide: Callable[[_Made], int]) -> Int64:
    """Returns a value for each of `allocations`, which is decided once for all that are equal."""
    events = trace.events
    outer = births(trace).outer_op
    size = sizes(trace)
    op = ops_with_shapes(trace, births(trace).op.astype(np.int64))
    columns = [values_at(events.name, op), values_at(events.name, outer), size]
    columns += [values_at(column, op) for column in (events.shapes, events.dtypes) if column is not None]
    _, first, which = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    decided = [
        decide(
            _Made(
                trace.strings[columns[0][place]] if op[place] >= 0 else "",
                trace.strings[columns[1][place]] if outer[place] >= 0 else "",
                tensors_of(trace, int(op[place])) if op[place] >= 0 else [],
                int(size[place]),
            )
        )
        for place in first.tolist()
    ]
    return np.array(decided, np.int64)[which.reshape(-1)]


def _floating(trace: Trace) -> Bool:
    """Returns for each of `allocations` whether it contains floats. An op's results from floats are floats, except
    indices."""
    parameters = {math.prod(shape) * TYPE_BYTES[FLOAT] for shape in parameter_shapes(trace)}

    def of_floats(made: _Made) -> int:
        if any(_WHOLE_NUMBERS.match(name) for name in (made.op, made.outermost)):
            return False
        if made.op:
            return any(tensor.floating for tensor in made.given)
        return made.bytes in parameters or made.outermost == "aten::randn"

    size, op = sizes(trace), ops_with_shapes(trace, births(trace).op.astype(np.int64))
    with_places = _each_made(trace, lambda made: _WITH_PLACES.match(made.op) is not None).astype(bool)
    places = with_places & np.append(False, (op[1:] == op[:-1]) & (size[1:] == 2 * size[:-1]))[: len(op)]
    result = _are_states(trace)
    result |= _each_made(trace, of_floats).astype(bool) & ~places
    return result


class Lengths(msgspec.Struct, frozen=True, eq=False):
    """How sizes grow with the length of sequences. recorded: the length in the recording. power: for each of
    `allocations`, the power of the length with which its size grows."""

    recorded: int
    power: Int64


def lengths(trace: Trace, steady: SteadySteps) -> Lengths | Reason | None:
    """Returns the lengths; None for a training that looks up no tokens, whose length is not known; the reason if the
    length cannot be identified."""
    looked_up = rows_named(trace, (Kind.CPU_OP,), lambda name: name == _LOOKS_UP)
    tokens = {
        shapes[1] for shapes in shapes_in(trace, looked_up) if len(shapes) > 1 and len(shapes[1]) == 2
    }  # fmt: skip
    other_lengths = {other for shape in tokens for other in _others(shape, steady.batch)}
    if not other_lengths:
        return None
    if _calls(trace, _RECURRENT):
        return OWN_CHOICE
    if len(other_lengths) > 1:
        return LENGTH_AMBIGUOUS
    (length,) = other_lengths
    sides = {side for shape in parameter_shapes(trace) for side in shape}
    if length in sides or length == steady.batch or length == 1:
        return LENGTH_AMBIGUOUS
    made = _each_made(trace, lambda made: _power(made, steady.batch, length))
    return Lengths(length, np.where(_are_states(trace) | (births(trace).phase == PHASE["zero_grad"]), 0, made))


def _others(shape: Shape, batch: int) -> Iterable[int]:
    """Yields the sequence length in the shape of a batch of tokens, whichever of the two dimensions is the batch.

    >>> list(_others((8, 32), 8)), list(_others((32, 8), 8)), list(_others((3, 5), 8))
    ([32], [32], [])
    """
    if batch in shape:
        yield shape[1] if shape[0] == batch else shape[0]


def _power(made: _Made, batch: int, length: int) -> int:
    """Returns the power for an op's result. It is that of its product, of an input of its size, or of one that is
    summed over a sequence, and otherwise that of the input that grows most. An allocation that is smaller than a
    sequence does not grow."""
    if made.bytes < length or made.bytes % length:
        return 0
    if not made.op:  # for example, randomly drawn tokens
        return int(made.bytes % (batch * length) == 0)
    if factors := _PRODUCTS.get(made.op):
        left, right = (made.given[place].shape if place < len(made.given) else () for place in factors)
        if len(left) == len(right) >= 2:
            return _times((*left[:-1], right[-1]), batch, length)
    powers = {tensor.bytes: _times(tensor.shape, batch, length) for tensor in made.given}
    most = max(powers.values(), default=0)
    if made.bytes in powers:
        return powers[made.bytes]
    summed = any(made.bytes * length == whole and power for whole, power in powers.items())
    return most - 1 if summed else most


def _times(shape: Shape, batch: int, length: int) -> int:
    """Returns how often the length occurs among the dimensions. If it is merged with the batch, it is in the first one.

    >>> _times((8, 32, 32), 4, 32), _times((4 * 32, 128), 4, 32), _times((32, 64), 4, 16)
    (2, 1, 0)
    """
    is_flattened = bool(shape) and shape[0] > 0 and shape[0] % (batch * length) == 0
    return sum(side == length for side in shape) + int(is_flattened)
