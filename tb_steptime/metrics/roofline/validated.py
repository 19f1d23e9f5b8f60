"""The estimated use of tensor cores and memory by ops, beside what the GPU measured of both in the same time.

kernels    [ product: 40 us at the peak ]   [ add: 10 us at the peak bandwidth ]
samples    (  0.55  ](  0.60  ](  0.40   ](   0.20   ]
est.       time at the peak / time that samples cover

The work of an op is spread evenly over its kernels. An estimate would be too low if most of the work were unknown,
which is not a fault of the formula; so it is only given if nearly all of the kernel time has known work.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.flops.peaks import device_peaks
from tb_steptime.metrics.gpu.counters import DRAM, TENSOR_ACTIVE, Samples, Validation, samples
from tb_steptime.metrics.gpu.utilization import exchanging, kernel_rows
from tb_steptime.metrics.roofline.op_work import kernel_work, product_calls
from tb_steptime.metrics.roofline.utilization import products_at_peak_ns
from tb_steptime.metrics.tensor_cores.matmul_ops import Products
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import sums_before, weighted_overlap
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64

#: Minimum share of the kernel time during a counter's samples that must have known work.
LEAST_KNOWN = 0.9


@shared
def validated_tensor_work(trace: Trace, device: int) -> Validation | None:
    """Time at the peak of products on tensor cores, and the measured activity of tensor cores. None if one of the two
    is unknown."""
    of, rows = samples(trace, device, TENSOR_ACTIVE.id), kernel_rows(trace, device)
    if of is None or device_peaks(trace, device) is None:
        return None
    on_cores = kernel_bins(trace)[rows] == BINS.index("tensor_core")
    at_peak = products_at_peak_ns(trace, device, rows)
    return _validated(trace, of, rows[on_cores], product_calls(trace), at_peak[on_cores])


@shared
def validated_traffic(trace: Trace, device: int) -> Validation | None:
    """Time at the peak bandwidth of reading inputs and writing results once each, and the measured bandwidth. None
    where one of the two is not known."""
    of, rows, peaks = samples(trace, device, DRAM.id), kernel_rows(trace, device), device_peaks(trace, device)
    if of is None or peaks is None:
        return None
    rows, work = rows[~exchanging(trace, rows)], kernel_work(trace)
    nbytes = [each.work.least_bytes if each.work else None for each in work.distinct]
    known = np.array([np.nan if each is None else each for each in nbytes] + [np.nan], np.float64)
    return _validated(trace, of, rows, work, known[work.place[rows]] / peaks.memory)  # GB/s = bytes/ns


def _validated(trace: Trace, of: Samples, rows: Int64, ops: Products, at_peak_ns: Float64) -> Validation | None:
    """Returns the estimate for the time of these samples beside their mean; None where the work of too little kernel
    time is known. at_peak_ns: for each of these rows of the kernel table the time that its whole op would take at the
    peak; NaN if unknown."""
    low, high = find_steps(trace).window
    start, end = np.clip(of.start, low, high), np.clip(of.end, low, high)
    covered = int((end - start).sum())
    event = trace.kernels.event[rows]
    length, known = trace.events.dur_ns[event], (ops.op[rows] >= 0) & ~np.isnan(at_peak_ns)
    if not covered or not known.any() or length[known].sum() < LEAST_KNOWN * length.sum():
        return None
    begin, finish = trace.events.start_ns[event[known]], trace.events.ends(event[known])
    rate = at_peak_ns[known] / np.maximum(_of_ops(ops.op[rows[known]].astype(np.int64), length[known]), 1)
    edges, place = np.unique(np.concatenate((start, end)), return_inverse=True)
    before = sums_before(weighted_overlap(begin, finish, rate, edges))
    first, last = place.reshape(2, -1)
    estimated = float((before[last] - before[first]).sum()) / covered
    return Validation(min(estimated, 1.0), float((of.value * (end - start)).sum()) / covered)


def _of_ops(op: Int64, length: Int64) -> Float64:
    """For each kernel the total time of all kernels of its op."""
    groups = Groups.of(op)
    whole: Float64 = groups.sum(length).astype(np.float64)[groups.place]
    return whole
