"""The op for which each kernel works, and the least that this op computes and moves.

    aten::linear  |--------------------|
    aten::addmm     |----------------|        the innermost product counts
    aten::copy_       |--|                    but an op with bytes of its own launches its own kernels
    kernels             c        g

A product's kernels may be launched by ops inside it that have no formula, such as transforms. A memory-bound op has
only the kernels of which it is the innermost op.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.flops.least_bytes import MEMORY_OPS, moved_by
from tb_steptime.metrics.tensor_cores.matmul_ops import (
    Product,
    Products,
    find_products,
    input_text,
    inputs_of,
    labelled_ops,
    names_among,
)
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import outermost
from tb_steptime.trace.ops import kernel_op_names, kernel_origins
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool


@shared
def product_calls(trace: Trace) -> Products:
    """The products with known operations that are not inside another product with kernels of its own, in the form of
    `find_products`. The gradient of a convolution's input, as torch of 2021 computed it, belongs to the convolution's
    backward."""
    found = find_products(trace)
    mine = np.flatnonzero(found.has_work & ~_moves(trace))
    ops, first = np.unique(found.op[mine].astype(np.int64), return_index=True)
    op, place = np.full_like(found.op, -1), np.full_like(found.place, -1)
    if len(mine):
        of_ops, rows = np.arange(len(ops)), ops[ops < len(trace.events)]
        of_ops[: len(rows)] = np.searchsorted(rows, outermost(trace, rows, rows))
        root = of_ops[np.searchsorted(ops, found.op[mine])]
        op[mine], place[mine] = ops[root], found.place[mine][first][root]
    return Products(op, place, found.distinct)


@shared
def kernel_work(trace: Trace) -> Products:
    """For each row of the kernel table the op with a formula, and the work of one call of it; -1 for none."""
    products, labelled = product_calls(trace), labelled_ops(trace)
    own = np.where(labelled >= 0, labelled, kernel_origins(trace).op)
    rows = np.flatnonzero(_moves(trace))
    keys = inputs_of(trace, rows, own[rows])
    groups = Groups.of(*keys)
    moving = [_moving(trace, key) for key in zip(*(key[groups.first].tolist() for key in keys), strict=True)]
    op, place = products.op.copy(), products.place.copy()
    op[rows], place[rows] = own[rows], len(products.distinct) + groups.place
    return Products(op, place, [*products.distinct, *moving])


def _moves(trace: Trace) -> Bool:
    """Which kernels' innermost op moves a known number of bytes."""
    return names_among(trace, kernel_op_names(trace, np.arange(len(trace.kernels))), MEMORY_OPS)


def _moving(trace: Trace, key: tuple[int, ...]) -> Product:
    op = trace.strings[key[0]]
    shapes, dtypes, settings = (input_text(trace, row) for row in key[1:])
    return Product(op, shapes, dtypes, moved_by(op, shapes, dtypes, settings))
