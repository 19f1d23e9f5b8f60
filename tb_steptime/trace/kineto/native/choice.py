"""Which reader, sweep and reduction of graphs there is: C where it was built and is wanted, otherwise Python alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from tb_steptime.trace.extension import extension


class Scanner(Protocol):
    """A scanner of blocks; it knows labels and texts of the blocks before."""

    def scan(self, text: bytes, exact: bool, /) -> int:
        """How many events this is; -1 where something is odd, -2 where a time is too late for a float64."""

    def others(self) -> bytes:
        """What was scanned and has no duration but something to say, comma-separated."""

    def columns(self, first: int, /) -> tuple[bytes, ...] | None:
        """What was scanned and lasts, and what the allocator said, once: `Columns` as bytes, and the arguments of
        collectives. None: odd."""


_Numbers = Mapping[bytes, int]
#: label: number and flags of a label's spelling; then numbers of the spellings of inputs, stacks, hierarchies, tracks.
MakeScanner = Callable[[Callable[[bytes], tuple[int, int]], _Numbers, _Numbers, _Numbers, _Numbers], Scanner]


#: Columns of int64 as bytes: durations, releases, edges and links; the number of copies. It gives starts.
Sweep = Callable[..., bytes]
#: Columns of int64 as bytes: durations, releases, edges, numbers of chosen nodes; how far to look back. It gives ways.
Reduce = Callable[..., tuple[bytes, bytes, bytes]]


def scanner_type() -> MakeScanner | None:
    """C's scanner; None where it was not built, or TB_STEPTIME_PURE is set."""
    built = extension()
    return cast(MakeScanner, built.Scanner) if built else None


def sweep_function() -> Sweep | None:
    """C's sweep of a graph, likewise."""
    built = extension()
    return cast(Sweep, built.sweep) if built else None


def reduce_function() -> Reduce | None:
    """C's reduction of a graph, likewise."""
    built = extension()
    return cast(Reduce, built.reduce) if built else None


def reader_name() -> str:
    """What reads events, for people."""
    return "C" if scanner_type() else "Python only"
