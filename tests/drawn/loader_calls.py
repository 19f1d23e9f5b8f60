"""Drawings of iterators of loaders: marked calls that follow one another, and epochs of them."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.trace.model import Trace
from tests.drawn.loader_waits import FEED
from tests.drawn.timeline import timeline

MULTI, SINGLE = "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"


NAMES = {
    "b": "autograd::engine::evaluate_function: AddmmBackward0",
    "s": "aten::random_",
    "m": "aten::to",
    "r": "aten::randperm",
}


def chains(waits: Sequence[Sequence[int]], loader: str = "loader single", work: int = 3) -> str:
    """One step for each chain of waits, in us, and the work after it."""
    rows = {"step": "", loader: "", "op": ""}
    for number, chain in enumerate(waits):
        marks = "".join("lm"[place % 2] * wait for place, wait in enumerate(chain))
        rows["step"] += "xy"[number % 2] * (len(marks) + work)
        rows[loader] += marks + "." * work
        rows["op"] += "." * len(marks) + "b" * work
    return "\n".join(f"{label} | {cells} |" for label, cells in rows.items())


#: Each step requests two batches in a row.
TWICE = """
    step   | 1111111222222233333334444444 |
    loader | ll.nn..oo.pp..qq.rr..tt.uu.. |
    op     | .....bb.....bb.....bb.....bb |"""


#: The seeds of a new iterator, and of a sampler.
SEEDS = {"s": "aten::random_", "t": "aten::random_"}


def epochs(
    waits: Sequence[Sequence[int]], work: int = 4, seeds: str = "s.", loader: str = "loader", extra: str = ""
) -> Trace:
    """A step for each wait, in us; from the second epoch on, the first one is asked for after 1 us of the end of the
    epoch before and 2 us in which an iterator is set up.

    loader   l....l....e..llllllll....
    op       .oooo.oooo.s.........oooo
    """
    rows = {"step": "", loader: "", "op": ""}
    number = 0
    for epoch, theirs in enumerate(waits):
        for place, wait in enumerate(theirs):
            opens = "e.." if epoch and not place else ""
            rows["step"] += "ab"[number % 2] * (len(opens) + wait + work)
            rows[loader] += opens + "l" * wait + "." * work
            rows["op"] += ("." + seeds if opens else "") + "." * wait + "o" * work
            number += 1
    length = len(rows["step"])
    lines = [f"{label} | {cells} |" for label, cells in rows.items()]
    lines += [f"{line} | {'f' * length} |" for line in extra.split(",") if line]
    return timeline("\n".join(lines), names=SEEDS | {"f": FEED})
