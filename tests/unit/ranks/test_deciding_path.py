"""The path that decides the length of a step, over ranks whose clocks differ."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.ranks.deciding_path import deciding_path
from tb_steptime.ranks.result import DecidingPath, PathRank
from tests.drawn.exchanging_ranks import rank
from tests.drawn.met_ranks import met_group, met_span, met_spans
from tests.drawn.simulated_ranks import MS, job_of
from tests.truth.simulate.rank_jobs import Declared, run


def path(*rows: str) -> DecidingPath | None:
    return deciding_path([met_group(*rows)], met_spans(*rows), ["1"], np.array([0]))


def test_it_goes_to_the_rank_that_arrives_last():
    """Read from the end: 2 of work and 3 of transfer; rank 0 takes 6, of which 3 are after the median of the others; 2
    of transfer; rank 1 takes 8, of which 4 are after the others."""
    found = path(
        "....======......===..",
        "........==..=======..",
        "...=======...======..",
    )
    assert found == DecidingPath(1, 21, work_ns=2 + 3 + 4, transfer_ns=3 + 2, ranks=[PathRank(1, 4), PathRank(0, 3)])


def test_a_rank_is_not_late_while_the_others_have_work_to_do():
    """Rank 1 comes 7 after rank 0, which computes for 4 of them."""
    assert path("..####===#", ".........=") == DecidingPath(1, 10, work_ns=9 - 3, transfer_ns=1, ranks=[PathRank(1, 3)])


def test_of_a_rank_that_is_alone_all_is_work():
    assert path("......") == DecidingPath(1, 6, 6, 0, [])


def test_a_step_that_ends_within_a_wait_is_decided_by_the_rank_that_is_waited_for():
    rows = ("..======", ".....===")
    cut = [met_span(0, 4), met_span(1, 3)]
    assert deciding_path([met_group(*rows)], cut, ["1"], np.array([0])) == DecidingPath(1, 4, 2, 0, [PathRank(1, 2)])


def test_a_step_that_no_rank_recorded_has_no_path():
    assert deciding_path([met_group("..==", "...=")], met_spans("....", "...."), ["7"], np.array([0])) is None


def test_its_steps_are_those_of_one_rank():
    """Ranks end their steps in turns: the longest of each step are together longer than the recording."""
    first, second = rank(0, "a a"), rank(1, "a a")
    first.step_ns[:], second.step_ns[:] = (10, 6), (5, 12)
    found = deciding_path([], [first, second], first.step_names, np.arange(2))
    assert found == DecidingPath(2, 9, 9, 0, [])


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
