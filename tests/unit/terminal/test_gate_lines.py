"""What a line about a gate says of noise."""

from __future__ import annotations

import pytest

from tb_steptime.comparison.gates import GateResult, parse_gate
from tb_steptime.terminal.compare_table import gate_line


@pytest.mark.parametrize(
    ("rule", "value", "spread", "warns"),
    [
        ("step_time>+5%", -0.60, 0.20, False),  # no noise of a fifth turns this into more than +5 %
        ("step_time>+5%", -0.10, 0.20, True),
        ("step_time>+5%", 0.40, 0.20, True),
        ("step_time>+5%", 0.02, 0.03, False),  # within the limit
        ("step_time<-5%", 0.60, 0.20, False),
        ("step_time<-5%", 0.10, 0.20, True),
    ],
)
def test_noise_is_named_where_it_may_hide_that_a_gate_fails(rule: str, value: float, spread: float, warns: bool):
    gate = parse_gate(rule)
    result = GateResult("a", rule, value, gate.limit, True, spread=spread)
    assert ("more than the limit" in gate_line(gate, result)) is warns
