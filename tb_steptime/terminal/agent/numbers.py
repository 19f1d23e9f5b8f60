"""Formats numbers for an agent: few digits, times in ms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tb_steptime.metrics.base import Metric
from tb_steptime.tables.base import Column, Surface, Table, Value
from tb_steptime.text import Unit

#: Significant digits. More digits of a measured time carry no information, and use up the agent's context.
_DIGITS = 4

R = TypeVar("R")

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


def short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def in_unit(value: float | None, metric: Metric) -> float | None:
    if value is None:
        return None
    return ms(value) if metric.unit is Unit.NS else short(value)


def unit_of(metric: Metric) -> str:
    return UNITS.get(metric.unit, metric.unit.value)


def lines(table: Table[R], rows: Iterable[R]) -> list[dict[str, Value]]:
    """Returns each row as a dictionary for the agent."""
    columns = [(column, name_of(column)) for column in table.on(Surface.AGENT)]
    return [{name: _few_digits(column.value(row), column.unit) for column, name in columns} for row in rows]


def name_of(column: Column[R]) -> str:
    """Names end in the unit of the answer: ms and MB."""
    name = column.name(Surface.AGENT)
    for ours, theirs in (("_ns", "_ms"), ("_bytes", "_mb")):
        if name.endswith(ours):
            return name.removesuffix(ours) + theirs
    return name


def _few_digits(value: Value, unit: Unit) -> Value:
    if value is None or isinstance(value, (str, bool)):
        return value
    if unit in (Unit.NS, Unit.BYTES):
        return short(value / 1e6)
    return short(value) if isinstance(value, float) else value
