"""Rare long stops of the host that no op explains: garbage collection, lazy loading of kernels, allocation."""

from __future__ import annotations

import msgspec


class Pause(msgspec.Struct, frozen=True):
    """Pauses of one cause in the steps. cause: garbage_collection, lazy_loading, unexplained. sure: the trace names the
    cause; else it is told from the pattern. idle_ns: device idle they left, per step mean; longest_*: the worst."""

    cause: str
    sure: bool
    name: str | None
    count: int
    total_ns: int
    idle_ns: int
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int
