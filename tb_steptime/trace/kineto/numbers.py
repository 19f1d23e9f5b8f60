"""Argument values of any type -> arrays of numbers; fast if all are numbers, one by one if some are not."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

UNKNOWN = -1
#: Limit beyond any allocation, copy or device, and low enough to sum over millions: 16 TiB.
TOO_MANY_BYTES = 2**44
#: Maximum number of digits: far beyond any count or time, and few enough to calculate with.
_MOST_DIGITS = 30
_NO_TRIPLE = (UNKNOWN,) * 3


def number_of(value: object) -> Decimal | None:
    """A finite number from a number or a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < _MOST_DIGITS else None


def integers(values: Sequence[Any]) -> array[int]:
    """int64 values; -1 for anything that is not such a number. Each result is independent of the other values."""
    try:
        return array("q", values)
    except (TypeError, OverflowError):
        return array("q", [_integer(value, 2**63) for value in values])


def small_integers(values: Sequence[Any]) -> array[int]:
    """int32 values; -1 for anything that is not such a number. Kineto writes 2**32 - 1 for "no stream"."""
    try:
        return array("i", values)
    except (TypeError, OverflowError):
        return array("i", [_integer(value, 2**31) for value in values])


def triples(values: Sequence[Any]) -> array[int]:
    """Three int64 for each value; -1 for anything that is not a triple."""
    try:
        flat = array("q", chain.from_iterable(values))
        if set(map(len, values)) <= {3}:
            return flat
    except (TypeError, OverflowError):
        pass
    return array("q", chain.from_iterable(map(_triple, values)))


def floats(values: Sequence[Any]) -> array[float]:
    """float64 values; NaN for anything that is not a number."""
    try:
        return array("d", values)
    except (TypeError, OverflowError):
        return array("d", [_float(value) for value in values])


def _integer(value: object, end: int) -> int:
    """The integer as `array` converts it: true is 1."""
    if isinstance(value, int):
        return int(value) if -end <= value < end else UNKNOWN
    number = number_of(value)
    if number is None or number != int(number) or not -end <= number < end:
        return UNKNOWN
    return int(number)


def _triple(value: object) -> Sequence[int]:
    if not isinstance(value, list) or len(value) != 3:
        return _NO_TRIPLE
    return [_integer(number, 2**63) for number in value]


def _float(value: object) -> float:
    """The float as `array` converts it; NaN for a whole number that no float can hold."""
    if isinstance(value, float):
        return value
    try:
        number = value if isinstance(value, int) else number_of(value)
        return math.nan if number is None else float(number)
    except OverflowError:
        return math.nan
