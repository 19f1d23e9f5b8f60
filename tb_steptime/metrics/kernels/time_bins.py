"""A device's figures over time. They are exact overlaps in bins, kept as part and whole so that bins can be merged
without loss.

kernels     |  kkkkkk  |kk      jj|          a bin's figure is part / whole; where the whole is nothing (no kernel
bins        |----------|----------|          runs, for figures of running kernels) the figure has no value
joined      |---------------------|          (part + part) / (whole + whole)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec
import numpy as np

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.data_loading.waits import exposed_waits
from tb_steptime.metrics.gpu.counters import DRAM, SM_ACTIVE, TENSOR_ACTIVE, measured_in
from tb_steptime.metrics.gpu.occupancy import EST_ACHIEVED_OCCUPANCY, SLOT_EFFICIENCY, filling
from tb_steptime.metrics.gpu.utilization import (
    EST_SM_EFFICIENCY,
    GPU_UTILIZATION,
    activity_intervals,
    busy_intervals,
    collective_kernels,
    kernel_intervals,
    kernel_rows,
    sm_levels,
)
from tb_steptime.metrics.tensor_cores.usage import (
    BINS,
    TENSOR_CORE_SHARE,
    device_has_tensor_cores,
    kernel_bins,
    split_kernel_time,
)
from tb_steptime.text import Unit
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals, weighted_overlap
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Float64, Int64, Kind

EXPOSED_WAIT = Metric(
    "loader_exposed_share", "Data loading, exposed", Unit.FRACTION,
    "Share of the time in which the main process waits for a batch and no GPU works.", colour="data",
)  # fmt: skip
HIDDEN_WAIT = Metric(
    "loader_hidden_share", "Data loading, hidden", Unit.FRACTION,
    "Share of the time in which the main process waits for a batch while a GPU works.", colour="data",
)  # fmt: skip
BUSY = Metric(
    "busy_share", "GPU busy", Unit.FRACTION,
    "Share of the time in which the GPU does anything: kernels, copies, sets, collectives.", colour="kernel",
)  # fmt: skip
MATMUL_LIKE_SHARE = Metric(
    "matmul_like_share", "Matmul-like without tensor cores", Unit.FRACTION,
    "Share of kernel time in matrix products, convolutions and attention that run on CUDA cores.",
    colour="kernel", short="Could use tensor cores",
)  # fmt: skip
COMMUNICATION_SHARE = Metric(
    "communication_share", "Communication", Unit.FRACTION,
    "Share of the time in which a collective's kernel runs.", colour="comm",
)  # fmt: skip
COPIES_SHARE = Metric(
    "copies_share", "Copies and sets", Unit.FRACTION,
    "Share of the time in which memory is copied or set.", colour="copy",
)  # fmt: skip


class Bins(msgspec.Struct, frozen=True, eq=False):
    """The figure of each bin is part / whole, in ns; the part is weighted by a fraction."""

    part: Float64
    whole: Float64

    @property
    def values(self) -> Float64:
        """The figure of each bin; NaN if the whole is 0."""
        shares: Float64 = np.divide(self.part, self.whole, out=np.full(len(self.part), np.nan), where=self.whole > 0)
        return np.clip(shares, 0.0, 1.0)

    @property
    def permille(self) -> list[int | None]:
        """The figure of each bin in whole thousandths; None if the whole is 0."""
        values = self.values
        finite = np.isfinite(values)
        rounded = np.rint(1000 * np.where(finite, values, 0)).astype(np.int64).tolist()
        if finite.all():
            return list(rounded)
        return [value if is_measured else None for value, is_measured in zip(rounded, finite.tolist(), strict=True)]

    def joined(self, count: int) -> Bins:
        """Returns bins of which each merges `count` neighbouring ones; the last one may merge fewer."""
        starts = np.arange(0, len(self.part), count)
        return Bins(np.add.reduceat(self.part, starts), np.add.reduceat(self.whole, starts))


InBins = Callable[[Trace, int, Int64], Bins | None]


def metrics_in_bins(trace: Trace, device: int, edges: Int64) -> Iterator[tuple[Metric, Bins]]:
    """Yields every figure that can be measured for the device in the bins [edges[i], edges[i+1])."""
    for metric, in_bins in TIME_BIN_METRICS.items():
        bins = in_bins(trace, device, edges)
        if bins is not None:
            yield metric, bins


def _covered(intervals: Intervals, edges: Int64, events: int = 1) -> Bins | None:
    """Returns the share of each bin in which an interval lasts; None if the recording has no such events."""
    part = intervals.overlap_ns(edges[:-1], edges[1:])
    return Bins(part.astype(np.float64), np.diff(edges).astype(np.float64)) if events else None


def _sm_efficiency(trace: Trace, device: int, edges: Int64) -> Bins | None:
    if (level := sm_levels(trace, device)) is None:
        return None
    return Bins(level.integral_ns(edges[:-1], edges[1:]), np.diff(edges).astype(np.float64))


def _communication(trace: Trace, device: int, edges: Int64) -> Bins | None:
    events, rows = trace.events, collective_kernels(trace)
    return _covered(Intervals.of_events(events, rows[events.device[rows] == device]), edges, len(rows))


def _mean_of_kernels(values_of: Callable[[Trace], Float64]) -> InBins:
    """Returns a function that measures the mean over the running kernels, weighted by time. Concurrent kernels both
    count, kernels with NaN do not."""

    def in_bins(trace: Trace, device: int, edges: Int64) -> Bins | None:
        rows, values = kernel_rows(trace, device), values_of(trace)
        rows = rows[np.isfinite(values[rows])]
        if not len(rows):
            return None
        event = trace.kernels.event[rows]
        start, end = trace.events.start_ns[event], trace.events.ends(event)
        # Rounding of sums may leave a rest where nothing runs.
        is_covered = Intervals.union(start, end).overlap_ns(edges[:-1], edges[1:]) > 0
        whole = weighted_overlap(start, end, np.ones(len(rows)), edges)
        part = weighted_overlap(start, end, values[rows], edges)
        return Bins(np.where(is_covered, part, 0.0), np.where(is_covered, whole, 0.0))

    return in_bins


def _share_of(bin: str) -> InBins:
    """Returns a function that measures the share of kernel time in a bin of `BINS`. It returns None if the names of
    most kernels do not show their bin, or the device has no tensor cores."""
    of_kernels = _mean_of_kernels(lambda trace: (kernel_bins(trace) == BINS.index(bin)).astype(np.float64))

    def in_bins(trace: Trace, device: int, edges: Int64) -> Bins | None:
        known = split_kernel_time(trace, device).total.unclassified is None
        return of_kernels(trace, device, edges) if known and device_has_tensor_cores(trace, device) else None

    return in_bins


def _measured(id: str) -> InBins:
    def in_bins(trace: Trace, device: int, edges: Int64) -> Bins | None:
        measured = measured_in(trace, device, id, edges)
        return measured and Bins(*measured)

    return in_bins


#: Figures from sampled GPU counters.
MEASURED_BINS: Mapping[Metric, InBins] = {metric: _measured(metric.id) for metric in (SM_ACTIVE, TENSOR_ACTIVE, DRAM)}
_COPIES = (Kind.MEMCPY, Kind.MEMSET)
#: The figures in drawing order. Each measured one is below its estimate.
TIME_BIN_METRICS: Mapping[Metric, InBins] = {
    EXPOSED_WAIT: lambda trace, _, edges: _covered(exposed_waits(trace), edges, len(loader_intervals(trace))),
    HIDDEN_WAIT: lambda trace, _, edges: _covered(
        loader_intervals(trace) - exposed_waits(trace), edges, len(loader_intervals(trace))
    ),
    BUSY: lambda trace, device, edges: _covered(busy_intervals(trace, device), edges),
    GPU_UTILIZATION: lambda trace, device, edges: _covered(kernel_intervals(trace, device), edges),
    EST_SM_EFFICIENCY: _sm_efficiency,
    SM_ACTIVE: MEASURED_BINS[SM_ACTIVE],
    SLOT_EFFICIENCY: _mean_of_kernels(lambda trace: filling(trace).slot_efficiency),
    EST_ACHIEVED_OCCUPANCY: _mean_of_kernels(lambda trace: filling(trace).occupancy),
    TENSOR_CORE_SHARE: _share_of("tensor_core"),
    TENSOR_ACTIVE: MEASURED_BINS[TENSOR_ACTIVE],
    MATMUL_LIKE_SHARE: _share_of("matmul_like"),
    COMMUNICATION_SHARE: _communication,
    COPIES_SHARE: lambda trace, device, edges: _covered(
        activity_intervals(trace, device, *_COPIES), edges, len(trace.events.rows(*_COPIES))
    ),
    DRAM: MEASURED_BINS[DRAM],
}
