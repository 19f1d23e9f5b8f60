"""Trends: slow steps, what grew in them, and where to look in the trace."""

from __future__ import annotations

from tb_steptime.analyses import host, overview
from tb_steptime.analyses.trends import SlowStep, analyse
from tests.drawn.timeline import timeline


def test_a_slow_step_names_the_part_that_grew_and_its_longest_event():
    trace = timeline(
        """
        step | 00112233333344 |
        op   | aabbccdddddeff |""",
        names={"d": "aten::sort"},
    )
    assert analyse(trace).slow_steps == [SlowStep("3", 6_000, 4_000, "cpu_exec", 4_000, "aten::sort", 5_000)]


def test_a_gap_has_no_event():
    trace = timeline(
        """
        step | 00112233333344 |
        op   | aabbccdd....ff |"""
    )
    assert analyse(trace).slow_steps == [SlowStep("3", 6_000, 4_000, "other", 4_000, None, None)]


def test_steps_that_are_alike_are_not_slow():
    assert analyse(timeline("step | 0011223344 |\n op | aabbccddee |")).slow_steps == []


def test_every_view_calls_the_same_steps_slow_and_the_first_one_never():
    """The first step and the last one take as long."""
    marks = "0" * 6 + "".join(str(step) * 2 for step in range(1, 9)) + "9" * 6
    trace = timeline(f"step | {marks} |\nop | {marks.translate(str.maketrans('0123456789', 'abcdefghij'))} |")
    assert [step.name for step in analyse(trace).slow_steps] == ["9"]
    assert [step.name for step in overview.analyse(trace).steps if step.slow] == ["9"]
    assert [step.step for step in host.analyse(trace).grown] == ["9"]
