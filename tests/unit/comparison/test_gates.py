"""Gates of a CI job: what they say, and when they fail."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.comparison.gates import Gate, GateError, GateResult, judge_gate, parse_gate
from tb_steptime.comparison.sides import ComparedSpan, Side
from tb_steptime.trace.loader_records import StepPace
from tests.drawn.timeline import timeline
from tests.unit.comparison.sides import side_of


@pytest.mark.parametrize(
    ("rule", "gate"),
    [
        ("step_time>+5%", ("step_time", True, 0.05, "relative")),
        ("step_time > -2ms", ("step_time", True, -2e6, "change")),
        ("step_time>250ms", ("step_time", True, 250e6, "value")),
        ("gpu_utilization<80%", ("gpu_utilization", False, 0.8, "value")),
        ("gpu_utilization<-5%", ("gpu_utilization", False, -0.05, "relative")),
        ("launches>+100", ("launches", True, 100, "change")),
        ("data_loading_exposed>+100us", ("data_loading_exposed", True, 100e3, "change")),
    ],
)
def test_what_a_gate_says(rule, gate):
    assert parse_gate(rule) == Gate(rule, *gate)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("step_time", "is no gate"),
        ("step_time>5", "is a time, in ns, us, ms or s"),
        ("step_time>5%", "is a time"),
        ("gpu_utilization<3ms", "is a share"),
        ("launches>3ms", "is a number without a unit"),
        ("speed>3", r"is no metric\. The metrics are step_time,"),
        ("steptime>+5%", r'"steptime" in "steptime>\+5%" is no metric\. Did you mean step_time\? The metrics are'),
    ],
)
def test_what_a_gate_cannot_say(rule, says):
    with pytest.raises(GateError, match=says):
        parse_gate(rule)


def steps_of(name, *lengths):
    """A side whose steps have these lengths, in us."""
    drawing = "".join(chr(ord("0") + place) * length for place, length in enumerate(lengths))
    return side_of(name, timeline(f"step | {drawing} |\n op | {'a' * len(drawing)} |"))


def test_a_gate_fails_where_the_whole_interval_is_beyond():
    base, slow, noisy = steps_of("a", 10, 10, 11, 10), steps_of("b", 12, 12, 12, 13), steps_of("c", 10, 10, 9, 18)
    gate = parse_gate("step_time>+5%")
    clear, unclear = judge_gate(gate, base, slow), judge_gate(gate, base, noisy)
    assert (clear.passed, unclear.passed) == (False, True)
    assert unclear.value == pytest.approx(11.75 / 10.25 - 1), "the mean is beyond"
    assert (clear.outcome, unclear.outcome) == ("failed", "unclear")
    assert judge_gate(gate, base, noisy, strict=True).outcome == "failed"
    assert judge_gate(gate, base, base).outcome == "passed"
    assert judge_gate(gate, base, noisy, strict=True).passed is False
    assert clear.nearest is not None and clear.value is not None and gate.limit < clear.nearest <= clear.value
    assert unclear.nearest is not None and unclear.nearest <= gate.limit, "this end lets it pass"
    assert judge_gate(gate, base, noisy, strict=True).nearest is None
    assert judge_gate(parse_gate("step_time<+5%"), base, slow).passed is True


def test_the_candidates_own_value_needs_no_base():
    base, other = steps_of("a", 10, 10, 10), steps_of("b", 12, 12, 12)
    above = GateResult("b", "step_time>11us", 12e3, 11e3, False, nearest=12e3)
    assert judge_gate(parse_gate("step_time>11us"), base, other) == above
    assert judge_gate(parse_gate("step_time>13us"), base, other).passed is True


def test_what_cannot_be_measured_neither_passes_nor_fails():
    base = steps_of("a", 10, 10, 10)
    assert judge_gate(parse_gate("gpu_utilization<80%"), base, base).outcome == "unknown"
    assert judge_gate(parse_gate("kernel_time>+5%"), base, base).passed is None, "5 % of nothing"


def spans_of(name, *spans, runs=()):
    """A side of several spans, given by the lengths of their steps in us."""
    return Side(name, tuple(steps_of("", *lengths).first for lengths in spans), runs)


def test_spans_of_a_run_that_differ_by_more_than_the_limit_are_said_and_widen_the_interval():
    base = spans_of("a", [10, 10, 10, 10], [16, 16, 16, 16])
    other = spans_of("b", [20, 20, 20, 20], [20, 20, 20, 20])
    found = judge_gate(parse_gate("step_time>+5%"), base, other)
    assert (found.value, found.outcome, found.is_noisy) == (pytest.approx(20 / 13 - 1), "unclear", True)
    assert found.spread == pytest.approx(6 / 13)
    assert judge_gate(parse_gate("step_time>+5%"), other, base).outcome == "passed"


def test_a_step_twelve_times_as_long_fails_though_spans_of_a_run_differ_by_more_than_half():
    base, slower = spans_of("a", [7, 6, 7, 7], [14, 15, 14, 14]), spans_of("b", [95, 90, 97, 94], [170, 160, 171, 165])
    found = judge_gate(parse_gate("step_time>+5%"), base, slower)
    assert found.outcome == "failed" and found.spread is not None and found.spread > 0.5


def test_a_candidate_without_any_of_what_is_gated_passes():
    """One span of the base waits for its batches for 2 us per step, the other for 3 us."""
    steps = "step | 000000111111222222 |\nop | ...aaa...aaa...aaa |\nkernel 7 | ...kkk...kkk...kkk |\n"
    waits = [side_of("a", timeline(f"{steps}loader | {loader * 3} |")).first for loader in ("ll....", "lll...")]
    none = side_of("b", timeline(steps + "loader | .....l.....l.....l |")).first
    base, candidate = Side("a", tuple(waits)), Side("b", (none, none))
    assert judge_gate(parse_gate("data_loading_exposed>+1us"), base, candidate).outcome == "passed"
    found = judge_gate(parse_gate("data_loading_exposed<-5%"), base, candidate)
    assert (found.value, found.outcome) == (-1, "failed")


def test_several_recordings_a_side_are_held_against_how_much_they_differ():
    alike = spans_of("a", *[[10, 10, 10, 10]] * 2, [11, 10, 10, 10], runs=(1, 1, 1))
    slower = spans_of("b", *[[12, 12, 12, 12]] * 2, [13, 12, 12, 12], runs=(1, 1, 1))
    uneven = spans_of("c", [10, 10, 10, 10], [12, 12, 12, 12], [15, 15, 15, 15], runs=(1, 1, 1))
    gate = parse_gate("step_time>+5%")
    assert judge_gate(gate, alike, slower).passed is False
    assert judge_gate(gate, alike, uneven).passed is True
    assert judge_gate(gate, alike, uneven).spread is None, "a run has one span"


@cache
def even_span() -> ComparedSpan:
    """A span of three steps of 10 us, which many sides share."""
    return steps_of("", 10, 10, 10).first


def timed(name, *medians, fast=None):
    """A side with a run for each median of the steps without the profiler, ns; fast: their 1st percentiles."""
    span = even_span()
    paces = [StepPace(9_000, 10, ns, 50, plain_p1_ns=p5)
             for ns, p5 in zip(medians, fast or [None] * len(medians), strict=True)]  # fmt: skip
    paced = [replace(span, results={**span.results, "overview": msgspec.structs.replace(span.overview, pace=pace)})
            for pace in paces]  # fmt: skip
    return Side(name, tuple(paced), (1,) * len(paced))


#: Fast steps of three runs, ns. Another process lengthens one run per side. The slower code takes a tenth longer.
FAST, SLOWER = (6_900, 8_950, 6_920), (7_600, 7_640, 9_590)


def fails_at(rule, base, candidate):
    found = judge_gate(parse_gate(rule), timed("a", *base, fast=base), timed("b", *candidate, fast=candidate))
    return found.passed is False


@pytest.mark.parametrize(
    ("rule", "base", "candidate", "failed"),
    [
        ("unprofiled_step>+5%", FAST, SLOWER, False),
        ("unprofiled_step_p1>+5%", FAST, SLOWER, True),
        ("unprofiled_step_p1>+9%", FAST, SLOWER, True),
        ("unprofiled_step_p1>+10%", FAST, SLOWER, False),
        ("unprofiled_step_p1>+500ns", FAST, SLOWER, True),
        ("unprofiled_step_p1>+700ns", FAST, SLOWER, False),
        ("unprofiled_step_p1>7500ns", FAST, SLOWER, True),
        ("unprofiled_step_p1>7600ns", FAST, SLOWER, False),
        ("unprofiled_step_p1<-5%", SLOWER, FAST, True),
        ("unprofiled_step_p1<-10%", SLOWER, FAST, False),
        ("unprofiled_step_p1<7000ns", SLOWER, FAST, True),
        ("unprofiled_step_p1>+5%", FAST, FAST[::-1], False),
        ("unprofiled_step_p1>+5%", FAST, (7_100, 7_640, 9_590), False),  # one run of the candidate is as fast
        ("unprofiled_step_p1>+5%", FAST, (8_900, 9_900, 9_950), False),  # the two fastest differ by a tenth
        ("unprofiled_step_p1>+5%", (6_900, 6_920), (7_600, 7_640), True),
    ],
)  # fmt: skip
def test_fast_steps_are_judged_by_all_runs_of_the_slower_side(rule, base, candidate, failed):
    assert fails_at(rule, base, candidate) is failed


def test_runs_beside_a_busy_process_are_called_noisy():
    busy = timed("b", 8_900, 9_900, 9_950, fast=(8_900, 9_900, 9_950))
    found = judge_gate(parse_gate("unprofiled_step_p1>+5%"), timed("a", *FAST, fast=FAST), busy)
    assert found.outcome == "unclear"
    assert found.is_noisy and found.spread == pytest.approx(1_000 / 6_920)
    assert found.value == pytest.approx(9_900 / 6_920 - 1), "of the median runs"


_ALIKE = st.lists(st.floats(1, 1.02), min_size=3, max_size=3).map(sorted)


@given(_ALIKE, _ALIKE, st.integers(0, 50_000), st.integers(0, 50_000))
def test_more_work_fails_however_long_other_processes_make_one_run_of_each_side(base, candidate, before, after):
    *base, slowest = (round(10_000 * factor) for factor in base)
    *candidate, last = (round(11_000 * factor) for factor in candidate)
    assert fails_at("unprofiled_step_p1>+5%", (*base, slowest + before), (last + after, *candidate))


def disturbed(passes, longer):
    """A side of three runs of two spans with three steps. Each step runs an op of 20 us for each pass; longer: by run,
    span, and step, by how many us another process lengthens each call of it."""
    spans = []
    for of_run in longer:
        for of_span in of_run:
            steps = [("a" * (20 + more) + ".") * passes for more in of_span]
            marks = "".join(str(number) * len(step) for number, step in enumerate(steps))
            spans.append(side_of("", timeline(f"step | {marks} |\nop | {''.join(steps)} |")).first)
    return Side("", tuple(spans), (2,) * len(longer))


def test_a_disturbed_host_is_judged_by_its_least_disturbed_span_and_calls():
    rule = parse_gate("undisturbed_host_time>+5%")
    quiet, busy, late = ((0, 0, 0), (0, 30, 0)), ((90, 40, 70), (0, 0, 80)), ((5, 30, 0), (0, 60, 0))
    base, again, slower = (disturbed(passes, (quiet, busy, late)) for passes in (10, 10, 11))
    assert judge_gate(rule, base, again).passed is True
    found = judge_gate(rule, base, slower)
    assert (found.passed, found.value) == (False, pytest.approx(0.1, abs=0.001))
    assert judge_gate(parse_gate("undisturbed_host_time<-5%"), slower, base).passed is False
    assert judge_gate(parse_gate("undisturbed_host_time>225us"), base, slower).passed is False
    assert judge_gate(parse_gate("undisturbed_host_time>225us"), slower, base).passed is True
    assert judge_gate(parse_gate("step_time>+5%"), base, slower).passed is True, "the mean step says nothing here"
    assert judge_gate(rule, base, Side("b", slower.spans)).passed is None, "one run says nothing of the next"


def test_one_undisturbed_run_clears_the_slower_side():
    rule, less = parse_gate("undisturbed_host_time>+5%"), parse_gate("undisturbed_host_time<-5%")
    busy, quiet = ((3, 3, 3), (3, 3, 3)), ((0, 0, 0), (0, 0, 0))
    base = disturbed(10, (quiet, quiet, busy))
    assert judge_gate(rule, base, disturbed(10, (busy, quiet, quiet))).passed is True
    mostly_busy = disturbed(10, (busy, busy, quiet))
    found = judge_gate(rule, base, mostly_busy)
    assert (found.passed, found.value, found.is_noisy) == (True, pytest.approx(1.5 / 21), True)
    assert judge_gate(less, mostly_busy, base).passed is True
    assert judge_gate(parse_gate("undisturbed_host_time>+14us"), base, mostly_busy).passed is True
    assert judge_gate(parse_gate("undisturbed_host_time>215us"), base, mostly_busy).passed is True
    all_busy = disturbed(10, (busy, busy, busy))
    assert judge_gate(rule, base, all_busy).passed is False
    assert judge_gate(less, all_busy, base).passed is False


def test_steps_without_the_profiler_have_a_gate_where_the_recorder_timed_them():
    gate = parse_gate("unprofiled_step>+5%")
    base = timed("a", 7_000, 7_010, 6_990)
    assert judge_gate(gate, base, timed("b", 7_700, 7_710, 7_690)).passed is False
    assert judge_gate(gate, base, timed("c", 7_200, 7_210, 7_190)).passed is True
    assert judge_gate(gate, steps_of("d", 10, 10, 10), base).passed is None
    assert judge_gate(parse_gate("unprofiled_step_p1>+5%"), base, base).passed is None, "an older summary lacks it"
    once = timed("e", 7_700)
    assert judge_gate(gate, timed("f", 7_000), once).passed is None, "one run says nothing of the next"
    assert judge_gate(gate, timed("f", 7_000), once, strict=True).passed is False
