"""A block of events -> the bytes of each event, with the fields that decide whether it belongs to a slice."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import msgspec

from tb_steptime.trace.kineto.numbers import floats
from tb_steptime.trace.kineto.repair import repair

#: Word in msgspec's messages for errors that can be repaired; see `rows`.
_INVALID = "invalid"


class SliceArgs(msgspec.Struct, gc=False, frozen=True):
    correlation: Any = None
    external_id: Any = msgspec.field(default=None, name="External id")


_NO_ARGS = SliceArgs()


class SliceRow(msgspec.Struct, gc=False):
    """An event of any phase. Microseconds."""

    ph: Any = None
    ts: Any = None
    dur: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    id: Any = None
    args: SliceArgs | None = _NO_ARGS

    @property
    def start_us(self) -> float:
        """Start in microseconds; -inf if it has no time."""
        return _float(self.ts, float("-inf"))

    @property
    def dur_us(self) -> float:
        return _float(self.dur, 0.0)

    def argument(self, key: str) -> int:
        """Its correlation or external id; -1 where it has none."""
        value = getattr(self.args or _NO_ARGS, key)
        return value if isinstance(value, int) else -1


class SliceEvent(NamedTuple):
    row: SliceRow
    text: bytes


_ROWS: msgspec.json.Decoder[list[SliceRow]] = msgspec.json.Decoder(list[SliceRow])
_TEXTS: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


def slice_events(events: bytes) -> list[SliceEvent] | None:
    """Split comma-separated events; None if the text is not that (it may have been cut in the wrong place)."""
    try:
        return _decoded(events)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if _INVALID not in str(error):
            return None
    except RecursionError:
        return None
    try:
        return _decoded(repair(events).text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def odd_event(event: bytes) -> SliceEvent | None:
    """One event whose arguments have wrong types."""
    text = repair(event).text
    try:
        of = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(of, dict):
        return None
    args = of.pop("args", None)
    fields = args if isinstance(args, dict) else {}
    known = {key: of.get(key) for key in SliceRow.__struct_fields__ if key != "args"}
    return SliceEvent(SliceRow(**known, args=SliceArgs(fields.get("correlation"), fields.get("External id"))), text)


def is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _decoded(events: bytes) -> list[SliceEvent]:
    """Decode the events. Their texts are checked as a whole, since parts of a row that are not used must be valid JSON,
    too."""
    text = b"[%b]" % events
    rows = _ROWS.decode(text)
    return [SliceEvent(row, bytes(raw)) for row, raw in zip(rows, _TEXTS.decode(text), strict=True)]


def _float(value: object, missing: float) -> float:
    (number,) = floats([value])
    return missing if math.isnan(number) else number
