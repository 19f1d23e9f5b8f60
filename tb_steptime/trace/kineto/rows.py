"""The JSON of events -> typed rows. This module knows an event's keys, and converts values of wrong types."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.kineto.categories import INSTANT
from tb_steptime.trace.kineto.further import is_dependency, is_of_gpu
from tb_steptime.trace.kineto.numbers import EXACT_AS_FLOAT_US, number_of, parsed_ns, to_ns, uniform_ns
from tb_steptime.trace.kineto.repair import RepairedText, repair
from tb_steptime.trace.kineto.row_types import (
    COUNTED,
    NO_ARGS,
    NO_INSTANT_ARGS,
    NO_PLAIN_ARGS,
    Args,
    Begin,
    Complete,
    Counter,
    End,
    FlowEnd,
    FlowStart,
    Instant,
    InstantArgs,
    MemoryArgs,
    Meta,
    MetaArgs,
    PlacedEnd,
    PlacedStart,
    PlainArgs,
    Track,
)
from tb_steptime.trace.table import Int64

#: Word in msgspec's messages for a bad character, a bad escape or bad UTF-8. These can be repaired; other errors
#: cannot.
_INVALID = "invalid"
#: Name of the allocator's events, in every year.
MEMORY = "[memory]"
#: Name of the event that it writes when it has no memory to give, just before it raises OutOfMemoryError.
OUT_OF_MEMORY = "[OutOfMemory]"
_OF_ALLOCATOR = (MEMORY, OUT_OF_MEMORY)


class EventBlock(msgspec.Struct, frozen=True, eq=False):
    """Rows of a block of events, with the times of those that have a duration.

    timed   complete events;  start_ns  one for each;  timeless_count  events left out because they have no valid time
    others  names of tracks, beginnings and ends, in the order of the file;  event_count  of every phase
    memory  events of the allocator;  counters  samples of GPU counters;  flows  ends of arrows between graph nodes
    full    rare arguments were looked for as well; otherwise arguments are `PlainArgs`
    """

    timed: list[Any]
    start_ns: Int64
    others: list[Any]
    event_count: int
    timeless_count: int = 0
    memory: Sequence[Any] = ()
    counters: Sequence[Counter] = ()
    flows: Sequence[PlacedStart] = ()
    full: bool = True


def only_wanted(block: EventBlock, wanted: Callable[[object, str], bool]) -> EventBlock:
    """Returns the block with only those timed events whose category and name are wanted."""
    places = [place for place, row in enumerate(block.timed) if wanted(row.cat, row.name or "")]
    return replace(block, timed=[block.timed[place] for place in places], start_ns=block.start_ns[places])


class _Rows(msgspec.Struct, frozen=True):
    """The decoder of a list of events, and the types that it uses for events with a time."""

    decoder: msgspec.json.Decoder[list[Any]]
    lax: msgspec.json.Decoder[list[Any]]  # takes numbers in strings for numbers
    complete: type
    begin: type
    end: type
    instant: type


@functools.cache
def _row_types(exact: bool, full: bool) -> _Rows:
    """Returns the decoder for times as floats, or as written (exact). full: also look for what few files have, which
    are annotations, instants with a duration, and positions of arrows. Looking for these takes a tenth of the time."""
    timed = [
        msgspec.defstruct(kind.__name__, [("ts", msgspec.Raw if exact else float)], bases=(kind,), **_tagged(kind))
        for kind in (Complete, Begin, End, Instant)
    ]
    args: Any = ("args", InstantArgs | None, NO_INSTANT_ARGS) if full else ("args", PlainArgs | None, NO_PLAIN_ARGS)
    timed[:2] = [msgspec.defstruct(kind.__name__, [args], bases=(kind,), **_tagged(kind)) for kind in timed[:2]]
    arrows = (PlacedStart, PlacedEnd) if full else (FlowStart, FlowEnd)
    one: Any = functools.reduce(operator.or_, (*timed, Meta, Counter, *arrows, *COUNTED))
    events: Any = list[one]
    decoder, lax = msgspec.json.Decoder(events), msgspec.json.Decoder(events, strict=False)
    return _Rows(decoder, lax, *timed)


def _tagged(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {"tag_field": "ph", "tag": str(kind.__struct_config__.tag), "gc": False}


class RowDecoder:
    """Decodes blocks of events, and counts the values and strings in them that were not valid JSON.

    repairs: whether invalid JSON is repaired; otherwise such a block is rejected.
    exact: whether times are read as written, because a float would not hold one of those seen so far.
    full: whether rare arguments are looked for, because one of the events so far had some.
    """

    def __init__(self, repairs: bool = True) -> None:
        self._repairs = repairs
        self.repaired_value_count = 0
        self.repaired_string_count = 0
        self.exact = self.full = False

    def decode(self, events: bytes) -> EventBlock | None:
        """Decodes comma-separated events. Returns None if the text is anything else, as where it was cut in the wrong
        place."""
        repaired = None
        try:
            rows: list[Any] | None = self._decode(events)
        except msgspec.ValidationError:
            rows = self._decode_lax(events)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            repaired = repair(events) if self._repairs and _INVALID in str(error) else None
            rows = self._decode_lax(repaired.text) if repaired else None
        except RecursionError:
            return None
        block = None if rows is None else self._block(rows)
        if block is None and rows is not None:
            return self.decode(events)
        if repaired and block:
            self._count(repaired)
        return block

    def decode_plain(self, events: bytes) -> EventBlock | None:
        """Decodes events as `decode` does, including rare arguments. It also returns None if anything would have to be
        converted or repaired."""
        full, self.full = self.full, True
        try:
            block = self._block(self._decode(events))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        finally:
            self.full = full
        return self.decode_plain(events) if block is None else block

    def decode_again(self, events: bytes) -> EventBlock | None:
        """Decodes the last text again, including rare arguments, which are looked for from now on."""
        self.full = True
        counts = self.repaired_value_count, self.repaired_string_count
        block = self.decode(events)
        self.repaired_value_count, self.repaired_string_count = counts
        return block

    def decode_loosely(self, event: bytes) -> EventBlock | None:
        """Decodes one event whose values have wrong types. Returns None if its phase is not known."""
        if not self._repairs:
            return None
        import json  # few files need it, and decimal numbers

        repaired = repair(event)
        try:
            block = _loose_block(json.loads(repaired.text, strict=False, parse_float=Decimal))
        except (ValueError, RecursionError, InvalidOperation):
            return None
        if block is not None:
            self._count(repaired)
        return block

    def _decode(self, events: bytes) -> list[Any]:
        try:
            return _row_types(self.exact, self.full).decoder.decode(b"[%b]" % events)
        except msgspec.ValidationError:
            return self._decode_full(events, lax=False)

    def _decode_lax(self, events: bytes) -> list[Any] | None:
        try:
            return _row_types(self.exact, self.full).lax.decode(b"[%b]" % events)
        except msgspec.ValidationError:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return self._decode_full(events, lax=True)
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def _decode_full(self, events: bytes, lax: bool) -> list[Any]:
        """Decodes with rare arguments. The rejected event may be an arrow of a graph; any other bad value is rejected
        again."""
        row_types = _row_types(self.exact, True)
        rows: list[Any] = (row_types.lax if lax else row_types.decoder).decode(b"[%b]" % events)
        self.full = True
        return rows

    def _block(self, rows: list[Any]) -> EventBlock | None:
        """Returns the block of these rows, or None if the text has to be decoded again, with `exact` or `full` set from
        now on."""
        row_types = _row_types(self.exact, self.full)
        timed = [row for row in rows if row.__class__ is row_types.complete]
        kinds = set(map(type, rows))
        if not self.full and _have_begun(rows, kinds):
            self.full = True
            return None
        block = _block(rows, timed, kinds, self.exact, self.full)
        self.exact |= block is None
        return block

    def _count(self, repaired: RepairedText) -> None:
        self.repaired_value_count += repaired.value_count
        self.repaired_string_count += repaired.string_count


def _have_begun(rows: list[Any], kinds: set[type]) -> bool:
    """Returns whether any begin of an event written in two has arguments: `Columns.may_have_more_args` does not look at
    these."""
    begin_types = tuple(kind for kind in kinds if issubclass(kind, Begin))
    return bool(begin_types) and any(isinstance(row, begin_types) and row.args is not None for row in rows)


def _block(rows: list[Any], timed: list[Any], kinds: set[type], exact: bool, full: bool) -> EventBlock | None:
    """Returns the block of these rows, or None if a time is too late for a float or is not a number: text may be
    NaN."""
    row_types = _row_types(exact, full)
    rare = kinds & {Meta, row_types.begin, row_types.end}
    others = [row for row in rows if row.__class__ in rare] if rare else []
    memory: list[Any] = (
        [row for row in rows if row.__class__ is row_types.instant] if row_types.instant in kinds else []
    )
    counters = [row for row in rows if isinstance(row, Counter) and is_of_gpu(row)] if Counter in kinds else []
    flows = []
    if full:
        flows = [row for row in rows if isinstance(row, PlacedStart) and is_dependency(row.id)]
        memory += [
            Instant(row.ts, row.name, row.pid, row.tid, (row.args or NO_INSTANT_ARGS).of_allocator())
            for row in timed
            if row.cat == INSTANT
        ]
        timed = [row for row in timed if row.cat != INSTANT]
    memory = [row for row in memory if row.name in _OF_ALLOCATOR]
    if exact:
        block = _without_timeless(timed, others, len(rows))
        return replace(block, memory=memory, counters=counters, flows=flows, full=full)
    us = np.array([row.ts for row in timed], np.float64)
    times = np.concatenate((us, [row.ts for row in memory])) if memory else us
    if not (np.abs(times) < EXACT_AS_FLOAT_US).all():
        return None
    return EventBlock(timed, to_ns(us), others, len(rows), memory=memory, counters=counters, flows=flows, full=full)


def _without_timeless(timed: list[Any], others: list[Any], event_count: int) -> EventBlock:
    texts = [bytes(row.ts) for row in timed]
    uniform = uniform_ns(texts)
    if uniform is not None:
        return EventBlock(timed, uniform, others, event_count)
    times = [parsed_ns(time) for time in texts]
    with_time = [row for row, time in zip(timed, times, strict=True) if time is not None]
    start_ns = np.array([time for time in times if time is not None], np.int64)
    return EventBlock(with_time, start_ns, others, event_count, len(timed) - len(with_time))


def _loose_block(event: Any) -> EventBlock | None:
    """Returns a block of one event of any shape; a value of the wrong type is converted, or treated as missing. An
    empty object is no event: writers that end each event with a comma, such as rocmProfileData's, begin or end with
    one."""
    nothing = np.empty(0, np.int64)
    if event == {}:
        return EventBlock([], nothing, [], 0)
    if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
        return None
    if event["ph"] == "X":
        time = parsed_ns(str(event.get("ts")).encode())
        if event.get("cat") == INSTANT:
            return None if time is None else EventBlock([], nothing, [], 1, memory=_loose_memory(event | {"ph": "i"}))
        return None if time is None else EventBlock([_loose_timed(Complete, event)], np.array([time]), [], 1)
    if event["ph"] == "B":
        return EventBlock([], nothing, [_loose_timed(Begin, event)], 1)
    if event["ph"] in ("C", "s", "f"):
        return _loose_unlasting(event)
    return EventBlock([], nothing, _loose_others(event), 1, memory=_loose_memory(event))


def _loose_unlasting(event: dict[str, Any]) -> EventBlock:
    time, nothing = msgspec.Raw(str(event.get("ts")).encode()), np.empty(0, np.int64)
    if event["ph"] == "C":
        counter = Counter(time, event.get("name"), event.get("pid"), event.get("args"))
        return EventBlock([], nothing, [], 1, counters=[counter] if is_of_gpu(counter) else [])
    kind = PlacedStart if event["ph"] == "s" else PlacedEnd
    flow = kind(event.get("id"), time, _track(event.get("pid")), _track(event.get("tid")))
    return EventBlock([], nothing, [], 1, flows=[flow] if is_dependency(flow.id) else [])


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
    pid = _track(event.get("pid"))
    tid = _track(event.get("tid"))
    args = event.get("args")
    if event["ph"] == "E":
        return [End(str(event.get("ts")), pid, tid)]
    if event["ph"] == "M" and isinstance(args, dict):
        return [Meta(_word(event.get("name")), pid, tid, MetaArgs(args.get("name")))]
    return []


def _loose_memory(event: dict[str, Any]) -> list[Instant]:
    args = event.get("args")
    if event["ph"] != "i" or event.get("name") not in _OF_ALLOCATOR or not isinstance(args, dict):
        return []
    fields = {name: args[key] for name, key in _MEMORY_KEYS if key in args}
    track = _track(event.get("pid")), _track(event.get("tid"))
    return [Instant(str(event.get("ts")), event["name"], *track, MemoryArgs(**fields))]


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _track(value: object) -> Track:
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, (int, str)) else _word(value)


def _loose_args(args: object) -> Args:
    if not isinstance(args, dict):
        return NO_ARGS
    fields = {name: args[key] for name, key in _ARG_KEYS if key in args}
    for name in _SPELLED:
        if name in fields:
            fields[name] = msgspec.Raw(_AGAIN.encode(fields[name]))
    return Args(**fields)


_AGAIN = msgspec.json.Encoder(decimal_format="number")
_SPELLED = ("shapes", "dtypes", "settings", "stack", "hierarchy")
_ARG_KEYS = tuple(zip(Args.__struct_fields__, Args.__struct_encode_fields__, strict=True))
_MEMORY_KEYS = tuple(zip(MemoryArgs.__struct_fields__, MemoryArgs.__struct_encode_fields__, strict=True))
