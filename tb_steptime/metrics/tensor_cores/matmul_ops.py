"""The product op for which each kernel works: the innermost one with known arithmetic, with its inputs' shapes."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.flops.calls import Outputs, Work
from tb_steptime.metrics.flops.convolutions import BACKWARD, convolution_output
from tb_steptime.metrics.flops.op_flops import OPS, work_of
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in, is_in, values_at

#: Ops that compute one of the gradients inside such an op.
_ONE_GRADIENT = expression(r"aten::(?:cudnn|miopen)_convolution_backward_(?:input|weight)$")


class Product(NamedTuple):
    """One op on inputs of certain shapes and types, as compact JSON; empty where not recorded."""

    op: str
    shapes: str
    dtypes: str
    work: Work | None


class Products(NamedTuple):
    """For each kernel: row of its op in the event table, and the op's place in `distinct`; -1 for none. An op that is
    known only from a label has a number beyond the rows, a different one for each of its calls."""

    op: Int32 | Int64
    place: Int32 | Int64
    distinct: list[Product]

    @property
    def has_work(self) -> Bool:
        """For each kernel whether its op is known, with its amount of work."""
        known: Bool = np.array([*(product.work is not None for product in self.distinct), False], bool)[self.place]
        return known


@shared
def find_products(trace: Trace) -> Products:
    """The product of each row of the kernel table. Of nested ops the inner one counts, as it is nearer to the
    kernel."""
    rows = rows_named(trace, (Kind.CPU_OP,), OPS.__contains__)
    origins = kernel_origins(trace)
    op = innermost(trace, rows, np.where(origins.call >= 0, origins.call, origins.op))
    op = _with_labelled(trace, op)
    place = np.full(len(op), -1, np.int64)
    found = np.flatnonzero(op >= 0)
    keys = inputs_of(trace, found, op[found])
    keys.append(_gradients(trace, op[found]))
    groups, outputs = Groups.of(*keys), _outputs(trace, rows)
    first = zip(*(key[groups.first].tolist() for key in keys), strict=True)
    products = [_product(trace, key, outputs) for key in first]
    number = {product: place for place, product in enumerate(dict.fromkeys(products))}
    place[found] = np.array([number[product] for product in products], np.int64)[groups.place]
    return Products(op.astype(np.int32), place.astype(np.int32), list(number))


def _with_labelled(trace: Trace, op: Int64) -> Int64:
    """Set the products of labelled kernels to the op in their label; to none if that op is not a product."""
    labels = kernel_labels(trace)
    if labels is None:
        return op
    return np.where(labels.op < 0, op, np.where(names_among(trace, labels.op, OPS), labelled_ops(trace), -1))


def labelled_ops(trace: Trace) -> Int64:
    """For each kernel whose op is known only from a label, the number of that op's call, beyond the rows of the event
    table; -1 for none."""
    labels = kernel_labels(trace)
    if labels is None:
        return np.full(len(trace.kernels), -1, np.int64)
    calls = Groups.of(kernel_origins(trace).call, labels.call)
    return np.where(labels.op >= 0, len(trace.events) + calls.place, -1)


def inputs_of(trace: Trace, kernels: Int64, ops: Int64) -> list[Int64]:
    """For the ops of some rows of the kernel table the name, a row of the string table, and shapes, dtypes and
    settings, rows of the table of inputs; -1 if not recorded. ops: as in `Products`."""
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


def names_among(trace: Trace, name: Int32, wanted: Collection[str]) -> Bool:
    """Which of these rows of the string table are among some names. A negative row stands for no name."""
    return is_in(name, [each for each in distinct_in(name[name >= 0]).tolist() if trace.strings[each] in wanted])


def _product(trace: Trace, key: tuple[int, ...], outputs: Outputs) -> Product:
    """The product of a key. Settings that do not affect the work do not distinguish products."""
    op = trace.strings[key[0]]
    shapes, dtypes, settings = (input_text(trace, row) for row in key[1:-1])
    return Product(op, shapes, dtypes, work_of(op, shapes, dtypes, settings, outputs, key[-1] or None))


def _gradients(trace: Trace, ops: Int64) -> Int64:
    """How many gradients the ops inside each of these ops compute; 0 if none inside does.

    aten::cudnn_convolution_backward  |----------------------|    2; of a layer whose input needs no gradient 1
    ..._backward_input, ..._weight      |-------|  |-------|      as torch of 2021 and before recorded them
    """
    parts = rows_named(trace, (Kind.CPU_OP,), _ONE_GRADIENT.match)
    if not len(parts):
        return np.zeros(len(ops), np.int64)
    recorded = ops < len(trace.events)
    of_both = rows_named(trace, (Kind.CPU_OP,), BACKWARD.__contains__)
    around = innermost(trace, of_both, parts)
    count = np.bincount(around[around >= 0], minlength=len(trace.events))
    return np.where(recorded, count[np.where(recorded, ops, 0)], 0)


def input_text(trace: Trace, row: int) -> str:
    """A row of the table of inputs; empty for -1."""
    return trace.inputs[row] if row >= 0 else ""


def _outputs(trace: Trace, rows: Int64) -> Outputs:
    """Sizes of convolutions' outputs as recorded by their backward, if these are unambiguous."""
    if trace.events.shapes is None:
        return {}
    names, shapes = trace.events.name[rows], trace.events.shapes[rows]
    first = Groups.of(names, shapes).first
    pairs = zip(names[first].tolist(), shapes[first].tolist(), strict=True)
    sizes = [convolution_output(trace.strings[name], input_text(trace, shape)) for name, shape in pairs]
    known = dict(filter(None, sizes))
    ambiguous = {key for key, output in filter(None, sizes) if known[key] != output}
    return {key: output for key, output in known.items() if key not in ambiguous}
