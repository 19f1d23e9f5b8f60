"""The tail of a recording: what is hidden because the recording ends, and what belongs to the step."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

MS = 1_000_000


def tail_ms(trace: Trace) -> list[tuple[int, int]]:
    return [(start // MS, end // MS) for start, end in excluded_time(trace, 0).after_recording]


def test_a_tail_is_left_out_from_where_other_steps_had_ended():
    trace = timeline("""
        step     | 0000111122222222 |
        runtime  | k...q...r....... |
        kernel 7 | kkk.qqq.rrr..... |""", cell_ns=MS)  # fmt: skip
    assert tail_ms(trace) == [(12, 16)]


@pytest.mark.parametrize(
    "drawing",
    [
        """
        step     | 000011112222. |
        runtime  | k...q...r.... |
        kernel 7 | kkk.qqq.rr... |""",
        """
        step     | 0000000000000 |
        runtime  | k............ |
        kernel 7 | kkk.......... |""",
    ],
    ids=["not longer than usual", "of one step"],
)
def test_a_tail_may_be_a_part_of_the_step(drawing: str):
    assert tail_ms(timeline(drawing, cell_ns=MS)) == []


def test_work_that_is_launched_and_not_recorded_fills_the_tail():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k.q.x..... |
        kernel 7 | .kkqq..... |""", calls={"x": "cudaLaunchKernel"}, cell_ns=MS)  # fmt: skip
    assert tail_ms(trace) == [(5, 10)]


def test_calls_that_may_launch_nothing_say_nothing():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | k.q.x..... |
        kernel 7 | .kkqq..... |""", calls={"x": "cudaMemsetAsync"}, cell_ns=MS)  # fmt: skip
    assert tail_ms(trace) == []


def test_waits_for_a_batch_stay_what_they_are():
    trace = timeline("""
        step     | 0000111122222222 |
        loader   | .............ll. |
        runtime  | k...q...r....... |
        kernel 7 | kkk.qqq.rrr..... |""", cell_ns=MS)  # fmt: skip
    assert tail_ms(trace) == [(12, 13), (15, 16)]
