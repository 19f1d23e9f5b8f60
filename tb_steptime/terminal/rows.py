"""Rows of the summary: a label, a length of time and its share as a bar; tables with columns that line up."""

from __future__ import annotations

from typing import Any

from tb_steptime.tables.base import Column, Value
from tb_steptime.text import Quantity, Unit
from tb_steptime.text.printer import UNKNOWN, duration, percent_exact, printable, quantity

_BAR_CELLS = 30
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def row(label: str, length_ns: float | None, rest: str) -> str:
    value = UNKNOWN if length_ns is None else duration(length_ns)
    return f"{label:<18}{value:>11}  {rest}".rstrip()


def share_row(label: str, length_ns: int, step_ns: int) -> str:
    share = length_ns / step_ns
    return row(label, length_ns, f"{percent_exact(share):>7}  {bar(share)}".rstrip())


def bar(share: float) -> str:
    """Returns a bar in eighths of a cell."""
    eighths = round(share * _BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def text_cell(column: Column[Any], value: Value, missing: str = UNKNOWN) -> str:
    """Formats a value of a declared table for a terminal. missing: the text where there is no value."""
    if isinstance(value, (int, float)):
        return percent_exact(value) if column.unit is Unit.FRACTION else quantity(Quantity(value, column.unit))
    return missing if value is None else printable(value)
