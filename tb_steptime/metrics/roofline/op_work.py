"""Which op each kernel works for, and how much that op computes and moves at least.

    aten::linear  |--------------------|
    aten::addmm     |----------------|        the innermost product counts
    aten::copy_       |--|                    but an op with bytes of its own launches its own kernels
    kernels             c        g

A product's kernels may be launched by ops within it that have no formula, such as transforms. A memory-bound op has
those alone of which it is the innermost op.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.tensor_cores.matmul_ops import (
    Product,
    Products,
    alike,
    find_products,
    input_column,
    input_text,
)
from tb_steptime.metrics.work.least_bytes import MEMORY_OPS, moved_by
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import named_in
from tb_steptime.trace.nesting import outermost
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool


@shared(find_products, kernel_origins)
def product_calls(trace: Trace) -> Products:
    """As `find_products`, of products whose operations are known, and none of which is in another one with kernels of
    its own: the gradient of a convolution's input, as torch of 2021 computed it, belongs to the convolution's backward.
    """
    found = find_products(trace)
    known = np.array([each.work is not None for each in found.distinct] + [False], bool)[found.place]
    mine = np.flatnonzero(known & ~_moves(trace))
    ops, first = np.unique(found.op[mine].astype(np.int64), return_index=True)
    op, place = np.full_like(found.op, -1), np.full_like(found.place, -1)
    if len(mine):
        root = np.searchsorted(ops, outermost(trace, ops, ops))[np.searchsorted(ops, found.op[mine])]
        op[mine], place[mine] = ops[root], found.place[mine][first][root]
    return Products(op, place, found.distinct)


@shared(kernel_origins, product_calls)
def kernel_work(trace: Trace) -> Products:
    """For each row of the kernel table the op with a formula, and what one call of it does; -1 for none."""
    products, own = product_calls(trace), kernel_origins(trace).op.astype(np.int64)
    rows = np.flatnonzero(_moves(trace))
    keys = [input_column(trace, name, own[rows]) for name in ("name", "shapes", "dtypes", "settings")]
    key_place, first = alike(*keys)
    moving = [_moving(trace, key) for key in zip(*(key[first].tolist() for key in keys), strict=True)]
    op, place = products.op.copy(), products.place.copy()
    op[rows], place[rows] = own[rows], len(products.distinct) + key_place
    return Products(op, place, [*products.distinct, *moving])


def _moves(trace: Trace) -> Bool:
    """Of each kernel: is its innermost op one whose bytes are known?"""
    own = kernel_origins(trace).op
    ops = own[own >= 0].astype(np.int64)
    known = named_in(trace, ops, MEMORY_OPS.__contains__)
    moves: Bool = (own >= 0) & known[trace.events.name[own]]
    return moves


def _moving(trace: Trace, key: tuple[int, ...]) -> Product:
    op = trace.strings[key[0]]
    shapes, dtypes, settings = (input_text(trace, row) for row in key[1:])
    return Product(op, shapes, dtypes, moved_by(op, shapes, dtypes, settings))
