"""How far the host is ahead in each step, on drawn traces."""

from __future__ import annotations

from tb_steptime.metrics.catalogue import measure
from tests.drawn.timeline import timeline

#: The first step's kernels start 1 us after their calls; the second's queue up behind a long one.
TWO_STEPS = """
    step     | 1111111111111111111122222222222222222222 |
    runtime  | k.q.................xyz................. |
    kernel 7 | .k.q.................xxxxxxxxxxxxxxxxyyz |"""


def test_figures_of_each_step_and_of_the_span():
    trace = timeline(TWO_STEPS)
    assert measure(trace, "run_ahead_p50", 0).steps == [1_000, 16_000]
    assert measure(trace, "run_ahead_p50", 0).value == 1_000
    assert measure(trace, "starved_share", 0).steps == [1.0, 1 / 3]
    assert measure(trace, "starved_share", 0).value == 3 / 5
    queue = measure(trace, "queue_mean", 0)
    assert queue.steps == [2 / 20, (1 + 16 + 17) / 20]
    assert queue.value == 36 / 40


def test_bubbles_are_those_of_blocking_calls():
    trace = timeline(
        """
        step     | 11111111111111111111 |
        runtime  | k.ssssss......q..... |
        kernel 7 | .kkk...........qqqqq |""",
        calls={"s": "cudaDeviceSynchronize"},
    )
    assert measure(trace, "bubble_time", 0).steps == [6_000]  # as long as the call: a host that went on would be so far


def test_without_launch_calls_nobody_knows():
    trace = timeline("step | 11111 |\nkernel 7 | ..kk. |")
    for metric in ("run_ahead_p50", "starved_share"):
        series = measure(trace, metric, 0)
        assert (series.value, series.steps) == (None, [None])
        assert series.reason is not None
