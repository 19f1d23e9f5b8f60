"""Matrix products of 16 bits on a CPU that has no instructions for them, and computes them faster in FP32."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import work_of
from tb_steptime.metrics.means import usual_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Matrix products that call no other op.
_PRODUCTS = expression(r"aten::(mm|addmm|bmm|baddbmm)$")
#: Types of 16 bits, by the names that the profiler writes.
_HALF = {"c10::BFloat16": "BF16", "c10::Half": "FP16"}
#: Minimum number of operations of a product, so that its fixed cost of 1 to 5 us does not show in its rate.
_LEAST_FLOPS = 4_000_000
#: Minimum size of each side of such a product. A product with few rows takes as long as reading its weights, which have
#: twice as many bytes in FP32.
_LEAST_SIDE = 32
#: Maximum rate of products of 16 bits on a CPU without instructions for them, as a share of the rate of the recording's
#: products in FP32. One core with AVX2 reaches 50 to 70 operations per ns in FP32. In 16 bits it reaches 10 to 17 if
#: the second matrix is transposed, as in a linear layer; 18 to 31, and 5 in FP16, if the first one is, as for gradients
#: of weights; and 1 to 3 otherwise. With AVX-512 BF16 or AMX, 16 bits are faster than FP32. Both rates are of the same
#: cores under the same load.
_FAR_BELOW_FP32 = 0.5
#: Minimum time of such a product, so that calling it and waking threads, about 20 us, is a small part of it.
_LONG_PRODUCT_NS = 100_000
#: Maximum rate, in operations per ns, if the recording has no products in FP32. With AVX-512 BF16 or AMX a core exceeds
#: 100.
_WITHOUT_INSTRUCTIONS = 20.0
#: Assumed rate in FP32 if the recording has no such product: at least this many times that of 16 bits, of which 4 times
#: or more were measured, and at least this rate, which one core with AVX2 exceeds.
_FP32_TIMES, _FP32_RATE = 3.0, 8.0


class SlowHalf(msgspec.Struct, frozen=True):
    """Products of 16 bits on a CPU without instructions for them, in the mean step.

    usual_ns    their time in a step in which each op takes its lower median time
    rate        operations per ns of that time
    fp32_rate   the same of the recording's products in FP32, or else one that such a CPU reaches
    """

    dtype: str
    usual_ns: int
    rate: float
    fp32_rate: float


def slow_half(trace: Trace, rows: Int64, own_ns: Int64) -> SlowHalf | None:
    """Returns the products of 16 bits; None if there are none, if the CPU computes them fast, or if shapes were not
    recorded. rows: rows of ops. own_ns: the self time of each."""
    by_type = _flops_by_type(trace, rows)
    half = max(by_type.keys() & _HALF.keys(), key=lambda dtype: by_type[dtype].sum(), default=None)
    if half is None:
        return None
    share, rate = _usual_rate(trace, rows, own_ns, by_type[half])
    if "float" not in by_type:
        fp32_rate = max(_FP32_RATE, _FP32_TIMES * rate)
        return SlowHalf(_HALF[half], share, rate, fp32_rate) if rate <= _WITHOUT_INSTRUCTIONS else None
    fp32_rate = _usual_rate(trace, rows, own_ns, by_type["float"])[1]
    calls = int((by_type[half] > 0).sum()) / len(find_steps(trace).steps)
    slow = rate <= _FAR_BELOW_FP32 * fp32_rate and share >= _LONG_PRODUCT_NS * calls
    return SlowHalf(_HALF[half], share, rate, fp32_rate) if slow else None


def _usual_rate(trace: Trace, rows: Int64, own_ns: Int64, flops: Int64) -> tuple[int, float]:
    """Returns the usual time of these products in the mean step, and their operations per ns of it. flops: the
    operations of each row."""
    steps, has_flops = find_steps(trace), flops > 0
    ns = usual_ns(steps.start_ns, trace.events.start_ns[rows[has_flops]], own_ns[has_flops])
    return ns, float(flops.sum()) / len(steps.steps) / max(ns, 1)


def _flops_by_type(trace: Trace, rows: Int64) -> dict[str, Int64]:
    """Returns the operations of each row by the type of the first matrix; 0 for all but large products."""
    events, by_type = trace.events, dict[str, Int64]()
    if events.shapes is None or events.dtypes is None:
        return by_type
    candidates = np.flatnonzero(
        are_named(trace, rows, _PRODUCTS.match) & (events.shapes[rows] >= 0) & (events.dtypes[rows] >= 0)
    )
    inputs = np.stack([column[rows[candidates]] for column in (events.name, events.shapes, events.dtypes)], axis=1)
    distinct, kind = np.unique(inputs, axis=0, return_inverse=True)
    for place, (name, shapes, dtypes) in enumerate(distinct.tolist()):
        work = work_of(trace.strings[name], trace.inputs[shapes], trace.inputs[dtypes])
        if work is not None and work.flops >= _LEAST_FLOPS and min(work.lengths) >= _LEAST_SIDE:
            flops = by_type.setdefault(work.dtype, np.zeros(len(rows), np.int64))
            flops[candidates[kind == place]] = work.flops
    return by_type
