"""Selects the reader, sweep and reduction of graphs: C if the extension is built and enabled, otherwise Python
alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from tb_steptime.trace.extension import extension


class Scanner(Protocol):
    """A scanner of blocks; it remembers labels and texts of earlier blocks."""

    def scan(self, text: bytes, exact: bool, /) -> int:
        """Scan a block and return its number of events; -1 if something is odd, -2 if a time is too late for a
        float64."""

    def others(self) -> bytes:
        """The scanned events without a duration that still matter, as comma-separated text."""

    def columns(self, first: int, /) -> tuple[bytes, ...] | None:
        """The scanned events with a duration and the allocator's events: the columns of `Columns` as bytes, and the
        arguments of collectives. Each is returned once. None: something is odd."""


_Numbers = Mapping[bytes, int]
#: label: number and flags for a label's spelling; then the numbers of the spellings of inputs, stacks, hierarchies,
#: tracks.
MakeScanner = Callable[[Callable[[bytes], tuple[int, int]], _Numbers, _Numbers, _Numbers, _Numbers], Scanner]


#: Arguments: int64 columns as bytes (durations, releases, edges and links), and the number of copies. Returns the
#: starts.
Sweep = Callable[..., bytes]
#: Arguments: int64 columns as bytes (durations, releases, edges, numbers of chosen nodes), and how far to look back.
#: Returns the paths.
Reduce = Callable[..., tuple[bytes, bytes, bytes]]


def scanner_type() -> MakeScanner | None:
    """C's scanner; None where it was not built, or TB_STEPTIME_PURE is set."""
    built = extension()
    return cast(MakeScanner, built.Scanner) if built else None


def sweep_function() -> Sweep | None:
    """C's sweep of a graph; None if it was not built, or TB_STEPTIME_PURE is set."""
    built = extension()
    return cast(Sweep, built.sweep) if built else None


def reduce_function() -> Reduce | None:
    """C's reduction of a graph; None if it was not built, or TB_STEPTIME_PURE is set."""
    built = extension()
    return cast(Reduce, built.reduce) if built else None


def reader_name() -> str:
    """Name of the reader of events, for display."""
    return "C" if scanner_type() else "Python only"
