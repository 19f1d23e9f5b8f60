"""The colour of each event, by its meaning, as in every other picture."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.host.blocking_calls import blocking_calls
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.trace.loader_marks import loader_names
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Kind, UInt8

#: Tokens of meaning, as in `Metric.colour`; and of time that does not repeat. An event's colour is its place here.
COLOURS = ("other", "kernel", "tensor", "comm", "copy", "data", "cpu", "runtime", "blocking", "ink", "excess")
PLACE = {colour: place for place, colour in enumerate(COLOURS)}

_BY_KIND = {
    Kind.CPU_OP: "cpu",
    Kind.USER: "cpu",
    Kind.PYTHON: "other",
    Kind.RUNTIME: "runtime",
    Kind.DRIVER: "runtime",
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "copy",
    Kind.MEMSET: "copy",
}


def event_colours(trace: Trace) -> UInt8:
    """The colour of each row of the event table, a place in `COLOURS`."""
    of_kind = np.zeros(256, np.uint8)
    for kind, colour in _BY_KIND.items():
        of_kind[kind] = PLACE[colour]
    result = of_kind[trace.events.kind]
    kernels = trace.kernels.event
    result[kernels[kernel_bins(trace) == BINS.index("tensor_core")]] = PLACE["tensor"]
    _paint(trace, result, collective_names(trace), "comm", Kind.CPU_OP, Kind.USER, Kind.KERNEL)
    _paint(trace, result, loader_names(trace), "data", Kind.CPU_OP, Kind.USER)
    result[blocking_calls(trace).row] = PLACE["blocking"]
    return result


def _paint(trace: Trace, result: UInt8, names: Bool, colour: str, *kinds: Kind) -> None:
    rows = trace.events.rows(*kinds)
    result[rows[names[trace.events.name[rows]]]] = PLACE[colour]
