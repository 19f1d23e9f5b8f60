"""Products of a matrix and a vector: for a single input all weights are read for one row of output."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import find_products
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.ops import kernel_op_names
from tb_steptime.trace.table import Int64, distinct_in, is_in


class VectorProducts(msgspec.Struct, frozen=True):
    """Products of a matrix and a vector, with weights of 16 bits or more; means per step.

    share          share of the kernel time
    one_row        share of their time in products with one row of input; None if shapes of most of it are not recorded
    attention_ns   time of products whose ops are those of attention, which have no weights
    named_ns       time of all kernels with a known op
    """

    share: float
    count: float
    total_ns: float
    one_row: float | None
    attention_ns: float
    named_ns: float


#: The short names of products of a matrix and a vector whose weights have 16 bits or more.
_VECTOR_PRODUCT = expression(r"^gemv (?:f16|bf16|f32)\b")
_OF_ATTENTION = ("aten::bmm", "aten::baddbmm")


def vector_products(trace: Trace, rows: Int64, steps: int) -> VectorProducts | None:
    """Returns the products of a matrix and a vector among these rows of the kernel table, as means over so many steps;
    None if there are none."""
    event, short = trace.kernels.event[rows], kernel_names(trace)
    vectors = are_named(trace, event, lambda name: _VECTOR_PRODUCT.search(short[name]))
    if not vectors.any():
        return None
    dur, op, products = trace.events.dur_ns[event], kernel_op_names(trace, rows), find_products(trace)
    input_rows = [*(product.work.rows if product.work else 0 for product in products.distinct), 0]
    inputs = np.array(input_rows)[products.place[rows]]
    attention = is_in(op, [row for row in distinct_in(op[op >= 0]).tolist() if trace.strings[row] in _OF_ATTENTION])
    total, with_inputs, with_vector, attends, named = (
        int(dur[which].sum())
        for which in (vectors, vectors & (inputs > 0), vectors & (inputs == 1), attention, op >= 0)
    )
    return VectorProducts(
        share=total / max(1, int(dur.sum())),
        count=int(vectors.sum()) / steps,
        total_ns=total / steps,
        one_row=with_vector / with_inputs if 2 * with_inputs > total else None,
        attention_ns=attends / steps,
        named_ns=named / steps,
    )
