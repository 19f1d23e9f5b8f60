"""Loops without marking calls: outermost ops of a thread whose names repeat, such as 100 times `normal_` and three
`mm`.

    ops     f m m m f m m m f m m m f m m m       a loop of four ops
    steps   |------|-------|-------|-------

The layers of a model repeat, too, and are not steps. So each round must do something that no layer does: compute
gradients, or fill the inputs of its products with random numbers. A round that synchronizes the device is a step only
if nothing but the loop was recorded: code that times layers synchronizes, too, after an embedding and before a head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: Minimum share of the thread's ops inside the loop: a model's layers are a smaller share, since other ops surround
#: them.
MOST_OPS = 0.9
#: Minimum number of rounds.
FEWEST_ROUNDS = 3
#: The rarest op of a loop occurs at most this many times per round.
MOST_A_ROUND = 8
#: Number of names that are tried, the rarest first.
_TRIED = 8

_BACKWARD = expression(r"autograd::engine::evaluate_function")
_RANDOM = expression(r"aten::(normal_?|uniform_|random_|randn?|randint)$")
_PRODUCT = expression(r"aten::(mm|addmm|bmm|baddbmm|convolution|_?scaled_\w*mm|_scaled_dot_product\w*)$")
_SYNCHRONIZE = expression(r"(cuda|cu|hip)DeviceSynchronize")


def loop_rounds(trace: Trace, ops: Int64) -> Iterator[Int64]:
    """Rows with which the rounds of a loop begin, out of the outermost ops of one thread; none if there is no loop."""
    names = trace.events.name[ops]
    for period in _periods(names):
        first, last = _longest_run(names, period)
        if last - first < max(MOST_OPS * len(ops), FEWEST_ROUNDS * period):
            continue
        begins = ops[first:last:period]
        ends = np.append(trace.events.start_ns[begins[1:]], trace.events.ends(ops[last - 1 : last]))
        rounds = (last - first) // period
        if _are_steps(trace, begins[:rounds], ends[:rounds], alone=last - first == len(ops)):
            yield begins
            return


def _periods(names: Int32) -> list[int]:
    """The distances in ops at which the rarest names recur, ascending; a loop needs more than one name."""
    distinct, inverse, number = np.unique(names, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        return []
    often = np.flatnonzero(number >= FEWEST_ROUNDS)
    rarest = often[np.argsort(number[often], kind="stable")][:_TRIED]
    places = [np.flatnonzero(inverse == each) for each in rarest]
    found = {int(gap) for at in places for step in range(1, MOST_A_ROUND + 1) for gap in (at[step:] - at[:-step])[-1:]}
    return sorted(gap for gap in found if 2 <= gap <= len(names) // FEWEST_ROUNDS)


def _longest_run(names: Int32, period: int) -> tuple[int, int]:
    """The places between which the names repeat with this period without a break; the longest such run."""
    same = np.concatenate(([False], names[period:] == names[:-period], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    if not len(edges):
        return 0, 0
    begin, end = edges[::2], edges[1::2]
    longest = int((end - begin).argmax())
    return int(begin[longest]), int(end[longest]) + period


def _are_steps(trace: Trace, start: Int64, end: Int64, *, alone: bool) -> bool:
    """Whether each round does what the layers of a model do not. alone: nothing else was recorded."""

    def in_each(rows: Int64) -> bool:
        begun = np.sort(trace.events.start_ns[rows])
        inside: Bool = np.searchsorted(begun, end) > np.searchsorted(begun, start)
        return bool(inside.all())

    def of_ops(wanted: re.Pattern[str]) -> Int64:
        return rows_named(trace, (Kind.CPU_OP,), wanted.match)

    if in_each(of_ops(_BACKWARD)) or (in_each(of_ops(_RANDOM)) and in_each(of_ops(_PRODUCT))):
        return True
    calls = rows_named(trace, (Kind.RUNTIME,), _SYNCHRONIZE.match)
    return alone and in_each(calls)
