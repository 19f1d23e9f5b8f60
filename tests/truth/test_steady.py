"""Known excess is found, and the steady step does not depend on which part of a recording is read."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.ranges import judged_ns, one_time_rows
from tb_steptime.metrics.excluded_time.steady_step import excess_ns, steady_ns
from tb_steptime.metrics.steady.excess import REMOVED, ExcessKind
from tb_steptime.trace.steps import find_steps
from tests.drawn.real_traces import needs, on_every_real_trace, read_real, real_path
from tests.truth.steady.jobs import healthy, with_excess
from tests.truth.steady.scores import cuts, invented_ms, placebos, recovered


def test_drawn_excess_is_recovered_within_one_percent_and_no_other_kind_is_found() -> None:
    found = list(recovered(with_excess()))
    assert {each.kind for each in found} == set(REMOVED)
    assert [each for each in found if each.error > 0.01 or each.other_ms] == []


def test_healthy_jobs_have_no_excess() -> None:
    jobs = healthy()
    assert invented_ms(jobs) == [0.0] * len(jobs) == [0.0] * 30


@needs("traces")
def test_little_comes_once_in_a_recording_that_begins_with_a_later_step() -> None:
    for placebo in placebos():
        recorded = find_steps(read_real(real_path(placebo.path))).steps
        assert placebo.placebo_ms <= 0.02 * sum(step.duration_ns for step in recorded) / 1e6, placebo


@needs("traces")
def test_both_halves_of_a_recording_have_the_same_steady_step() -> None:
    """The halves may differ as much as the steady steps of the whole recording differ from each other."""
    for cut in cuts():
        trace = read_real(real_path(cut.path))
        steady = steady_ns(trace, main_device(trace))
        assert cut.error <= max(0.05, float(np.ptp(steady)) / float(np.median(steady))), cut


@on_every_real_trace
def test_excess_and_steady_step_sum_to_the_recorded_step(path: str) -> None:
    trace = read_real(real_path(path))
    steps, device = find_steps(trace), main_device(trace)
    excess = excess_ns(trace, device)
    parts = [steady_ns(trace, device), *(excess[kind] for kind in REMOVED)]
    assert np.array_equal(sum(parts), steps.end_ns - steps.start_ns)
    assert all((part >= 0).all() for part in parts)
    assert set(excess) == set(ExcessKind)
    left_out = sum(excess[kind] for kind in (ExcessKind.EDGE, ExcessKind.PROFILER, ExcessKind.ONCE))
    assert np.array_equal(judged_ns(trace, device), steps.duration_ns - left_out)
    assert all(row.worst_ns <= (row.idle_ns or row.total_ns) for row in one_time_rows(trace, device))
