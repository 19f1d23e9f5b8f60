"""Loops that no call marks: outermost ops of a thread whose names repeat, such as 100 times `normal_` and three `mm`.

    ops     f m m m f m m m f m m m f m m m       a loop of four ops
    steps   |------|-------|-------|-------

The layers of a model repeat, too, and are no steps. So each round has to show what no layer does: it computes
gradients, or fills the inputs of its products with random numbers. A round that synchronizes the device is a step only
where nothing but the loop was recorded: whoever times layers does that, too, after an embedding and before a head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: So much of the thread's ops has to be in the loop: a model's own layers are less of it, with all around them.
MOST_OPS = 0.9
#: Rounds that are needed.
FEWEST_ROUNDS = 3
#: The rarest op of a loop is in each round at most so many times.
MOST_A_ROUND = 8
#: Names that are tried, the rarest first.
_TRIED = 8

_BACKWARD = re.compile(r"autograd::engine::evaluate_function")
_RANDOM = re.compile(r"aten::(normal_?|uniform_|random_|randn?|randint)$")
_PRODUCT = re.compile(r"aten::(mm|addmm|bmm|baddbmm|convolution|_?scaled_\w*mm|_scaled_dot_product\w*)$")
_SYNCHRONIZE = re.compile(r"(cuda|cu|hip)DeviceSynchronize")


def loop_rounds(trace: Trace, ops: Int64) -> Iterator[Int64]:
    """Rows with which the rounds of a loop begin, of the outermost ops of one thread; none where there is no loop."""
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
    """After how many ops the rarest names come again, ascending; more than one name is needed for a loop."""
    distinct, inverse, number = np.unique(names, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        return []
    often = np.flatnonzero(number >= FEWEST_ROUNDS)
    rarest = often[np.argsort(number[often], kind="stable")][:_TRIED]
    places = [np.flatnonzero(inverse == each) for each in rarest]
    found = {int(gap) for at in places for step in range(1, MOST_A_ROUND + 1) for gap in (at[step:] - at[:-step])[-1:]}
    return sorted(gap for gap in found if 2 <= gap <= len(names) // FEWEST_ROUNDS)


def _longest_run(names: Int32, period: int) -> tuple[int, int]:
    """From where to where the names repeat with this period without a break, as places."""
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
        return rows_named(trace, (Kind.CPU_OP,), lambda name: wanted.match(name) is not None)

    if in_each(of_ops(_BACKWARD)) or (in_each(of_ops(_RANDOM)) and in_each(of_ops(_PRODUCT))):
        return True
    calls = rows_named(trace, (Kind.RUNTIME,), lambda name: _SYNCHRONIZE.match(name) is not None)
    return alone and in_each(calls)
