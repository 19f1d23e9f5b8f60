"""A figure of the first device in time bins."""

from __future__ import annotations

import numpy.typing as npt

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.kernels.time_bins import TIME_BIN_METRICS
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64


def binned(trace: Trace, metric: Metric, edges: Int64) -> npt.NDArray | None:
    """The values between the edges, in ns; NaN where the figure has none. None if it cannot be measured."""
    bins = TIME_BIN_METRICS[metric](trace, 0, edges)
    return None if bins is None else bins.values
