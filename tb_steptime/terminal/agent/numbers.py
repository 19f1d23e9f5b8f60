"""Numbers as an agent gets them: few digits, ms."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

#: More say nothing of a measured time, and cost the agent's attention.
_DIGITS = 4

UNITS = {Unit.NS: "ms", Unit.FRACTION: "share, 0 to 1"}


def ms(ns: float) -> float:
    """
    >>> ms(77_501_667)
    77.5
    """
    return short(ns / 1e6)


def maybe_ms(ns: float | None) -> float | None:
    return None if ns is None else ms(ns)


def mb(count: float) -> float:
    return short(count / 1e6)


def maybe_mb(count: float | None) -> float | None:
    return None if count is None else mb(count)


def short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def in_unit(value: float | None, metric: Metric) -> float | None:
    if value is None:
        return None
    return ms(value) if metric.unit is Unit.NS else short(value)


def unit_of(metric: Metric) -> str:
    return UNITS.get(metric.unit, metric.unit.value)
