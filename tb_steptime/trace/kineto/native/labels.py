"""What a label means for the columns of its events: its number, and the columns that contain its events."""

from __future__ import annotations

from typing import Any

import msgspec

from tb_steptime.trace.kineto.categories import LEFT_OUT
from tb_steptime.trace.kineto.columns import IS_A_CALL, ON_A_DEVICE, Labels
from tb_steptime.trace.kineto.row_types import Track
from tb_steptime.trace.table import Kind

#: Flags, as in events.h.
_LEFT_OUT, _ON_DEVICE, _OP, _KERNEL, _WITH_INPUTS, _WITH_SETTINGS, _CALL = (1 << bit for bit in range(7))

_WORD: msgspec.json.Decoder[str] = msgspec.json.Decoder(str)
_TRACK: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Track)


class SpelledLabels:
    """Numbers labels by their spelling: JSON of category, name, process and thread, each on a line, empty if
    missing."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def __call__(self, spelling: bytes) -> tuple[int, int]:
        """The label's number and flags."""
        category, name, pid, tid = spelling.split(b"\n")
        number = self._labels[
            _decoded(_WORD, category), _decoded(_WORD, name), _decoded(_TRACK, pid), _decoded(_TRACK, tid)
        ]
        return number, self._flags(number)

    def _flags(self, number: int) -> int:
        labels = self._labels
        kind = labels.kinds[number]
        flags = _LEFT_OUT if kind == LEFT_OUT else 0
        flags |= _ON_DEVICE if ON_A_DEVICE[kind] else 0
        flags |= {Kind.CPU_OP: _OP, Kind.KERNEL: _KERNEL}.get(Kind(kind), 0) if kind != LEFT_OUT else 0
        flags |= _CALL if IS_A_CALL[kind] else 0
        flags |= _WITH_INPUTS if labels.kept_inputs[number] else 0
        return flags | (_WITH_SETTINGS if labels.kept_settings[number] else 0)


class SpelledTracks(dict[bytes, int]):
    """Numbers threads by their spelling: JSON of process and thread, each on a line, empty if missing."""

    def __init__(self, labels: Labels) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, spelling: bytes) -> int:
        pid, tid = spelling.split(b"\n")
        number = self[spelling] = self._labels.thread(_decoded(_TRACK, pid), _decoded(_TRACK, tid))
        return number


def _decoded(decoder: msgspec.json.Decoder[Any], spelling: bytes) -> Any:
    return decoder.decode(spelling) if spelling else None
