"""Figures of both sides that are no parts of the step: how full the GPU is, how near to its limit, how much memory.

Each is the mean over the compared steps, and its change has an interval as that of the step time has.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.comparison.intervals import change_of_mean
from tb_steptime.comparison.sides import Side
from tb_steptime.text import Reason
from tb_steptime.trace.table import Float64

#: Metrics of the catalogue, in the order in which they are shown.
COMPARED = (
    "gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy", "tensor_core_share", "mfu", "hfu", "model_gflop",
    "peak_allocated",
)  # fmt: skip


class FigureChange(msgspec.Struct, frozen=True):
    """base, candidate: None where it is not measurable on that side, for the reason `why`. low, high: 95 % interval of
    the change; these and distinguishable are None where a side has too few steps to say."""

    metric: str
    base: float | None
    candidate: float | None
    low: float | None = None
    high: float | None = None
    distinguishable: bool | None = None
    why: Reason | None = None

    @property
    def change(self) -> float | None:
        return None if self.base is None or self.candidate is None else self.candidate - self.base


def figure_changes(base: Side, candidate: Side) -> list[FigureChange]:
    """Of those that one of the two has at least."""
    found = [_figure(metric, base, candidate) for metric in COMPARED]
    return [each for each in found if each.base is not None or each.candidate is not None]


def _figure(metric: str, base: Side, candidate: Side) -> FigureChange:
    before, after = (_digits(side.per_step(metric)) for side in (base, candidate))
    if not len(before) or not len(after):
        why = (candidate if len(before) else base).why_not(metric)
        return FigureChange(metric, _mean(before), _mean(after), why=why)
    found = change_of_mean(before, after, max(base.period, candidate.period))
    return FigureChange(metric, found.base, found.candidate, found.low, found.high, found.distinguishable)


def _mean(values: Float64) -> float | None:
    return float(values.mean()) if len(values) else None


def _digits(values: Float64) -> Float64:
    """Without the rest of rounding, which differs from step to step where the figure does not."""
    return np.array([float(f"{value:.9g}") for value in values.tolist()], np.float64)
