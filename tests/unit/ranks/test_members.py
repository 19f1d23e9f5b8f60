"""Which ranks of a job are present, and how long each step takes on each of them."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason, count


def span(
    rank: int, steps: dict[str, int], *, world_size: int | None = 4, cut_short: bool = False, gap: bool = False
) -> RankSpan:
    step_ns = np.array(list(steps.values()), np.int64)
    return RankSpan(
        key=f"key{rank}",
        worker=f"rank{rank}",
        host=None,
        rank=rank,
        world_size=world_size,
        cut_short=cut_short,
        gap=gap,
        origin_ns=1_000,
        step_names=tuple(steps),
        step_start_ns=np.cumsum(step_ns) - step_ns,
        step_ns=step_ns,
        figures={"step_time": step_ns.astype(np.float64)},
        results={},
    )


def test_steps_of_all_ranks_stand_beside_each_other():
    job = job_ranks(
        [
            span(2, {"s#9": 90, "s#10": 120}),
            span(0, {"s#9": 100, "s#10": 110, "s#11": 105}),
            span(1, {"s#9": 95, "s#10": 100}),
        ]
    )
    assert [row.rank for row in job.ranks] == [0, 1, 2]
    assert job.step_time.values == [[100, 110, 105], [95, 100, None], [90, 120, None]]
    assert [(s.name, s.ranks, s.slowest, s.slowest_ns, s.median_ns, s.fastest, s.fastest_ns) for s in job.steps] == [
        ("s#9", 3, 0, 100, 95, 2, 90),
        ("s#10", 3, 2, 120, 110, 1, 100),
        ("s#11", 1, 0, 105, 105, 0, 105),
    ]
    assert job.metrics == ["step_time"]


def test_missing_double_and_cut_ranks_are_said():
    job = job_ranks([span(0, {"s#1": 9}), span(0, {"s#1": 9, "s#2": 9}), span(3, {"s#1": 9}, cut_short=True)])
    assert (job.world_size, job.missing) == (4, [1, 2])
    assert [row.steps for row in job.ranks] == [2, 1]
    assert {note.id: note.values for note in job.notes} == {
        "ranks_missing": {"count": count(2), "all": count(4)},
        "ranks_twice": {"count": count(1)},
        "ranks_cut_short": {"count": count(1), "all": count(2)},
        "ranks_with_other_steps": {"count": count(1), "all": count(2)},
    }


def test_a_matrix_without_any_value_has_a_reason():
    job = job_ranks([span(0, {}), span(1, {})])
    assert (job.step_time.values, job.step_time.reason) == ([[], []], Reason("no_rank_measures_it"))


def test_ranks_of_which_an_analysis_failed_are_counted():
    job = job_ranks([span(0, {"1": 5}, world_size=2), span(1, {"1": 5}, world_size=2, gap=True)])
    assert [(note.id, note.values) for note in job.notes] == [
        ("ranks_not_computed", {"count": count(1), "all": count(2)})
    ]


@pytest.mark.parametrize("world_size", [2**18, 2**31, 2**63, -1])
def test_a_number_of_ranks_that_no_job_has_is_not_believed(world_size):
    """The ranks without a recording would be listed one by one."""
    job = job_ranks([span(0, {"1": 5}, world_size=world_size), span(1, {"1": 5}, world_size=world_size)])
    assert (job.world_size, job.missing, job.notes) == (None, [], [])
