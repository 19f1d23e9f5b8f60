"""Times of events: microseconds as written -> whole nanoseconds, none of which is off by more than one."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.kineto.numbers import number_of
from tb_steptime.trace.table import Float64, Int64

#: Below this many microseconds a float64 is exact to half a nanosecond. Newer files stay below it, counting from
#: `baseTimeNanoseconds`; older ones count from 1970 and do not.
EXACT_AS_FLOAT_US = 2.0**43
#: Times beyond this do not fit 64 bits of nanoseconds, with room for a base time.
_LATEST_NS = 2**62


def to_ns(us: Float64) -> Int64:
    """Microseconds below EXACT_AS_FLOAT_US, to the nearest nanosecond."""
    whole = np.floor(us)
    return whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)


def time_ns(text: object) -> int | None:
    """The time of one event, as a float or Raw."""
    return parsed_ns(bytes(text) if isinstance(text, msgspec.Raw) else str(text).encode())


def uniform_ns(times: list[bytes]) -> Int64 | None:
    """Whole microseconds, or all with three decimals: then the digits are an integer once the points are gone."""
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
