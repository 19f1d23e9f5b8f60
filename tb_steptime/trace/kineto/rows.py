"""The JSON of events -> typed rows. Knows an event's keys, and mends what producers write that is no JSON.

Damage is local: a stretch of events that will not decode is mended, then decoded event by event.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Union

import msgspec
import numpy as np

from tb_steptime.trace.table import Int64

#: Below this many microseconds a float64 is exact to half a nanosecond. Newer files stay below it, counting from
#: `baseTimeNanoseconds`; older ones count from 1970 and do not.
_EXACT_AS_FLOAT_US = 2.0**43
#: Times beyond this do not fit 64 bits of nanoseconds, with room for a base time.
_LATEST_NS = 2**62

Track = int | float | str | None  # a process or thread: producers write numbers and words


class Args(msgspec.Struct, gc=False):
    """What is wanted of an event's arguments. Any, because each of them has been written with a wrong type."""

    correlation: Any = None
    external_id: Any = msgspec.field(default=None, name="External id")
    external_id_2021: Any = msgspec.field(default=None, name="external id")
    device: Any = None
    stream: Any = None
    bytes: Any = None
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared_memory: Any = msgspec.field(default=None, name="shared memory")
    blocks_per_sm: Any = msgspec.field(default=None, name="blocks per SM")
    occupancy_percent: Any = msgspec.field(default=None, name="est. achieved occupancy %")


NO_ARGS = Args()


class Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a duration. Microseconds; ts is a float, or Raw where a float would not hold it."""

    ts: Any
    name: str | None = None
    cat: str | None = None
    pid: Track = None
    tid: Track = None
    dur: float | None = None
    args: Args | None = None


class Begin(Complete, gc=False, tag="B"):
    """An event whose end stands apart."""


class End(msgspec.Struct, gc=False, tag_field="ph", tag="E"):
    """The end of its thread's last Begin."""

    ts: Any
    pid: Track = None
    tid: Track = None


class MetaArgs(msgspec.Struct, gc=False):
    name: Any = None


class Meta(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """Names a process or a thread."""

    name: str | None = None
    pid: Track = None
    tid: Track = None
    args: MetaArgs | None = None


Row = Complete | Begin | End | Meta | msgspec.Struct  # msgspec.Struct: arrows, counters, instants: only counted

_COUNTED = [
    msgspec.defstruct(f"Phase_{ord(phase)}", [], tag_field="ph", tag=phase, gc=False)
    for phase in "stfiIRCbenNODvVPSTpFca(),"
]


@functools.cache
def _decoder(exact: bool) -> msgspec.json.Decoder[list[Any]]:
    """For a list of events, with times as floats or as they are spelled."""
    timed = [_with_time(kind, msgspec.Raw if exact else float) for kind in (Complete, Begin, End)]
    return msgspec.json.Decoder(list[Union[(*timed, Meta, *_COUNTED)]])  # type: ignore[misc]


def _with_time(kind: type[msgspec.Struct], time: type) -> type[msgspec.Struct]:
    tag = str(kind.__struct_config__.tag)
    return msgspec.defstruct(kind.__name__, [("ts", time)], bases=(kind,), tag_field="ph", tag=tag, gc=False)


class RowDecoder:
    """Decodes stretches of events. mended_count: values and strings that were no JSON; lost_count: events given up."""

    def __init__(self) -> None:
        self.exact = False
        self.mended_value_count = 0
        self.mended_string_count = 0

    def decode(self, events: bytes) -> list[Any] | None:
        """Rows of comma-separated events; None when this text is not that (it may be cut in the wrong place)."""
        rows = _try(events, self.exact)
        if rows is None:
            mended = mend(events)
            rows = _try(mended.text, self.exact)
            if rows is not None:
                self._count(mended)
        if rows and not self.exact and _too_late_for_floats(rows):
            self.exact = True
            return self.decode(events)
        return rows

    def decode_loosely(self, event: bytes) -> Any | None:
        """One event whose values have wrong types; None when it cannot be told what it is."""
        mended = mend(event)
        try:
            row = _loose_row(json.loads(mended.text, strict=False, parse_float=Decimal))
        except (ValueError, RecursionError, InvalidOperation):
            return None
        if row is not None:
            self._count(mended)
        return row

    def _count(self, mended: Mended) -> None:
        self.mended_value_count += mended.value_count
        self.mended_string_count += mended.string_count


def _try(events: bytes, exact: bool) -> list[Any] | None:
    try:
        return _decoder(exact).decode(b"[%b]" % events)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _too_late_for_floats(rows: Sequence[Any]) -> bool:
    return any(isinstance(row, (Complete, Begin)) and abs(row.ts) >= _EXACT_AS_FLOAT_US for row in rows)


def times_ns(rows: Sequence[Any]) -> tuple[Int64, int]:
    """Times of rows in ns, and how many were no times (those stand as the lowest int64)."""
    if not rows or not isinstance(rows[0].ts, msgspec.Raw):
        return microseconds_to_ns([row.ts for row in rows]), 0
    spelled = [bytes(row.ts) for row in rows]
    return _uniform_ns(spelled) or _one_by_one_ns(spelled)


def microseconds_to_ns(values: Sequence[float]) -> Int64:
    """Exact to half a nanosecond below _EXACT_AS_FLOAT_US."""
    us = np.array(values, np.float64)
    whole = np.floor(us)
    return whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)


def _uniform_ns(spelled: list[bytes]) -> tuple[Int64, int] | None:
    """Whole microseconds, or all with three decimals: then the digits are an integer once the points are gone."""
    text = b",".join([*spelled, b""])
    signs = np.frombuffer(text, np.uint8)
    points, commas = np.flatnonzero(signs == ord(".")), np.flatnonzero(signs == ord(","))
    scale = 1000 if not len(points) else 1
    if scale == 1 and not (len(points) == len(commas) and (commas - points == 4).all()):
        return None
    try:
        digits = msgspec.json.decode(b"[%b]" % text[:-1].replace(b".", b""), type=list[int])
        return np.array(digits, np.int64) * scale, 0
    except (msgspec.MsgspecError, OverflowError):
        return None


def _one_by_one_ns(spelled: list[bytes]) -> tuple[Int64, int]:
    times = [_spelled_ns(time) for time in spelled]
    lowest = int(np.iinfo(np.int64).min)
    return np.array([lowest if time is None else time for time in times], np.int64), times.count(None)


def _spelled_ns(time: bytes) -> int | None:
    number = number_of(time.decode("ascii", "replace").strip('"'))
    if number is None:
        return None
    ns = round(number * 1000)
    return ns if abs(ns) < _LATEST_NS else None


def number_of(value: object) -> Decimal | None:
    """A finite number out of a number or out of text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < Decimal(10) ** 30 else None


def _loose_row(event: Any) -> Any | None:
    """An event of any shape; what has the wrong type is converted, or taken as not written."""
    if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
        return None
    kind = {"X": Complete, "B": Begin, "E": End, "M": Meta}.get(event["ph"])
    if kind is None:
        return _COUNTED[0]()
    tracks = {key: _track(event.get(key)) for key in ("pid", "tid")}
    args = event.get("args")
    if kind is Meta:
        name = args.get("name") if isinstance(args, dict) else None
        return Meta(name=str(event.get("name")), args=MetaArgs(name), **tracks)
    time = number_of(event.get("ts"))
    if time is None:
        return None
    raw = msgspec.Raw(str(time).encode())
    if kind is End:
        return End(raw, **tracks)
    dur = number_of(event.get("dur"))
    return kind(
        raw, _word(event.get("name")), _word(event.get("cat")), dur=None if dur is None else float(dur),
        args=_loose_args(args), **tracks,
    )


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _track(value: object) -> Track:
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, (int, str)) else _word(value)


def _loose_args(args: object) -> Args | None:
    if not isinstance(args, dict):
        return None
    return Args(**{name: args[key] for name, key in _ARG_KEYS if key in args})


_ARG_KEYS = tuple(zip(Args.__struct_fields__, Args.__struct_encode_fields__, strict=True))


class Mended(msgspec.Struct, frozen=True):
    """Text made JSON, and how many values (NaN, N/A) and strings (control characters, bad escapes) it took."""

    text: bytes
    value_count: int
    string_count: int


_STRING_OR_WORD = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"'
    rb"|(?<![\w.])(?:[-+]?(?:nan(?:\(\w*\))?|inf(?:inity)?|1\.#\w+)|n/a|none|undefined)(?![\w.])",
    re.DOTALL | re.IGNORECASE,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


def mend(text: bytes) -> Mended:
    """Write null for what is no number, and escape what a string may not hold."""
    valid = text.decode("utf-8", "replace").encode()
    counts = {"value": 0, "string": valid.count("\ufffd".encode()) - text.count("\ufffd".encode())}

    def replace(match: re.Match[bytes]) -> bytes:
        word = match.group()
        if not word.startswith(b'"'):
            counts["value"] += 1
            return b"null"
        mended = _mended_string(word)
        counts["string"] += mended != word
        return mended

    mended = _STRING_OR_WORD.sub(replace, valid)
    return Mended(mended, counts["value"], counts["string"])


def _mended_string(word: bytes) -> bytes:
    if _CONTROL.search(word):
        word = _CONTROL.sub(lambda match: b"\\u%04x" % match.group()[0], word)
    if b"\\" in word:
        word = _ESCAPE.sub(lambda match: match.group() if len(match.group()) > 1 else b"\\\\", word)
    return word
