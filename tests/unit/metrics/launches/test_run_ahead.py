"""How far the host is ahead of the device: run-ahead, delay, the queue, and launches that wait for room in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.base import Figure
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.idle.host_floor import host_floor, host_floor_ns
from tb_steptime.metrics.idle.reasons import starts_per_step
from tb_steptime.metrics.launches.queue import (
    FULL_QUEUE,
    QueueLevel,
    find_queue,
    full_queue_ns,
    queue_levels,
    queue_per_step,
    queued_intervals,
    stalled_launches,
)
from tb_steptime.metrics.launches.run_ahead import (
    LaunchedFrom,
    LaunchFigures,
    by_phase,
    by_site,
    launch_figures,
    queue_mean,
    run_ahead_ns,
    starved_share,
)
from tb_steptime.text import Reason
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Job, Thread, Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind
from tests.drawn.columns import Drawn, trace_of
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline


def test_run_ahead_counts_from_the_calls_start_and_delay_from_its_end():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | aab.c..... |
        kernel 7 | .aaaabbbbc |
        kernel 9 | .....u.... |""")
    # a starts while its call is still running; u has no recorded launch
    assert run_ahead_ns(trace).tolist() == [1_000, 3_000, -1, 5_000]


def test_figures_of_a_span():
    trace = timeline(
        """
        step     | 00000000001111111111 |
        runtime  | a...b.....c..gg..... |
        kernel 7 | .aaa..bbb.....g..... |
        kernel 9 | .......u...c....g.g. |""",
        calls={"g": "cudaGraphLaunch"},
        cell_ns=10_000,
    )
    assert launch_figures(trace, 0) == LaunchFigures(
        calls=2.0,
        activities=3.5,
        run_ahead_p50_ns=15_000,  # of 10, 20, 10, 10, 30 and 50 us
        starved_share=0.5,
        unlinked=1,
        queue_mean=5 / 20,
        queue_max=1,
        empty_share=0.75,
        graphs=0.5,
    )


def test_without_a_recorded_launch_the_queue_has_no_depth():
    """Whether it was empty or full, no event shows."""
    trace = timeline("""
        step     | 0000011111 |
        kernel 7 | .aaa..bbb. |""")
    figures = launch_figures(trace, 0)
    assert (figures.calls, figures.activities, figures.unlinked) == (0.0, 1.0, 2)
    assert (figures.queue_mean, figures.queue_max, figures.empty_share) == (None, None, None)
    assert (queue_mean(trace, 0).value, queue_mean(trace, 0).steps) == (None, (None, None))
    assert queue_mean(trace, 0).reason == starved_share(trace, 0).reason


def test_a_captured_graph_is_queued_until_its_first_activity_starts():
    trace = timeline(
        """
        step     | 0000000000 |
        runtime  | .g........ |
        kernel 7 | ...gg.g.gg |""",
        calls={"g": "cudaGraphLaunch"},
    )
    assert queued_intervals(trace, 0) == Intervals.of((1_000, 3_000))
    assert queue_per_step(trace, 0) == [0.2]
    launched = by_site(trace, 0)["forward.model"]
    assert (launched.launches, launched.calls) == (3.0, 1.0)


def test_activities_that_start_before_their_call_were_never_queued():
    trace = timeline("""
        step     | 0000000000 |
        runtime  | ..k..q.... |
        kernel 7 | .kk....qqq |""")
    assert run_ahead_ns(trace).tolist() == [0, 2_000]
    assert queued_intervals(trace, 0) == Intervals.of((5_000, 7_000))
    assert find_queue(trace, 0).depth_at(np.arange(10) * 1_000).tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0, 0]


def test_places_and_phases():
    trace = timeline(
        """
        step                          | 0000000000 |
        user Optimizer.step#SGD.step  | ......uuuu |
        runtime                       | a.b...c... |
        kernel 7                      | .aa..bb.cc |
        kernel 9                      | ....u..... |""",
        cell_ns=10_000,
    )
    expected = {
        "unknown": LaunchedFrom(1.0, None, None),
        "optimizer": LaunchedFrom(1.0, 0.0, 20_000, 1.0),
    }
    assert by_site(trace, 0) == {"forward.model": LaunchedFrom(2.0, 0.5, 20_000, 2.0), **expected}
    assert by_phase(trace, 0) == {"forward": LaunchedFrom(2.0, 0.5, 20_000, 2.0), **expected}


def test_the_queue_of_each_device():
    trace = timeline("""
        step          | 0000000000 |
        runtime       | ab........ |
        kernel 7      | ..aaa..... |
        kernel 7 gpu1 | .....bbbbb |""")
    assert queue_per_step(trace, 0) == [0.2]
    assert queue_per_step(trace, 1) == [0.4]


def test_levels_of_the_queue_hold_exact_means_and_peaks():
    trace = timeline(
        """
        step     | 0000000000000000 |
        runtime  | abcd............ |
        kernel 7 | ........abcd.... |""",
        cell_ns=64_000,
    )
    # 4 launches get no more than 256 bins, 16 per cell
    depth = [1, 2, 3, 4, 4, 4, 4, 4, 3, 2, 1, 0, 0, 0, 0, 0]
    per_bin = np.repeat(depth, 16)
    assert queue_levels(trace, 0) == [QueueLevel(4_000, (1_000 * per_bin).tolist(), per_bin.tolist())]


def test_a_peak_within_a_bin_is_kept():
    trace = timeline(
        """
        step     | 00000000 |
        runtime  | aaabbbbb |
        kernel 7 | ......ab |""",
        cell_ns=128,
    )
    (level,) = queue_levels(trace, 0)
    assert (level.bin_ns, max(level.peak)) == (4, 2)
    assert sum(level.mean_permille) == 1_000 * (6 * 128 + 4 * 128) // 4  # a waits for 6 cells and b for 4


@st.composite
def launched(draw: st.DrawFn) -> Trace:
    """Up to eight kernels on two streams, each launched before, when or after it starts."""
    calls = draw(st.permutations([*"abcdefgh", *"." * 12]))
    first = draw(st.permutations([*"abcd", *"." * 16]))
    second = draw(st.permutations([*"efgh", *"." * 16]))
    return timeline(f"""
        step     | 00000000001111111111 |
        runtime  | {"".join(calls)} |
        kernel 7 | {"".join(first)} |
        kernel 9 | {"".join(second)} |""")


@given(launched())
def test_the_queue_agrees_with_itself(trace: Trace):
    low, high = find_steps(trace).window
    instants = np.arange(low, high, 500)
    depth = find_queue(trace, 0).depth_at(instants)
    queued = queued_intervals(trace, 0)
    assert depth.min() >= 0
    assert ((depth > 0) == (queued.overlap_ns(instants, instants + 1) > 0)).all()
    edges = np.arange(low, high + 1_000, 1_000)
    inside = depth.reshape(-1, 2)  # the depth does not change within a cell
    assert find_queue(trace, 0).integral_ns(edges).tolist() == (500 * inside.sum(axis=1)).tolist()
    assert find_queue(trace, 0).peaks(edges).tolist() == inside.max(axis=1).tolist()


def _queue_of(depth: int, call_ns: int, begins_at: int = 0) -> Trace:
    """A running kernel, `depth` launches of 1 us that queue behind it, and one more that takes call_ns; then they run.
    The recording begins after begins_at of these calls."""
    host, gpu = Thread("1", "main"), Thread("0", "7")
    full_at = 2_000 * (depth + 1)
    first = full_at + call_ns
    calls = [(2_000 * place, 2_000 * place + 1_000) for place in range(depth + 1)] + [(full_at, first)]
    runs = [(1_000, first), *((first + 1_000 * place, first + 1_000 * (place + 1)) for place in range(depth + 1))]
    events = [Drawn("0", 0, runs[-1][1], Kind.USER, "ProfilerStep#0", host)]
    events += [
        Drawn("k", start, stop, Kind.RUNTIME, "cudaLaunchKernel", host, correlation_id=place)
        for place, (start, stop) in enumerate(calls)
        if place >= begins_at
    ]
    events += [Drawn("k", start, stop, Kind.KERNEL, "k", gpu, 0, 7, place) for place, (start, stop) in enumerate(runs)]
    return trace_of(events, {}, {}, {}, Job(), (), {})


def test_while_the_device_works_off_earlier_launches_nobody_knows_what_the_host_needs():
    """The fill level of the queue is unknown here, so a launch that waits for room looks like one that does work."""
    trace = timeline(
        """
        step     | 0000000000000000000000000000000000000000 |
        runtime  | a..bbbbbbbbbbbbbbbbbbcccccc............. |
        kernel 7 | ....................aaaaaabbbbbbccccccc. |""",
        cell_ns=100_000,
    )
    assert host_floor_ns(trace).tolist() == [2_000_000]


def test_a_long_launch_into_a_full_queue_waits_for_room():
    trace = _queue_of(FULL_QUEUE, call_ns=50_000)
    step = find_steps(trace).steps[0]
    assert full_queue_ns(trace, 0) == 49_000
    assert host_floor_ns(trace).tolist() == [step.duration_ns - 49_000]


def test_work_from_before_the_recording_is_in_the_queue_from_its_beginning_on():
    """One step of a job whose host is a step ahead: most of a full queue was launched before the recording."""
    whole, cut = _queue_of(FULL_QUEUE, call_ns=50_000), _queue_of(FULL_QUEUE, call_ns=50_000, begins_at=900)
    full_at = np.array([2_000 * FULL_QUEUE + 2_500])
    assert find_queue(cut, 0).depth_at(full_at).tolist() == find_queue(whole, 0).depth_at(full_at).tolist() == [1_001]
    assert stalled_launches(cut, 0).wait_ns.tolist() == stalled_launches(whole, 0).wait_ns.tolist() == [49_000]
    assert queued_intervals(cut, 0).end[-1] == queued_intervals(whole, 0).end[-1]


@pytest.mark.parametrize(
    ("depth", "call_ns"),
    [(FULL_QUEUE - 1, 50_000), (FULL_QUEUE, 2_000)],
    ids=["one place is free", "it took no longer than others"],
)
def test_other_launches_do_not(depth: int, call_ns: int):
    trace = _queue_of(depth, call_ns)
    assert full_queue_ns(trace, 0) == 0
    assert host_floor_ns(trace).tolist() == [find_steps(trace).steps[0].duration_ns]


@on_real_traces
def test_figures_of_recorded_traces_agree_with_each_other(name: str):
    trace = read_real(name)
    steps = find_steps(trace)
    low, high = steps.window
    for device in devices_with_activity(trace):
        figures, levels = launch_figures(trace, device), queue_levels(trace, device)
        starts = starts_per_step(trace, device).sum() / len(steps.steps)
        assert figures.activities == starts
        assert sum(row.launches for row in by_site(trace, device).values()) == pytest.approx(starts)
        assert sum(row.launches for row in by_phase(trace, device).values()) == pytest.approx(starts)
        assert {max(level.peak) for level in levels} == {figures.queue_max}
        assert min(min(level.mean_permille) for level in levels) >= 0
        for level in levels:
            edges = np.minimum(low + level.bin_ns * np.arange(len(level.peak) + 1), high)
            integral = (np.array(level.mean_permille) * np.diff(edges)).sum() / 1_000
            assert integral / (high - low) == pytest.approx(figures.queue_mean, abs=0.001)


def test_the_host_of_a_distributed_training_never_gets_ahead(trace_path: Callable[[str], Path]):
    trace = read_real(trace_path("hta_a100_ddp_nccl"))
    figures = launch_figures(trace, 0)
    assert (figures.calls, figures.activities, figures.queue_max) == (1258, 1258, 11)
    assert figures.run_ahead_p50_ns is not None
    assert figures.run_ahead_p50_ns // 1_000 == 12
    assert figures.starved_share == pytest.approx(0.74, abs=0.005)
    assert figures.empty_share == pytest.approx(0.87, abs=0.005)
    sites = {
        site: (round(row.launches), row.starved_share, row.run_ahead_p50_ns) for site, row in by_site(trace, 0).items()
    }
    assert sites["forward.buffer_broadcast"] == (163, pytest.approx(0.96, abs=0.005), pytest.approx(11_000, abs=500))
    assert sites["forward.model"] == (289, pytest.approx(0.79, abs=0.005), pytest.approx(13_000, abs=500))
    assert sites["optimizer"] == (9, 0.0, pytest.approx(25_000, abs=500))
    assert full_queue_ns(trace, 0) == 0


def test_a_full_queue_stalls_the_host_of_a_recorded_training(trace_path: Callable[[str], Path]):
    trace = read_real(trace_path("hta_v100_ns"))
    assert launch_figures(trace, 0).queue_max == 1022
    step_ns = np.mean([step.duration_ns for step in find_steps(trace).steps])
    assert full_queue_ns(trace, 0) / step_ns == pytest.approx(0.49, abs=0.005)


def test_without_anything_of_the_host_its_floor_is_not_known():
    trace = timeline("kernel 7 | kkkk.kkk |")
    assert host_floor(trace) == Figure(None, (None,), Reason("no_launch_calls"))
    assert host_floor(timeline("kernel 7 | kkkk.kkk |\nop | .o...... |")).value is not None
