"""Argument values of any type -> arrays of numbers, fast if all are numbers; microseconds as written -> whole
nanoseconds, none of which is off by more than one."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from tb_steptime.trace.table import Float64, Int64

UNKNOWN = -1
#: Limit beyond any allocation, copy or device, and low enough to sum over millions: 16 TiB.
TOO_MANY_BYTES = 2**44
#: Maximum number of digits: far beyond any count or time, and few enough to calculate with.
_MOST_DIGITS = 30
_NO_TRIPLE = (UNKNOWN,) * 3


def number_of(value: object) -> Decimal | None:
    """Returns a finite number from a number or a text, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < _MOST_DIGITS else None


def integers(values: Sequence[Any]) -> array[int]:
    """Returns int64 values, with -1 for anything that is not such a number. Each result is independent of the other
    values."""
    try:
        return array("q", values)
    except (TypeError, OverflowError):
        return array("q", [_integer(value, 2**63) for value in values])


def small_integers(values: Sequence[Any]) -> array[int]:
    """Returns int32 values, with -1 for anything that is not such a number. Kineto writes 2**32 - 1 for "no stream"."""
    try:
        return array("i", values)
    except (TypeError, OverflowError):
        return array("i", [_integer(value, 2**31) for value in values])


def triples(values: Sequence[Any]) -> array[int]:
    """Returns three int64 for each value, with -1 for anything that is not a triple."""
    try:
        flat = array("q", chain.from_iterable(values))
        if set(map(len, values)) <= {3}:
            return flat
    except (TypeError, OverflowError):
        pass
    return array("q", chain.from_iterable(map(_triple, values)))


def floats(values: Sequence[Any]) -> array[float]:
    """Returns float64 values, with NaN for anything that is not a number."""
    try:
        return array("d", values)
    except (TypeError, OverflowError):
        return array("d", [_float(value) for value in values])


def _integer(value: object, end: int) -> int:
    """Returns the integer as `array` converts it: true is 1."""
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
    """Returns the float as `array` converts it, or NaN for a whole number that no float can hold."""
    if isinstance(value, float):
        return value
    try:
        number = value if isinstance(value, int) else number_of(value)
        return math.nan if number is None else float(number)
    except OverflowError:
        return math.nan


#: Below this many microseconds a float64 is exact to half a nanosecond. Newer files stay below it, counting from
#: `baseTimeNanoseconds`; older ones count from 1970 and do not.
EXACT_AS_FLOAT_US = 2.0**43
#: Times beyond this do not fit 64 bits of nanoseconds, with room for a base time.
_LATEST_NS = 2**62


def to_ns(us: Float64) -> Int64:
    """Converts microseconds below EXACT_AS_FLOAT_US to the nearest nanosecond."""
    whole = np.floor(us)
    return whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)


def time_ns(text: object) -> int | None:
    """Returns the time of one event in ns, from a float or Raw."""
    return parsed_ns(bytes(text) if isinstance(text, msgspec.Raw) else str(text).encode())


def uniform_ns(times: list[bytes]) -> Int64 | None:
    """Returns the times in ns if all are whole microseconds, or all have three decimals: then the digits are an integer
    once the points are gone. Returns None for any others."""
    text = b",".join([*times, b""])
    signs = np.frombuffer(text, np.uint8)
    points, commas = np.flatnonzero(signs == ord(".")), np.flatnonzero(signs == ord(","))
    scale = 1 if len(points) else 1000
    if len(points) and not (len(points) == len(commas) and (commas - points == 4).all()):
        return None
    try:
        digits = msgspec.json.decode(b"[%b]" % text[:-1].replace(b".", b""), type=list[int])
        return np.array(digits, np.int64) * scale
    except (msgspec.MsgspecError, OverflowError):
        return None


def parsed_ns(time: bytes) -> int | None:
    number = number_of(time.decode("ascii", "replace").strip('"'))
    if number is None:
        return None
    ns = round(number * 1000)
    return ns if abs(ns) < _LATEST_NS else None


def products(rows: Int64) -> Float64:
    """Returns the product of each row of three numbers. Along such a short axis numpy takes five times as long."""
    x, y, z = rows.T
    product: Float64 = x.astype(np.float64) * y * z
    return product
