"""Products that make the gradient of weights. The result has the size of the weights, whatever the batch is.

forward    aten::addmm  [8192,1024] x [1024,4096]    a batch of 8192 rows
backward   aten::mm     [8192,4096] x [4096,1024]    gradient of the inputs: as many rows
backward   aten::mm     [1024,8192] x [8192,4096]    gradient of the weights: a sum over the rows
"""

from __future__ import annotations

import math

import numpy as np

from tb_steptime.metrics.flops.op_flops import shapes_of
from tb_steptime.metrics.gpu.activities import Product, find_products
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Bool, Int64, values_at


def of_weights(trace: Trace, rows: Int64) -> Bool:
    """Returns which of these rows of the kernel table make the gradient of weights; none without recorded shapes. If
    the batch has as many rows as the weights, sizes do not show it, and the result is False."""
    chosen = np.zeros(len(rows), bool)
    shapes = trace.events.shapes
    products = find_products(trace)
    if shapes is None:
        return chosen
    op = products.op[rows].astype(np.int64)
    known = np.flatnonzero((op >= 0) & (op < len(trace.events)))
    forward = values_at(shapes, forward_of(trace, op[known]).astype(np.int64))
    groups = Groups.of(products.place[rows[known]].astype(np.int64), forward.astype(np.int64))
    of_group = [
        inputs >= 0 and _sums_over_rows(products.distinct[place], trace.inputs[inputs])
        for place, inputs in zip(
            products.place[rows[known]][groups.first].tolist(), forward[groups.first].tolist(), strict=True
        )
    ]
    chosen[known] = np.array(of_group, bool)[groups.place]
    return chosen


def _sums_over_rows(product: Product, forward: str) -> bool:
    """Returns whether the product sums over the rows that its forward op had, and its result has the size of the
    weights."""
    lengths = product.work.lengths if product.work is not None and product.work.batch == 1 else ()
    matrices = [shape for shape in shapes_of(forward) or () if len(shape) > 1]
    if len(lengths) != 3 or len(matrices) != 2 or len(matrices[1]) != 2:
        return False
    (*sizes, summed), rows, weights = lengths, math.prod(matrices[0][:-1]), matrices[1]
    return summed == rows and sorted(sizes) == sorted(weights) and rows not in weights
