"""Device activities in terms that a user knows: the op of a kernel with the shapes of its inputs, its module, a short
name, and the direction of a copy.

void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(cutlass_80_tensorop_s1688gemm...)
kernel   gemm tf32 64x64
op       aten::bmm on [[96,1569,64],[96,64,1569]], in Attention, backward
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.flops.op_flops import BACKWARD_CONVOLUTIONS, OPS, Outputs, Work, convolution_output, work_of
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups, exact_sums
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import forward_of, kernel_origins
from tb_steptime.trace.sources import Words, modules, sources, words_of
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in, is_in, values_at

# Each kernel works for a product op, which is the innermost op around its launch with known arithmetic.

#: Ops that compute one of the gradients inside a product op.
_ONE_GRADIENT = expression(r"aten::(?:cudnn|miopen)_convolution_backward_(?:input|weight)$")


class Product(msgspec.Struct, frozen=True):
    """One op on inputs of certain shapes and types, as compact JSON; empty if not recorded."""

    op: str
    shapes: str
    dtypes: str
    work: Work | None


class Products(msgspec.Struct, frozen=True, eq=False):
    """The row of each kernel's op in the event table, and the place of its product in `distinct`; -1 for none. An op
    that is known only from a label has a number beyond the rows, a different one for each of its calls."""

    op: Int32 | Int64
    place: Int32 | Int64
    distinct: list[Product]

    @property
    def has_work(self) -> Bool:
        """For each kernel, whether its op and the op's amount of work are known."""
        return np.array([*(product.work is not None for product in self.distinct), False], bool)[self.place]


@shared
def find_products(trace: Trace) -> Products:
    """Returns the product of each row of the kernel table. Of nested ops the inner one counts, because it is nearer to
    the kernel."""
    rows = rows_named(trace, (Kind.CPU_OP,), OPS.__contains__)
    op = innermost(trace, rows, kernel_origins(trace).place)
    labels = kernel_labels(trace)
    if labels is not None:  # without a product if the labelled op is none, or its work is not known to be the kernel's
        op = np.where(labels.op < 0, op, np.where(names_among(trace, labels.op, OPS), labelled_ops(trace), -1))
    place = np.full(len(op), -1, np.int64)
    with_op = np.flatnonzero(op >= 0)
    keys = inputs_of(trace, with_op, op[with_op])
    keys.append(_gradients(trace, op[with_op]))
    groups, outputs = Groups.of(*keys), _outputs(trace, rows)
    first = zip(*(key[groups.first].tolist() for key in keys), strict=True)
    products = [_product(trace, key, outputs) for key in first]
    number = {product: place for place, product in enumerate(dict.fromkeys(products))}
    place[with_op] = np.array([number[product] for product in products], np.int64)[groups.place]
    return Products(op.astype(np.int32), place.astype(np.int32), list(number))


def labelled_ops(trace: Trace) -> Int64:
    """Returns for each kernel whose op and work are known only from a label the number of that op's call, which lies
    beyond the rows of the event table; -1 for all others."""
    labels = kernel_labels(trace)
    if labels is None:
        return np.full(len(trace.kernels), -1, np.int64)
    calls = Groups.of(kernel_origins(trace).call, labels.call)
    return np.where((labels.op >= 0) & labels.is_same, len(trace.events) + calls.place, -1)


def inputs_of(trace: Trace, kernels: Int64, ops: Int64) -> list[Int64]:
    """Returns four columns for the ops of some rows of the kernel table: the name, a row of the string table, and
    shapes, dtypes and settings, rows of the table of inputs; -1 if not recorded. ops: as in `Products`."""
    events, recorded = trace.events, np.where(ops < len(trace.events), ops, -1)
    columns = [
        np.full(len(ops), -1, np.int64) if column is None else values_at(column, recorded)
        for column in (events.name, events.shapes, events.dtypes, events.settings)
    ]
    labels = kernel_labels(trace)
    if labels is None:
        return columns
    labelled = (labels.op, labels.shapes, labels.dtypes, labels.settings)
    return [
        np.where(recorded >= 0, column, label[kernels]).astype(np.int64)
        for column, label in zip(columns, labelled, strict=True)
    ]


def names_among(trace: Trace, name: Int32, names: Collection[str]) -> Bool:
    """Returns which of these rows of the string table are among some names. A negative row stands for no name."""
    return is_in(name, [each for each in distinct_in(name[name >= 0]).tolist() if trace.strings[each] in names])


def _product(trace: Trace, key: tuple[int, ...], outputs: Outputs) -> Product:
    """Returns the product of a key. Settings that do not affect the work do not distinguish products."""
    op = trace.strings[key[0]]
    shapes, dtypes, settings = (input_text(trace, row) for row in key[1:-1])
    return Product(op, shapes, dtypes, work_of(op, shapes, dtypes, settings, outputs, key[-1] or None))


def _gradients(trace: Trace, ops: Int64) -> Int64:
    """Returns how many gradients the ops inside each of these ops compute; 0 if none inside does.

    aten::cudnn_convolution_backward  |----------------------|    2; of a layer whose input needs no gradient 1
    ..._backward_input, ..._weight      |-------|  |-------|      as torch of 2021 and before recorded them
    """
    parts = rows_named(trace, (Kind.CPU_OP,), _ONE_GRADIENT.match)
    if not len(parts):
        return np.zeros(len(ops), np.int64)
    recorded = ops < len(trace.events)
    of_both = rows_named(trace, (Kind.CPU_OP,), BACKWARD_CONVOLUTIONS.__contains__)
    around = innermost(trace, of_both, parts)
    count = np.bincount(around[around >= 0], minlength=len(trace.events))
    return np.where(recorded, count[np.where(recorded, ops, 0)], 0)


def input_text(trace: Trace, row: int) -> str:
    """Returns a row of the table of inputs; empty for -1."""
    return trace.inputs[row] if row >= 0 else ""


def _outputs(trace: Trace, rows: Int64) -> Outputs:
    """Returns the output sizes of convolutions as their backward convolutions record them, if these are unambiguous."""
    if trace.events.shapes is None:
        return {}
    names, shapes = trace.events.name[rows], trace.events.shapes[rows]
    first = Groups.of(names, shapes).first
    pairs = zip(names[first].tolist(), shapes[first].tolist(), strict=True)
    sizes = [convolution_output(trace.strings[name], input_text(trace, shape)) for name, shape in pairs]
    outputs = dict(filter(None, sizes))
    ambiguous = {key for key, output in filter(None, sizes) if outputs[key] != output}
    return {key: output for key, output in outputs.items() if key not in ambiguous}


#: Suffix number of a module. It is dropped, because modules of one class do the same work.
_NUMBER = expression(r"_\d+$")


class KernelSite(msgspec.Struct, frozen=True):
    """The place from which most time of some kernels comes.

    kernel           short name of the kernel
    op               the innermost op that launched it; None if none is recorded
    shapes, dtypes   shapes and types of the op's inputs as compact JSON; None if they are not recorded or not kept
    module, source   class of the innermost nn.Module around the op, and the innermost source line outside torch; for a
                     backward kernel those around its forward op; None in traces without call stacks
    backward         whether nodes of the backward pass launched the kernels with most of the time
    longest          the longest of the kernels, to show in the timeline
    """

    kernel: str
    op: str | None = None
    shapes: str | None = None
    dtypes: str | None = None
    module: str | None = None
    source: str | None = None
    backward: bool = False
    longest: Evidence | None = None


def kernel_site(trace: Trace, rows: Int64) -> KernelSite:
    """Returns the site of some rows of the kernel table, at least one. Each part of it is the value with the most
    time."""
    origins = kernel_origins(trace)
    call, op = origins.call[rows].astype(np.int64), origins.op[rows].astype(np.int64)
    return activity_site(trace, trace.kernels.event[rows], call, op)


def activity_site(trace: Trace, event: Int64, call: Int64, op: Int64) -> KernelSite:
    """Returns the site of kernels or copies. The arguments are rows of the event table: activities, their launching
    calls, and their ops."""
    events, dur = trace.events, trace.events.dur_ns[event] + 1  # at a resolution of microseconds lengths may be 0
    name, op_name = _leading(events.name[event], dur), _leading(values_at(events.name, op), dur)
    same_op = (op >= 0) & (events.name[op] == op_name)
    anchor = np.where(call >= 0, call, op)
    forward = forward_of(trace, anchor).astype(np.int64)
    user = np.where(forward >= 0, forward, anchor)
    return KernelSite(
        kernel=short_name(trace.strings[name]),
        op=trace.strings.get(op_name),
        shapes=_input(trace, events.shapes, op[same_op], dur[same_op]),
        dtypes=_input(trace, events.dtypes, op[same_op], dur[same_op]),
        module=_word(modules(trace, user), dur, lambda word: _NUMBER.sub("", word)),
        source=_word(sources(trace, user), dur, str),
        backward=bool(dur[forward >= 0].sum() * 2 > dur.sum()),
        longest=run_of(trace, int(event[dur.argmax()])),
    )


def run_of(trace: Trace, event: int) -> Evidence:
    """Returns the time range of an event, and the step in which it begins."""
    start_ns = int(trace.events.start_ns[event])
    return Evidence(find_steps(trace).at(start_ns).name, start_ns, start_ns + int(trace.events.dur_ns[event]))


def _leading(values: npt.NDArray[np.integer], weight: Int64) -> int:
    """Returns the value with the most weight, of equals the smallest one; -1 if there are no values."""
    if not len(values):
        return -1
    distinct, place = np.unique(values, return_inverse=True)
    return int(distinct[np.bincount(place.reshape(-1), weight).argmax()])


def _input(trace: Trace, column: Int32 | None, ops: Int64, weight: Int64) -> str | None:
    row = -1 if column is None else _leading(column[ops], weight)
    return trace.inputs[row] if row >= 0 else None


def _word(words: Words, weight: Int64, shown: Callable[[str], str]) -> str | None:
    """Returns the text with the most weight, as it is shown; None if most have none."""
    sums: dict[str | None, int] = {}
    numbers, first, place = np.unique(words.number, return_index=True, return_inverse=True)
    total = exact_sums(place.reshape(-1), weight, len(numbers))
    for each in np.argsort(first).tolist():  # of texts with equal weight the first one counts
        number = int(numbers[each])
        word = shown(words.texts[number]) if number >= 0 else None
        sums[word] = sums.get(word, 0) + int(total[each])
    return max(sums, key=lambda word: sums[word], default=None)


# The source and the target of a copy are parsed from the activity's name.
#
# Memcpy HtoD (Pageable -> Device)      HtoD, Pageable, Device
# CopyHostToDevice                      HtoD, Host, Device: this producer does not name the kind of host memory
# Memcpy M2D                            HtoD, Host, Device: Intel's, where M is memory of the system, S shared memory

_SPELLED = expression(r"(?P<direction>\w+to\w+)\s*\((?P<source>.+?)\s*->\s*(?P<target>.+?)\)")
_IN_WORDS = expression(r"Copy(?P<source>Host|Device)To(?P<target>Host|Device)")
_BY_LETTERS = expression(r"Memcpy (?P<source>[MHDS])2(?P<target>[MHDS])\b")
_MEMORY = {"M": "Host", "H": "Host", "D": "Device", "S": "Shared"}
_UNKNOWN_MEMORY = "Unknown"


class CopyDirection(msgspec.Struct, frozen=True):
    """The direction, the source and the target of a copy."""

    direction: str
    source: str
    target: str


def way(name: str) -> CopyDirection:
    """Returns the direction that the name of a copy shows.

    >>> way("Memcpy DtoH (Device -> Pinned)")
    CopyDirection(direction='DtoH', source='Device', target='Pinned')
    """
    if match := _SPELLED.search(name):
        return CopyDirection(match["direction"], match["source"], match["target"])
    if match := _IN_WORDS.search(name):
        return CopyDirection(f"{match['source'][0]}to{match['target'][0]}", match["source"], match["target"])
    if match := _BY_LETTERS.match(name):
        source, target = _MEMORY[match["source"]], _MEMORY[match["target"]]
        return CopyDirection(f"{source[0]}to{target[0]}", source, target)
    return CopyDirection(name, _UNKNOWN_MEMORY, _UNKNOWN_MEMORY)


def directions(trace: Trace, copies: Int32) -> Words:
    """Returns the directions of copies, given as rows of `find_launches`; none for -1."""
    is_copy = copies >= 0
    name = np.full(len(copies), -1, np.int32)
    name[is_copy] = trace.events.name[find_launches(trace).activity[copies[is_copy]]]
    return words_of(name, trace.strings.strings, lambda text: way(text).direction)
