"""The strings, kernels and times of a trace that belong to collectives, by the names that `metrics.kernel_names`
knows."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import kernel_intervals, kernel_rows
from tb_steptime.metrics.kernel_names.collectives import is_collective, is_collective_call
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in


@shared
def collective_names(trace: Trace) -> Bool:
    """For each string of the trace's table: is it a collective's name, of a kernel, a CPU op or a named range?"""
    judged = np.zeros(len(trace.strings), bool)
    for judge, kinds in ((is_collective, (Kind.KERNEL,)), (is_collective_call, (Kind.CPU_OP, Kind.USER))):
        for name in distinct_in(trace.events.name[trace.events.rows(*kinds)]).tolist():
            judged[name] |= judge(trace.strings[name])
    return judged


def exchanging(trace: Trace, rows: Int64) -> Bool:
    """Which of these rows of `Trace.kernels` are collectives."""
    found: Bool = collective_names(trace)[trace.events.name[trace.kernels.event[rows]]]
    return found


def computing_intervals(trace: Trace, device: int) -> Intervals:
    """When at least one computing kernel (any but a collective's) runs on the device, over the whole recording."""
    events, kernels = trace.events, kernel_rows(trace, device)
    exchanges = exchanging(trace, kernels)
    if not exchanges.any():
        return kernel_intervals(trace, device)
    rows = trace.kernels.event[kernels[~exchanges]]
    return Intervals.of_events(events, rows)
