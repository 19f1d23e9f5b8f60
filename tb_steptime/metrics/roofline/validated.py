"""The estimated use of tensor cores and memory by ops, beside what the GPU measured of both in the same time.

kernels    [ product: 40 us at the peak ]   [ add: 10 us at the peak bandwidth ]
samples    (  0.55  ](  0.60  ](  0.40   ](   0.20   ]
est.       time at the peak / time that samples cover

The work of an op is spread evenly over its kernels. An estimate would be too low if much of the work were unknown,
although the formula is right. It is therefore only given if the work of nearly all kernel time is known.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.flops.peaks import device_peaks
from tb_steptime.metrics.gpu.activities import Products
from tb_steptime.metrics.gpu.counters import DRAM, TENSOR_ACTIVE, Samples, Validation, beside_samples, samples
from tb_steptime.metrics.gpu.utilization import exchanging, kernel_rows
from tb_steptime.metrics.roofline.kernel_work import kernel_work, product_calls
from tb_steptime.metrics.roofline.utilization import products_at_peak_ns
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import sums_before, weighted_overlap
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import Float64, Int64

#: Minimum share of the kernel time during a counter's samples that must have known work.
LEAST_VALIDATED = 0.9


@shared
def validated_tensor_work(trace: Trace, device: int) -> Validation | None:
    """Returns the time at the peak of products on tensor cores, and the measured activity of tensor cores; None if one
    of the two is unknown."""
    counter, rows = samples(trace, device, TENSOR_ACTIVE.id), kernel_rows(trace, device)
    if counter is None or device_peaks(trace, device) is None:
        return None
    on_cores = kernel_bins(trace)[rows] == BINS.index("tensor_core")
    at_peak = products_at_peak_ns(trace, device, rows)
    return _validated(trace, counter, rows[on_cores], product_calls(trace), at_peak[on_cores])


@shared
def validated_traffic(trace: Trace, device: int) -> Validation | None:
    """Returns the time that reading inputs and writing results once each takes at the peak bandwidth, and the measured
    use of the bandwidth; None if one of the two is unknown."""
    counter = samples(trace, device, DRAM.id)
    rows = kernel_rows(trace, device)
    peaks = device_peaks(trace, device)
    if counter is None or peaks is None:
        return None
    rows, work = rows[~exchanging(trace, rows)], kernel_work(trace)
    nbytes = [product.work.least_bytes if product.work else None for product in work.distinct]
    bytes_moved = np.array([np.nan if least is None else least for least in nbytes] + [np.nan], np.float64)
    return _validated(trace, counter, rows, work, bytes_moved[work.place[rows]] / peaks.memory)  # GB/s = bytes/ns


def _validated(trace: Trace, counter: Samples, rows: Int64, ops: Products, at_peak_ns: Float64) -> Validation | None:
    """Returns the estimate for the time of these samples beside their mean; None if the work of too little kernel time
    is known.

    at_peak_ns  for each of these rows of the kernel table the time that its whole op would take at the peak; NaN if
                unknown
    """
    event = trace.kernels.event[rows]
    length = trace.events.dur_ns[event]
    has_bound = (ops.op[rows] >= 0) & ~np.isnan(at_peak_ns)
    if not has_bound.any() or length[has_bound].sum() < LEAST_VALIDATED * length.sum():
        return None
    begin = trace.events.start_ns[event[has_bound]]
    finish = trace.events.ends(event[has_bound])
    groups = Groups.of(ops.op[rows[has_bound]].astype(np.int64))
    rate = at_peak_ns[has_bound] / np.maximum(groups.sum(length[has_bound]).astype(np.float64)[groups.place], 1)

    def estimated(start: Int64, end: Int64) -> Float64:
        edges, place = np.unique(np.concatenate((start, end)), return_inverse=True)
        before = sums_before(weighted_overlap(begin, finish, rate, edges))
        first, last = place.reshape(2, -1)
        return np.subtract(before[last], before[first])

    return beside_samples(trace, counter, estimated)
