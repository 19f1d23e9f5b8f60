"""The op for which each kernel works, whose computation and memory traffic have a known minimum.

    aten::linear  |--------------------|
    aten::addmm     |----------------|        the innermost product counts
    aten::copy_       |--|                    but an op with bytes of its own launches its own kernels
    kernels             c        g

Ops inside a product that have no formula, such as transforms, may launch its kernels. A memory-bound op has only the
kernels of which it is the innermost op.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.flops.least_bytes import MEMORY_OPS, moved_by
from tb_steptime.metrics.gpu.activities import (
    Product,
    Products,
    find_products,
    input_text,
    inputs_of,
    labelled_ops,
    names_among,
)
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import outermost
from tb_steptime.trace.ops import kernel_op_names, kernel_origins
from tb_steptime.trace.table import Bool


@shared
def product_calls(trace: Trace) -> Products:
    """Returns the products with known operations that are not inside another product with kernels of its own, in the
    form of `find_products`. Versions of torch from 2021 compute the gradient of a convolution's input in an op inside
    the convolution's backward, to which it belongs."""
    products = find_products(trace)
    computing = np.flatnonzero(products.has_work & ~_moves(trace))
    ops, first = np.unique(products.op[computing].astype(np.int64), return_index=True)
    op, place = np.full_like(products.op, -1), np.full_like(products.place, -1)
    if len(computing):
        of_ops, rows = np.arange(len(ops)), ops[ops < len(trace.events)]
        of_ops[: len(rows)] = np.searchsorted(rows, outermost(trace, rows, rows))
        root = of_ops[np.searchsorted(ops, products.op[computing])]
        op[computing], place[computing] = ops[root], products.place[computing][first][root]
    return Products(op, place, products.distinct)


@shared
def kernel_work(trace: Trace) -> Products:
    """Returns for each row of the kernel table the op with a formula, and the work of one call of it; -1 for none."""
    products, labelled = product_calls(trace), labelled_ops(trace)
    kernel_op = np.where(labelled >= 0, labelled, kernel_origins(trace).op)
    rows = np.flatnonzero(_moves(trace))
    keys = inputs_of(trace, rows, kernel_op[rows])
    groups = Groups.of(*keys)
    moving = [_moving(trace, key) for key in zip(*(key[groups.first].tolist() for key in keys), strict=True)]
    op, place = products.op.copy(), products.place.copy()
    op[rows], place[rows] = kernel_op[rows], len(products.distinct) + groups.place
    return Products(op, place, [*products.distinct, *moving])


def _moves(trace: Trace) -> Bool:
    """Returns which kernels' innermost op moves a known number of bytes. Labelled kernels count if they ran for that
    very op."""
    labels = kernel_labels(trace)
    moves = names_among(trace, kernel_op_names(trace, np.arange(len(trace.kernels))), MEMORY_OPS)
    return moves if labels is None else moves & ((labels.op < 0) | labels.is_same)


def _moving(trace: Trace, key: tuple[int, ...]) -> Product:
    op = trace.strings[key[0]]
    shapes, dtypes, settings = (input_text(trace, row) for row in key[1:])
    return Product(op, shapes, dtypes, moved_by(op, shapes, dtypes, settings))
