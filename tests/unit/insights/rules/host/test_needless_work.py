"""The card about dropout that an inference runs, on drawn traces."""

from __future__ import annotations

import pytest

from tb_steptime.insights.base import Confidence
from tests.drawn.cards import card
from tests.drawn.timeline import timeline

NAMES = {
    "a": "aten::linear",
    "e": "aten::convolution",
    "d": "aten::dropout",
    "D": "aten::dropout",
    "b": "aten::bernoulli_",
    "n": "aten::native_dropout",
    "g": "autograd::engine::evaluate_function: AddmmBackward0",
}


@pytest.mark.parametrize(
    ("ops", "inside", "gain_ns"),
    [
        ("aeaeddaDDe", "....b...b.", 4_000),
        ("aeaeddaDDe", "....n...n.", 4_000),
        ("aeaeddaDDe", "..........", None),  # after model.eval()
        ("aeaeDdDdDb", "..........", None),  # the job draws a number of its own
        ("aeaeddaDDg", "....b...b.", None),  # a training
        ("aeaebaeaea", "..........", None),
    ],
    ids=["on the CPU", "in one op", "evaluation mode", "own draws", "a training", "no dropout"],
)
def test_an_inference_needs_no_dropout(ops: str, inside: str, gain_ns: int | None):
    steps = "".join(str(step) * 10 for step in range(6))
    trace = timeline(f"step | {steps} |\nop | {ops * 6} |\nop | {inside * 6} |", names=NAMES)
    found = card(trace, "active_dropout")
    assert (found and (found.gain_ns, found.confidence)) == (gain_ns and (gain_ns, Confidence.MEDIUM))


def test_where_nodes_are_created_a_backward_pass_may_not_be_recorded():
    names, numbers, ops = dict(NAMES), dict[str, tuple[int, int]](), ""
    for number in range(6 * 16):
        char = chr(0x100 + number)
        names[char], numbers[char] = "aten::addmm", (number, 0)
        ops += char + "dddd" * (number % 16 == 15)
    steps = "".join(str(step) * 20 for step in range(6))
    trace = timeline(f"step | {steps} |\nop | {ops} |\nop | {('.' * 17 + 'b..') * 6} |", names=names, sequences=numbers)
    found = card(trace, "active_dropout")
    assert found is not None
    assert (found.gain_ns, found.confidence) == (4_000, Confidence.LOW)
