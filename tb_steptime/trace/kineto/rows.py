"""The JSON of events -> typed rows. Knows an event's keys, and takes values of wrong types as what they should be."""

from __future__ import annotations

import functools
import json
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, Union

import msgspec
import numpy as np

from tb_steptime.trace.kineto.numbers import number_of
from tb_steptime.trace.kineto.repair import Mended, mend
from tb_steptime.trace.kineto.row_types import COUNTED, NO_ARGS, Args, Begin, Complete, End, Meta, MetaArgs, Track
from tb_steptime.trace.kineto.times import EXACT_AS_FLOAT_US, spelled_ns, to_ns, uniform_ns
from tb_steptime.trace.table import Int64

#: In msgspec's words for a bad character, a bad escape and bad UTF-8, which can be mended; what else is wrong cannot.
_INVALID = "invalid"


class Stretch(NamedTuple):
    """Rows of a stretch of events, with the times of those that last.

    timed   complete events;  start_ns  one for each;  timeless_count  left out because their time is none
    others  names of tracks, beginnings and ends, in the order of the file;  event_count  of every phase
    """

    timed: list[Any]
    start_ns: Int64
    others: list[Any]
    event_count: int
    timeless_count: int = 0


class _Rows(NamedTuple):
    """The decoder of a list of events, and the types that it makes of those that have a time."""

    decoder: msgspec.json.Decoder[list[Any]]
    lax: msgspec.json.Decoder[list[Any]]  # takes numbers in strings for numbers
    complete: type
    begin: type
    end: type


@functools.cache
def _rows(exact: bool) -> _Rows:
    """With times as floats, or as they are spelled."""
    complete, begin, end = (_with_time(kind, msgspec.Raw if exact else float) for kind in (Complete, Begin, End))
    events: Any = list[Union.__getitem__((complete, begin, end, Meta, *COUNTED))]  # type: ignore[misc]
    decoder, lax = msgspec.json.Decoder(events), msgspec.json.Decoder(events, strict=False)
    return _Rows(decoder, lax, complete, begin, end)


def _with_time(kind: type[msgspec.Struct], time: type) -> type[msgspec.Struct]:
    tag = str(kind.__struct_config__.tag)
    return msgspec.defstruct(kind.__name__, [("ts", time)], bases=(kind,), tag_field="ph", tag=tag, gc=False)


class RowDecoder:
    """Decodes stretches of events, and counts the values and strings in them that were no JSON.

    mends: whether what is no JSON is mended, or such a stretch refused.
    """

    def __init__(self, mends: bool = True) -> None:
        self._mends = mends
        self.mended_value_count = 0
        self.mended_string_count = 0
        self._exact = False

    def decode(self, events: bytes) -> Stretch | None:
        """Comma-separated events; None when this text is not that (it may have been cut in the wrong place)."""
        mended = None
        try:
            rows: list[Any] | None = self._decode(events)
        except msgspec.ValidationError:
            rows = self._decode_lax(events)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            mended = mend(events) if self._mends and _INVALID in str(error) else None
            rows = self._decode_lax(mended.text) if mended else None
        except RecursionError:
            return None
        stretch = None if rows is None else _stretch(rows, self._exact)
        if stretch is None and rows is not None:
            self._exact = True
            return self.decode(events)
        if mended and stretch:
            self._count(mended)
        return stretch

    def decode_loosely(self, event: bytes) -> Stretch | None:
        """One event whose values have wrong types; None when it cannot be told what it is."""
        if not self._mends:
            return None
        mended = mend(event)
        try:
            stretch = _loose_stretch(json.loads(mended.text, strict=False, parse_float=Decimal))
        except (ValueError, RecursionError, InvalidOperation):
            return None
        if stretch is not None:
            self._count(mended)
        return stretch

    def _decode(self, events: bytes) -> list[Any]:
        return _rows(self._exact).decoder.decode(b"[%b]" % events)

    def _decode_lax(self, events: bytes) -> list[Any] | None:
        try:
            return _rows(self._exact).lax.decode(b"[%b]" % events)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def _count(self, mended: Mended) -> None:
        self.mended_value_count += mended.value_count
        self.mended_string_count += mended.string_count


def _stretch(rows: list[Any], exact: bool) -> Stretch | None:
    """None when a time is too late for a float."""
    of = _rows(exact)
    timed: list[Any] = [row for row in rows if row.__class__ is of.complete]
    rare = {Meta, of.begin, of.end}.intersection(map(type, rows))
    others = [row for row in rows if row.__class__ in rare] if rare else []
    if exact:
        return _without_timeless(timed, others, len(rows))
    us = np.array([row.ts for row in timed], np.float64)
    if len(us) and np.abs(us).max() >= EXACT_AS_FLOAT_US:
        return None
    return Stretch(timed, to_ns(us), others, len(rows))


def _without_timeless(timed: list[Any], others: list[Any], event_count: int) -> Stretch:
    spelled = [bytes(row.ts) for row in timed]
    uniform = uniform_ns(spelled)
    if uniform is not None:
        return Stretch(timed, uniform, others, event_count)
    times = [spelled_ns(time) for time in spelled]
    kept = [row for row, time in zip(timed, times, strict=True) if time is not None]
    known = np.array([time for time in times if time is not None], np.int64)
    return Stretch(kept, known, others, event_count, len(timed) - len(kept))


def _loose_stretch(event: Any) -> Stretch | None:
    """An event of any shape; what has the wrong type is converted, or taken as not written."""
    if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
        return None
    nothing = np.empty(0, np.int64)
    if event["ph"] == "X":
        time = spelled_ns(str(event.get("ts")).encode())
        return None if time is None else Stretch([_loose_timed(Complete, event)], np.array([time]), [], 1)
    if event["ph"] == "B":
        return Stretch([], nothing, [_loose_timed(Begin, event)], 1)
    return Stretch([], nothing, _loose_others(event), 1)


def _loose_timed(kind: type[Complete], event: dict[str, Any]) -> Complete:
    dur = number_of(event.get("dur"))
    return kind(
        str(event.get("ts")),
        _word(event.get("name")),
        _word(event.get("cat")),
        _track(event.get("pid")),
        _track(event.get("tid")),
        None if dur is None else float(dur),
        _loose_args(event.get("args")),
    )


def _loose_others(event: dict[str, Any]) -> list[Any]:
    pid, tid, args = _track(event.get("pid")), _track(event.get("tid")), event.get("args")
    if event["ph"] == "E":
        return [End(str(event.get("ts")), pid, tid)]
    if event["ph"] == "M" and isinstance(args, dict):
        return [Meta(_word(event.get("name")), pid, tid, MetaArgs(args.get("name")))]
    return []


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _track(value: object) -> Track:
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, (int, str)) else _word(value)


def _loose_args(args: object) -> Args:
    if not isinstance(args, dict):
        return NO_ARGS
    said = {name: args[key] for name, key in _ARG_KEYS if key in args}
    for name in _SPELLED:
        if name in said:
            said[name] = msgspec.Raw(_AGAIN.encode(said[name]))
    return Args(**said)


_AGAIN = msgspec.json.Encoder(decimal_format="number")
_SPELLED = ("shapes", "dtypes", "stack")
_ARG_KEYS = tuple(zip(Args.__struct_fields__, Args.__struct_encode_fields__, strict=True))
