"""Ranks drawn by the times at which they are in collectives, on clocks that differ."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.ranks.matching import GroupKey, MatchedGroup
from tb_steptime.ranks.spans import RankSpan
from tests.drawn.exchanging_ranks import rank

REDUCE = ExchangeClass("all_reduce", None, 1000, "Float", "backward.hooks")
#: How far each rank's clock is ahead.
CLOCKS = (0, 7_000, -90_000, 12)


def met_group(*rows: str) -> MatchedGroup:
    """One row per rank, one step; a run of = and # is a collective, whose transfer is as long as the shortest run. #:
    the rank computes meanwhile."""
    runs = [_runs(row) for row in rows]
    start = np.array([[begin + CLOCKS[place] for begin, _ in own] for place, own in enumerate(runs)]).T
    length = np.array([[end - begin for begin, end in own] for own in runs]).T
    exposed = np.array([[row[begin:end].count("=") for begin, end in _runs(row)] for row in rows]).T
    zeros = np.zeros(len(length), np.int64)
    size = np.full(length.shape, REDUCE.bytes)
    return MatchedGroup(GroupKey("0", (), None), [REDUCE], np.arange(len(rows)), zeros, zeros, size, start, length,
                        exposed, np.repeat(np.arange(len(length))[:, None], len(rows), axis=1))  # fmt: skip


def _runs(row: str) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff([0, *(letter in "=#" for letter in row), 0]))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def met_spans(*rows: str) -> list[RankSpan]:
    return [met_span(place, len(row)) for place, row in enumerate(rows)]


def met_span(place: int, length: int) -> RankSpan:
    drawn = rank(place, "a")
    drawn.step_ns[:], drawn.step_start_ns[:] = length, CLOCKS[place]
    return drawn
