"""How long kernels and copies take in a steady step: their recorded time without what interrupted them."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.steady.find import find_excess
from tb_steptime.metrics.steady.step import REMOVED
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64


def steady_activity_ns(trace: Trace, rows: Int64) -> Int64:
    """Of activities of devices, rows of the event table, in ns; what a conclusion about kernels rests on.

    One of three equal products that was interrupted for 2.4 ms says nothing of what faster products would gain.
    """
    excess = find_excess(trace).of(*REMOVED)
    excess = excess.where(excess.event >= 0)
    order = np.argsort(excess.event, kind="stable")
    event, sums = excess.event[order], np.append(0, np.cumsum(excess.dur_ns[order]))
    low, high = (np.searchsorted(event, rows, side) for side in ("left", "right"))
    steady: Int64 = np.maximum(trace.events.dur_ns[rows] - (sums[high] - sums[low]), 0)
    return steady
