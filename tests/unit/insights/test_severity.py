"""How grave a card is: by what it is worth, and by what its confidence rests on."""

from __future__ import annotations

import pytest

from tb_steptime.insights.base import Confidence, Severity
from tb_steptime.insights.facts import severity

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


@pytest.mark.parametrize(
    ("fraction", "best", "sure", "expected"),
    [
        (0.15, MEDIUM, MEDIUM, Severity.MAJOR),
        (0.149, HIGH, HIGH, Severity.WARNING),
        (0.049, HIGH, HIGH, Severity.MINOR),
        (0.9, HIGH, LOW, Severity.WARNING),  # measured, in one or two steps
        (0.9, LOW, LOW, Severity.MINOR),  # a guess
        (0.9, LOW, MEDIUM, Severity.MINOR),
    ],
)
def test_a_guess_is_a_hint_and_few_steps_make_no_major_card(
    fraction: float, best: Confidence, sure: Confidence, expected: Severity
):
    assert severity(fraction, best, sure) is expected
