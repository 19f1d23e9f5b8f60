"""Replays a step of a pipeline: each pass begins when the pass before it on its rank has ended and its inputs are
there. The lengths are (steps,) arrays, so one run through the passes replays all steps together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tb_steptime.ranks.pipeline.program import BACKWARD, FORWARD, INPUTS, WEIGHTS, Pass, Program
from tb_steptime.trace.table import Float64, Int64

#: The length of each pass, including its rank's own time before it, in ns; (steps,).
Lengths = Mapping[Pass, Int64 | Float64]
#: The passes of each rank in order.
Orders = Sequence[Sequence[Pass]]


class Replayed(NamedTuple):
    """The replayed steps of a pipeline. length: (steps,), from the begin of the first pass to the end of the last;
    idle: for each rank (steps, passes), the idle time before each of its passes, in the given order."""

    length: Float64
    idle: list[Float64]


def lengths_of(programs: Sequence[Program]) -> dict[Pass, Int64]:
    return {
        one: each.end[:, place] - each.ready[:, place] for each in programs for place, one in enumerate(each.passes)
    }


def needs(one: Pass, known: Mapping[Pass, object] | frozenset[Pass], last: int) -> Pass | None:
    """Returns the pass of another kind or stage whose result this one needs; None where it is the first of all, or that
    pass is not recorded. last: the last stage."""
    return next((other for other in _needs(one, last) if other in known), None)


def _needs(one: Pass, last: int) -> Iterator[Pass]:
    """Yields candidates; the first one that exists counts."""
    kind, stage, batch = one
    if kind == FORWARD:
        yield Pass(FORWARD, stage - 1, batch)
        return
    if kind == WEIGHTS:
        yield Pass(INPUTS, stage, batch)
    yield Pass(BACKWARD, stage + 1, batch)
    yield Pass(INPUTS, stage + 1, batch)
    if stage == last:
        yield Pass(FORWARD, stage, batch)


def replay(orders: Orders, lengths: Lengths) -> Replayed | None:
    """Returns None where passes wait for each other in a cycle, so that the order could not run."""
    known, last = (
        frozenset(one for order in orders for one in order),
        max(one.stage for order in orders for one in order),
    )
    ended: dict[Pass, Float64 | Int64] = {}
    now: list[Float64 | Int64 | float] = [0.0] * len(orders)
    idle: list[list[Float64 | Int64]] = [[] for _ in orders]
    at, moved = [0] * len(orders), True
    while moved:
        moved = False
        for rank, order in enumerate(orders):
            while at[rank] < len(order):
                one = order[at[rank]]
                needed = needs(one, known, last)
                if needed is not None and needed not in ended:
                    break
                begin = np.maximum(now[rank], ended[needed] if needed else 0.0)
                idle[rank].append(begin - now[rank])
                now[rank] = ended[one] = begin + lengths[one]
                at[rank] += 1
                moved = True
    if any(place < len(order) for place, order in zip(at, orders, strict=True)):
        return None
    steps = np.zeros_like(next(iter(lengths.values())), dtype=np.float64)
    stacked = [np.stack([steps + each for each in own], axis=1) for own in idle]
    return Replayed(np.max([steps + each for each in now], axis=0), stacked)
