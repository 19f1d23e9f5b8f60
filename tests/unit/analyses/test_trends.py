"""Trends: slow steps, what grew in them, and where to look in the trace."""

from __future__ import annotations

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
