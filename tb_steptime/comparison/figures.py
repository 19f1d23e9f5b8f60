"""Figures of both sides that are not parts of the step: GPU utilization, distance from its limits, memory.

Each is the mean over the compared steps, and its change has an interval like that of the step time. A figure that is
only known to lie in a range is compared by both ends of the range:

    tensor-core share   10 to 80 %  ->  85 %     +5 to +75 points
                        10 to 80 %  ->  60 %     -20 to +50 points: not distinguishable
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.comparison.fairness import IN_GRAPHS
from tb_steptime.comparison.intervals import Change, change_of_mean
from tb_steptime.comparison.sides import Side
from tb_steptime.text import Reason
from tb_steptime.trace.table import Float64

#: Metrics of the catalogue, in the order in which they are shown.
COMPARED = (
    "gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy", "tensor_core_share", "mfu", "hfu", "model_gflop",
    "peak_allocated",
)  # fmt: skip
#: Metrics that are the lower end of a range -> the metric of its upper end.
UPPER_END = {"tensor_core_share": "tensor_core_share_high"}
#: Minimum width of a range: ends within one percentage point count as one value.
LEAST_RANGE = 0.01
#: Metrics that count only matrix products whose operations are known. Those in CUDA graphs are not known unless labels
#: name them.
OF_KNOWN_PRODUCTS = {"mfu", "hfu", "model_gflop"}
#: Maximum difference between the sides' shares of products (by time) that are known: beyond it, the figures cover
#: different work.
LEAST_ALIKE = 0.05
KNOWN_UNEQUALLY = Reason("flops_known_unequally")


class FigureChange(msgspec.Struct, frozen=True):
    """base, candidate: None where it is not measurable on that side, for the reason `why`. base_high, candidate_high:
    the upper end where it is only known to lie in a range, which base or candidate begin; None where it is known.
    low, high: 95 % interval of the change; these and distinguishable are None where a side has too few steps to say.
    """

    metric: str
    base: float | None
    candidate: float | None
    low: float | None = None
    high: float | None = None
    distinguishable: bool | None = None
    why: Reason | None = None
    base_high: float | None = None
    candidate_high: float | None = None

    @property
    def change(self) -> float | None:
        """The change, or None for ranges, since it is unknown how much of the difference is due to the range."""
        if self.base is None or self.candidate is None or self.is_range:
            return None
        return self.candidate - self.base

    @property
    def is_range(self) -> bool:
        return self.base_high is not None or self.candidate_high is not None


def figure_changes(base: Side, candidate: Side) -> list[FigureChange]:
    """Returns the changes of the figures that at least one of the two has."""
    return [
        _figure(metric, base, candidate)
        for metric in COMPARED
        if len(base.per_step(metric)) or len(candidate.per_step(metric))
    ]


def _figure(metric: str, base: Side, candidate: Side) -> FigureChange:
    before, after = (_digits(side.per_step(metric)) for side in (base, candidate))
    one_lacks_it, why = not len(before) or not len(after), None
    if one_lacks_it:
        why = (candidate if len(before) else base).why_not(metric)
    if not is_of_same_work(metric, base, candidate):
        in_general = why is not None and why.code == "flops_mostly_unknown"
        return FigureChange(metric, None, None, why=why if in_general else KNOWN_UNEQUALLY)
    highs = [_mean(side.per_step(UPPER_END[metric])) if is_range(metric, side) else None for side in (base, candidate)]
    if one_lacks_it:
        return FigureChange(metric, _mean(before), _mean(after), None, None, None, why, *highs)
    if highs == [None, None]:
        change = change_of_mean(before, after, max(base.period, candidate.period))
        return FigureChange(metric, change.base, change.candidate, change.low, change.high, change.distinguishable)
    least, most = changes_of_range(metric, base, candidate)
    low, high = least.low, most.high
    clear = None if low is None or high is None else not low <= 0 <= high
    return FigureChange(metric, _mean(before), _mean(after), low, high, clear, None, *highs)


def is_of_same_work(metric: str, base: Side, candidate: Side) -> bool:
    """Returns whether the figure covers the same share of the products on both sides, as far as both recorded their
    operands. If everything runs in graphs, no op recorded them."""
    if metric not in OF_KNOWN_PRODUCTS or not all(_records_shapes(side) for side in (base, candidate)):
        return True
    before, after = (side.first.compare.known_products for side in (base, candidate))
    return before is None or after is None or abs(before - after) <= LEAST_ALIKE


def _records_shapes(side: Side) -> bool:
    in_graphs = (side.first.overview.job.graph_share or 0.0) >= IN_GRAPHS
    return side.first.compare.setup.with_shapes or in_graphs


def is_range(metric: str, side: Side) -> bool:
    """Returns whether the figure of this side is only known to lie in a range."""
    if metric not in UPPER_END:
        return False
    low, high = (_mean(side.per_step(each)) for each in (metric, UPPER_END[metric]))
    return low is not None and high is not None and high - low >= LEAST_RANGE


def changes_of_range(metric: str, base: Side, candidate: Side) -> tuple[Change, Change]:
    """Returns the least and the most that a figure known by its two ends may have changed."""
    upper, period = UPPER_END[metric], max(base.period, candidate.period)

    def change(before: str, after: str) -> Change:
        return change_of_mean(_digits(base.per_step(before)), _digits(candidate.per_step(after)), period)

    return change(upper, metric), change(metric, upper)


def _mean(values: Float64) -> float | None:
    return float(values.mean()) if len(values) else None


def _digits(values: Float64) -> Float64:
    """Rounds the values. This removes rounding errors, which differ from step to step even if the figure does not."""
    return np.array([float(f"{value:.9g}") for value in values.tolist()], np.float64)
