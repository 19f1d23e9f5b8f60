"""Gates of a CI job: what they say, and when they fail."""

from __future__ import annotations

import pytest

from tb_steptime.comparison.gates import Gate, GateError, GateResult, judge_gate, parse_gate
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
    """A side whose steps have these lengths, us."""
    drawing = "".join(chr(ord("0") + place) * length for place, length in enumerate(lengths))
    return side_of(name, timeline(f"step | {drawing} |\n op | {'a' * len(drawing)} |"))


def test_a_gate_fails_where_the_whole_interval_is_beyond():
    base, slow, noisy = steps_of("a", 10, 10, 11, 10), steps_of("b", 12, 12, 12, 13), steps_of("c", 10, 10, 9, 18)
    gate = parse_gate("step_time>+5%")
    clear, unclear = judge_gate(gate, base, slow), judge_gate(gate, base, noisy)
    assert (clear.passed, unclear.passed) == (False, True)
    assert unclear.value == pytest.approx(11.75 / 10.25 - 1), "the mean is beyond"
    assert judge_gate(gate, base, noisy, strict=True).passed is False
    assert judge_gate(parse_gate("step_time<+5%"), base, slow).passed is True


def test_the_candidates_own_value_needs_no_base():
    base, other = steps_of("a", 10, 10, 10), steps_of("b", 12, 12, 12)
    assert judge_gate(parse_gate("step_time>11us"), base, other) == GateResult("b", "step_time>11us", 12e3, 11e3, False)
    assert judge_gate(parse_gate("step_time>13us"), base, other).passed is True


def test_what_cannot_be_measured_neither_passes_nor_fails():
    base = steps_of("a", 10, 10, 10)
    assert judge_gate(parse_gate("gpu_utilization<80%"), base, base).passed is None
    assert judge_gate(parse_gate("kernel_time>+5%"), base, base).passed is None, "5 % of nothing"
