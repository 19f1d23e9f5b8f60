"""Ranks drawn by what they exchange: a letter is a collective of its kind, size and length.

rank(0, "aab aab")     steps of two a and one b
rank(1, "a.b aab")     the second one is lost
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup, Exchanges
from tb_steptime.metrics.communication.packed import PackedColumn, packed
from tb_steptime.ranks.spans import RankSpan

STEP_NS = 1_000_000
GROUP = ExchangeGroup("0", 2, "default_pg", [0, 1])

A = ExchangeClass("all_reduce", 0, 1000, "Float", "backward.hooks")
B = ExchangeClass("all_gather", 0, 500, "Float", "forward.model")


def rank(
    number: int,
    drawn: str,
    *,
    classes: Mapping[str, ExchangeClass] | None = None,
    lengths: Mapping[str, int] | None = None,
    groups: tuple[ExchangeGroup, ...] = (GROUP,),
    first_step: int = 1,
    exposed: int = -1,
    first_number: int | None = None,
) -> RankSpan:
    """Letters of a step begin 1 us apart. lengths: ns by letter, 100 for others; exposed: of each letter, -1 for all of
    it; first_number: Seq of the first letter or dot, None where no Seq is recorded.
    """
    by_letter = dict(classes or {"a": A, "b": B})
    places = [(step, letter) for step, word in enumerate(drawn.split()) for letter in word]
    letters = [(step, letter) for step, letter in places if letter != "."]
    numbers = [(first_number or 0) + number for number, (_, letter) in enumerate(places) if letter != "."]
    steps = len(drawn.split())
    length = [(lengths or {}).get(letter, 100) for _, letter in letters]
    exchanges = Exchanges(
        groups=list(groups),
        classes=list(by_letter.values()),
        of=packed(np.array([list(by_letter).index(letter) for _, letter in letters], np.int64)),
        step=packed(np.array([step for step, _ in letters], np.int64)),
        start=packed(np.array([step * 1000 + place for place, (step, _) in enumerate(letters)], np.int64)),
        length=packed(np.array(length, np.int64)),
        exposed=packed(np.full(len(letters), exposed, np.int64)),
        sequence=PackedColumn() if first_number is None else packed(np.array(numbers, np.int64)),
    )
    step_ns = np.full(steps, STEP_NS, np.int64)
    return RankSpan(
        key=str(number), worker=f"rank{number}", host=None, rank=number, world_size=None, cut_short=False, gap=False,
        origin_ns=0,
        step_names=tuple(str(first_step + step) for step in range(steps)), step_start_ns=np.cumsum(step_ns) - step_ns,
        step_ns=step_ns, figures={"step_time": step_ns.astype(np.float64)}, results={"ranks": RanksResult(exchanges)},
    )  # fmt: skip
