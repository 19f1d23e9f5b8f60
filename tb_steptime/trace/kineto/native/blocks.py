"""Blocks of events -> columns, by means of the C extension."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import msgspec
import numpy as np

from tb_steptime.trace.extension import extension
from tb_steptime.trace.kineto.categories import LEFT_OUT
from tb_steptime.trace.kineto.columns import ON_A_DEVICE, Columns
from tb_steptime.trace.kineto.labels import IS_A_CALL, Labels
from tb_steptime.trace.kineto.row_types import Args, Track
from tb_steptime.trace.kineto.rows import RowDecoder
from tb_steptime.trace.table import Int64, Kind

_LATE = -2
#: Names of attributes of `Columns`, in the order of events.h.
_COLUMNS = (
    *("start", "dur", "correlation", "external", "external_2021", "on_device", "bytes", "sequence", "with_inputs"),
    *("kernel", "grid", "block", "shared_memory", "collective", "graphed", "graph", "graph_node"),
    *("shaped", "shaped_grid", "shaped_block", "shaped_memory", "window_start", "window_dur"),
    *("memory._ts", "memory._bytes", "memory._addr", "memory._allocated", "memory._reserved"),
    *("label", "device", "stream", "numbered", "forward_thread", "stacked", "stack", "nested", "hierarchy"),
    *("shapes", "dtypes", "settings", "registers", "memory._device_type", "memory._device", "memory._thread"),
    *("blocks_per_sm", "occupancy"),
    "of_collectives",
)
_ARGS = msgspec.json.Decoder(list[Args])


class Scanner(Protocol):
    """A scanner of blocks; it remembers labels and texts of earlier blocks."""

    def scan(self, text: bytes, exact: bool, /) -> int:
        """Scans a block and returns its number of events. Returns -1 if something is odd, and -2 if a time is too late
        for a float64."""

    def others(self) -> bytes:
        """Returns the scanned events without a duration that still matter, as comma-separated text."""

    def columns(self, first: int, /) -> tuple[bytes, ...] | None:
        """Returns the scanned events with a duration and the allocator's events: the columns of `Columns` as bytes, and
        the arguments of collectives. Each is returned once. Returns None if something is odd."""


_Numbers = Mapping[bytes, int]
#: Arguments: a function from a label's spelling to its number and flags, and the numbers of the spellings of inputs,
#: stacks, hierarchies and tracks.
MakeScanner = Callable[[Callable[[bytes], tuple[int, int]], _Numbers, _Numbers, _Numbers, _Numbers], Scanner]


def scanner_type() -> MakeScanner | None:
    """Returns C's scanner, or None without the extension."""
    built = extension()
    return cast(MakeScanner, built.Scanner) if built else None


class ScannedBlocks:
    """Adds blocks of plain events to columns, and declines others.

    decoder: reads the declined blocks, and events without a duration. It knows whether times have to be exact.
    """

    def __init__(self, make: MakeScanner, columns: Columns, decoder: RowDecoder) -> None:
        self._columns, self._decoder = columns, decoder
        texts = columns.inputs, columns.stack_texts, columns.hierarchy_texts
        self._scanner = make(SpelledLabels(columns.labels), *texts, SpelledTracks(columns.labels))

    def add(self, text: bytes) -> int | None:
        """Adds a block and returns its number of events. Returns None if some are odd, in which case nothing was
        added."""
        exact = self._decoder.exact
        count = self._add(text)
        if count is None:
            self._decoder.exact = exact  # the reader of the declined block decides
        return count

    def _add(self, text: bytes) -> int | None:
        exact = self._decoder.exact
        count = self._scanner.scan(text, exact)
        if count == _LATE:
            self._decoder.exact = True
            return self._add(text)
        if count < 0:
            return None
        text = self._scanner.others()
        others = self._decoder.decode_plain(text) if text else None
        if text and not others:
            return None
        if self._decoder.exact != exact:
            return self._add(text)
        if not self._add_timed():
            return None
        if others:
            self._columns.add(others)
        return count

    def _add_timed(self) -> bool:
        columns = self._columns
        first = len(columns)
        parts = self._scanner.columns(first)
        if parts is None:
            return False
        by_name = dict(zip(_COLUMNS, parts, strict=True))
        collectives = np.frombuffer(by_name.pop("collective"), np.int64)
        args = by_name.pop("of_collectives")
        columns.add_columns(by_name)
        if len(collectives):
            self._add_collectives(collectives, _ARGS.decode(b"[%b]" % args))
        return True

    def _add_collectives(self, rows: Int64, args: list[Args]) -> None:
        """Adds the collectives of ops and those of kernels, which come after them."""
        columns = self._columns
        kinds = np.array([columns.labels.kinds[columns.label[row]] for row in rows.tolist()])
        ops = int((kinds == Kind.CPU_OP).sum())
        columns.add_collectives(rows[:ops], args[:ops])
        columns.add_collectives(rows[ops:], args[ops:])


#: Flags, as in events.h.
_LEFT_OUT, _ON_DEVICE, _OP, _KERNEL, _WITH_INPUTS, _WITH_SETTINGS, _CALL, _WINDOW = (1 << bit for bit in range(8))

_WORD: msgspec.json.Decoder[str] = msgspec.json.Decoder(str)
_TRACK: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Track)


class SpelledLabels:
    """Numbers labels by their spelling: JSON of category, name, process and thread, each on a line, empty if
    missing."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def __call__(self, spelling: bytes) -> tuple[int, int]:
        """Returns the label's number and flags."""
        category, name, pid, tid = spelling.split(b"\n")
        number = self._labels[
            _decoded(_WORD, category), _decoded(_WORD, name), _decoded(_TRACK, pid), _decoded(_TRACK, tid)
        ]
        return number, self._flags(number)

    def _flags(self, number: int) -> int:
        labels = self._labels
        kind = labels.kinds[number]
        flags = _LEFT_OUT if kind == LEFT_OUT else 0
        flags |= _WINDOW if labels.windows[number] else 0
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
