"""Change points: which border of which span is one, and that noise, slow steps and too few steps make none."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.analyses.trends import StepMark, TrendsResult
from tb_steptime.insights.rules.steps.change_points import WATCHED, Change, Kernels, Spans, find_changes
from tb_steptime.metrics.base import Series


def span(**steps: list[float | None]) -> TrendsResult:
    """A span with these steps; watched metrics that are not given count as not measurable."""
    count = max(len(values) for values in steps.values())
    series = [Series(metric, None, None, steps.get(metric, [None] * count)) for metric in WATCHED]
    marks = [StepMark(str(place), place * 100, (place + 1) * 100) for place in range(count)]
    return TrendsResult(origin_ns=0, steps=marks, series=series, time_bins=[], slow_steps=[])


def first_left_out(result: TrendsResult, left_out_ns: int) -> TrendsResult:
    """The same span, with a part of its first step left out of judgement."""
    first = msgspec.structs.replace(result.steps[0], left_out_ns=left_out_ns)
    return msgspec.structs.replace(result, steps=[first, *result.steps[1:]])


def changes(*results: TrendsResult, kernels: list[Kernels] | None = None, worker: str = "w") -> list[Change]:
    numbers = range(1, len(results) + 1)
    return find_changes([Spans("run", worker, numbers, results, lambda i: kernels[i] if kernels else {})])


def efficiency(*steps: float | None) -> TrendsResult:
    return span(est_sm_efficiency=list(steps))


def test_a_level_that_falls_is_told_with_its_span_and_medians():
    found = changes(efficiency(0.71, 0.70, 0.72), efficiency(0.71, 0.71, 0.70), efficiency(0.54, 0.53, 0.55))
    assert [(change.metric, change.span, change.before, change.after) for change in found] == [
        ("est_sm_efficiency", 3, 0.71, 0.54)
    ]


def test_the_kernel_that_replaced_another_is_named():
    found = changes(
        efficiency(0.7, 0.7, 0.7),
        efficiency(0.5, 0.5, 0.5),
        kernels=[{"tensorop": 60.0, "add": 40.0}, {"sgemm_128x64": 90.0, "add": 40.0, "tiny": 0.1}],
    )
    assert found[0].text.template.endswith("; {new} replaced {old}.")
    assert (found[0].text.values["new"].value, found[0].text.values["old"].value) == ("sgemm_128x64", "tensorop")


def test_a_kernel_that_only_got_slower_is_not_called_a_replacement():
    found = changes(efficiency(0.7, 0.7, 0.7), efficiency(0.5, 0.5, 0.5), kernels=[{"a": 60.0}, {"a": 90.0}])
    assert found[0].text.template.endswith("to {after}.")


def test_two_borders_are_two_changes():
    steps = [span(step_time=[level] * 3) for level in (100.0, 100.0, 50.0, 50.0, 80.0)]
    assert [change.span for change in changes(*steps)] == [3, 5]


def test_steps_that_run_work_from_before_the_recording_are_not_compared():
    before, after = span(step_time=[100.0] * 3), span(step_time=[150.0, 150.0, 150.0])
    assert [change.after for change in changes(before, after)] == [150.0]
    assert [change.after for change in changes(before, first_left_out(after, 4))] == [150.0]
    assert changes(before, first_left_out(after, 5)) == []  # two steps are too few


def test_noise_is_no_change():
    assert changes(efficiency(0.6, 0.8, 0.7, 0.65), efficiency(0.75, 0.62, 0.81, 0.7)) == []


def test_one_slow_step_is_no_change():
    assert changes(span(step_time=[100.0, 101.0, 99.0]), span(step_time=[100.0, 101.0, 900.0])) == []


def test_two_steps_are_too_few():
    assert changes(efficiency(0.7, 0.7), efficiency(0.5, 0.5)) == []


def test_a_small_fraction_that_doubles_is_no_news():
    assert changes(span(host_bound_share=[0.001] * 4), span(host_bound_share=[0.002] * 4)) == []


def test_workers_that_change_together_are_told_once():
    pair = (efficiency(0.7, 0.7, 0.7), efficiency(0.5, 0.5, 0.5))
    spans = [Spans("run", worker, (1, 2), pair, lambda i: {}) for worker in ("rank0", "rank1")]
    assert [change.worker for change in find_changes(spans)] == ["rank0"]


@given(st.lists(st.floats(0.1, 1e9), min_size=3, max_size=6), st.integers(2, 5))
def test_spans_that_repeat_have_no_change(steps: list[float], times: int):
    assert changes(*(span(step_time=list(steps)) for _ in range(times))) == []
