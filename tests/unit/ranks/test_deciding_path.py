"""The path that decides a step, over ranks whose clocks differ."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.ranks.deciding_path import deciding_path
from tb_steptime.ranks.instances import GroupKey
from tb_steptime.ranks.matching import Matched
from tb_steptime.ranks.result import DecidingPath, PathRank
from tb_steptime.ranks.spans import RankSpan
from tests.drawn.exchanging_ranks import rank
from tests.drawn.simulated_ranks import MS, job_of
from tests.truth.simulate.rank_jobs import Declared, run

REDUCE = ExchangeClass("all_reduce", None, 1000, "Float", "backward.hooks")
#: What each rank's clock is ahead.
CLOCKS = (0, 7_000, -90_000, 12)


def group(*rows: str) -> Matched:
    """A row for each rank, one step; a run of = is a collective, whose transfer is as long as the shortest."""
    runs = [_runs(row) for row in rows]
    start = np.array([[begin + CLOCKS[place] for begin, _ in own] for place, own in enumerate(runs)]).T
    length = np.array([[end - begin for begin, end in own] for own in runs]).T
    zeros = np.zeros(len(length), np.int64)
    return Matched(GroupKey("0", (), None), [REDUCE], np.arange(len(rows)), zeros, zeros, zeros == 0, start, length,
                   length)  # fmt: skip


def _runs(row: str) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff([0, *(letter == "=" for letter in row), 0]))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def spans(*rows: str) -> list[RankSpan]:
    return [_span(place, len(row)) for place, row in enumerate(rows)]


def _span(place: int, length: int) -> RankSpan:
    drawn = rank(place, "a")
    drawn.step_ns[:], drawn.step_start_ns[:] = length, CLOCKS[place]
    return drawn


def path(*rows: str) -> DecidingPath | None:
    return deciding_path([group(*rows)], spans(*rows), ["1"], np.array([0]))


def test_it_goes_to_the_rank_that_arrives_last():
    """Back from the end: 2 of work, 3 of transfer; rank 0 takes 6, 3 of them after the median of the others; 2 of
    transfer; rank 1 takes 8, 4 of them after the others."""
    found = path(
        "....======......===..",
        "........==..=======..",
        "...=======...======..",
    )
    assert found == DecidingPath(1, 21, work_ns=2 + 3 + 4, transfer_ns=3 + 2, ranks=[PathRank(1, 4), PathRank(0, 3)])


def test_of_a_rank_that_is_alone_all_is_work():
    assert path("......") == DecidingPath(1, 6, 6, 0, [])


def test_a_step_that_ends_within_a_wait_is_decided_by_the_rank_that_is_waited_for():
    rows = ("..======", ".....===")
    cut = [_span(0, 4), _span(1, 3)]
    assert deciding_path([group(*rows)], cut, ["1"], np.array([0])) == DecidingPath(1, 4, 2, 0, [PathRank(1, 2)])


def test_a_step_that_no_rank_recorded_has_no_path():
    assert deciding_path([group("..==", "...=")], spans("....", "...."), ["7"], np.array([0])) is None


@given(
    ranks=st.integers(2, 12), late=st.dictionaries(st.integers(0, 1), st.integers(0, 9 * MS)),
    spread=st.integers(0, 3 * MS), seed=st.integers(0, 99),
)  # fmt: skip
def test_its_parts_sum_to_the_slowest_step(ranks: int, late: dict[int, int], spread: int, seed: int):
    ran = run(Declared(ranks, steps=4, late=late, spread_ns=spread, clocks_ns=2 * MS, seed=seed))
    job = job_of(ran)
    found = job.path
    assert found is not None
    assert found.work_ns + found.transfer_ns + sum(each.late_ns for each in found.ranks) == found.step_ns
    lengths = np.diff([0, *ran.step_end])[1:]
    assert found.step_ns == (2 * int(lengths.sum()) + 3) // 6


def test_a_rank_that_is_less_late_than_another_decides_nothing():
    ran = run(Declared(8, late={1: 6 * MS, 2: 4 * MS}))
    found = job_of(ran).path
    assert found is not None
    assert [each.rank for each in found.ranks] == [1]
    assert abs(found.ranks[0].late_ns - 6 * MS) < 10_000
    assert abs(found.transfer_ns - sum(each.transfer for each in ran.meetings if each.step) / 7) < 10
