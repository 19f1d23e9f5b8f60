"""A simulated training with one declared cause against the same training without it: the comparison finds what it cost.

The truth is the simulator's: the length of the step with and without the cause, computed in another way.
"""

from __future__ import annotations

import pytest

from tb_steptime.compare.comparison import Comparison, compare
from tb_steptime.compare.gates import judge_gate, parse_gate
from tb_steptime.compare.sides import Side
from tests.truth.simulate.judging import judged, judged_training
from tests.truth.simulate.mixtures import CAUSES, Cause, cost_ns, training_with
from tests.unit.compare.sides import side_of

#: What a cause costs is found to this share of the step without it.
TOLERANCE = 0.01


def plain() -> Side:
    return side_of("plain", judged(()).trace)


def mended(cause: Cause) -> Comparison:
    """What the cause comes with (longer kernels, a second GPU) stays."""
    without = judged_training(training_with((cause,), cause))
    return compare(side_of("with", judged((cause,)).trace), side_of("without", without.trace))


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_the_cost_of_one_cause_is_the_change_of_the_step(cause: Cause):
    found, cost = mended(cause), cost_ns((cause,), cause)
    assert found.step.change_ns == pytest.approx(-cost, abs=TOLERANCE * found.step.candidate_ns)
    assert found.step.low - TOLERANCE * found.step.candidate_ns <= -cost
    assert -cost <= found.step.high + TOLERANCE * found.step.candidate_ns
    for waterfall in found.waterfalls:
        assert sum(row.change_ns for row in waterfall.rows) == found.step.change_ns, waterfall.by


def test_a_training_against_itself_changes_nothing_and_fails_no_gate():
    found, one = compare(plain(), plain()), plain()
    assert (found.step.change_ns, found.step.distinguishable) == (0, False)
    assert {(row.matched_by, row.status) for table in found.tables for row in table.rows} == {("name", "alike")}
    assert judge_gate(parse_gate("step_time>+5%"), one, one).passed
