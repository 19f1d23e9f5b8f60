"""The step-time breakdown: every instant of a step goes to one part, and the parts sum to the step."""

from __future__ import annotations

import msgspec


class Parts(msgspec.Struct, frozen=True):
    """ns per part, in the order in which a stacked picture shows them; they sum to the step."""

    kernel: int
    communication: int
    memcpy: int
    memset: int
    data_loader: int
    runtime: int
    cpu_exec: int
    other: int
