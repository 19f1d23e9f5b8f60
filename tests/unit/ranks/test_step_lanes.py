"""A step of a job on one clock, whatever the clocks of its ranks show."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.ranks.deciding_path import PathPiece
from tb_steptime.ranks.job import job_step
from tb_steptime.ranks.result import JobRanks
from tb_steptime.ranks.step_lanes import Lane, StepLanes, step_lanes
from tb_steptime.serve.answers import LaneArrivals, LanePiece
from tb_steptime.serve.ranks import MOST_CELLS, job_timeline
from tb_steptime.trace.intervals import Intervals
from tests.drawn.met_ranks import CLOCKS, met_group, met_spans
from tests.drawn.simulated_ranks import MS, job_of, span_of
from tests.truth.simulate.rank_jobs import Declared, run

ROWS = (
    "....======......===..",
    "........==..=======..",
    "...=======...======..",
)


def drawn() -> StepLanes:
    offsets = [CLOCKS[0] - clock for clock in CLOCKS[: len(ROWS)]]
    return step_lanes([met_group(*ROWS)], met_spans(*ROWS), offsets, "1", 0)


@pytest.fixture(scope="module")
def job() -> JobRanks:
    return job_of(run(Declared(3, late={1: 4 * MS})))


def text(cells: bytes, bins: int) -> list[str]:
    """One row per rank: . is own time, w a wait, = a transfer, and a space is time outside of the step."""
    values = np.frombuffer(cells, np.uint8)[1:].reshape(-1, bins)
    return ["".join(" .w="[value] for value in row) for row in values]


def test_ranks_stand_on_one_clock_with_what_each_does(job: JobRanks):
    found = job_timeline(["1"], drawn(), job, None, 21)
    assert (found.step, found.length_ns, found.from_ns, found.to_ns) == ("1", 21, 0, 21)
    assert text(found.cells, found.bins) == [
        "....wwww==......===..",
        "........==..wwww===..",
        "...wwwww==...www===..",
    ]
    assert found.path == [LanePiece(1, 0, 10), LanePiece(0, 10, 21)]
    assert found.arrivals == [
        LaneArrivals("all-reduce", 1, 5, 10, [0, 1, 2], [4, 8, 3]),
        LaneArrivals("all-reduce", 0, 4, 19, [0, 1, 2], [16, 12, 13]),
    ]


def test_times_of_the_picture_lead_to_those_of_each_span():
    """The drawn spans begin at 0, and each clock is ahead by its own offset."""
    assert [lane.shift_ns for lane in drawn().lanes] == list(CLOCKS[: len(ROWS)])


def test_a_window_has_what_lies_in_it(job: JobRanks):
    found = job_timeline(["1"], drawn(), job, (9, 15), 3)
    assert text(found.cells, found.bins) == ["...", "..w", "..w"]
    assert found.path == [LanePiece(1, 9, 10), LanePiece(0, 10, 15)]
    assert [each.end_ns for each in found.arrivals] == [10]


@pytest.mark.parametrize("between", [(30, 40), (-9, -1)])
def test_a_window_beside_the_step_shows_all_of_it(job: JobRanks, between: tuple[int, int]):
    found = job_timeline(["1"], drawn(), job, between, 21)
    assert (found.from_ns, found.to_ns) == (0, 21)


def test_an_answer_is_bounded(job: JobRanks):
    lane = Lane(Intervals.of((0, 1_000_000)), Intervals.empty(), Intervals.empty(), 0)
    path = [PathPiece(place % 400, 10 * place, 10 * place + 10) for place in range(100_000)]
    found = job_timeline(["1"], StepLanes("1", 1_000_000, [lane] * 400, path, []), job, None, 5_000)
    assert (found.bins, len(found.cells), found.path) == (1_000, 1 + MOST_CELLS, [])


def test_steps_are_chosen_by_name_or_the_usual_one():
    ran = run(Declared(2, steps=6, bucket_bytes=(4_194_304,) * 3))
    spans = [span_of(ran, rank) for rank in range(2)]
    steps, found = job_step(spans, "7")
    assert (steps, found and found.step) == (["6", "7", "8", "9", "10"], "7")
    _, usual = job_step(spans, "none of them")
    assert usual and usual.step in steps


def test_ranks_without_a_common_clock_are_not_shown():
    ran = run(Declared(2, steps=2, bucket_bytes=(4_194_304,)))
    assert job_step([span_of(ran, rank) for rank in range(2)], "") == ([], None)
