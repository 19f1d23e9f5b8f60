"""Gradient checks of autograd's anomaly detection, on drawn traces."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.host.profiler_cost import AnomalyChecks, anomaly_checks
from tb_steptime.trace.steps import find_steps
from tests.drawn.timeline import timeline

NAMES = {
    "e": "autograd::engine::evaluate_function: AddmmBackward0", "b": "AddmmBackward0", "n": "aten::isnan",
    "t": "aten::_is_any_true", "i": "aten::item", "a": "aten::any", "f": "aten::addmm",
    "u": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "p": "traceback.py(200): format_stack",
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "inside", "python", "expected"),
    [
        ("fffeeeeee.", "...bb.nti.", "..........", AnomalyChecks(1, 3_000)),
        ("fffeeeeee.", "...bb.nti.", ".pp.......", AnomalyChecks(1, 5_000)),
        # nodes that accumulate gradients return none, so nothing is checked there
        ("fffeeeeeeu", "...bb.nti.", "..........", AnomalyChecks(1, 3_000)),
        # a hook of the user; no check; a check by the user's own code; only one node of three is checked
        ("fffeeeeee.", "...bb.nai.", "..........", None),
        ("fffeeeeee.", "...bb.....", "..........", None),
        ("fffbbbbbb.", "......nti.", "..........", None),
        ("eeeeeee.e.e", "...bnti.b.b", "...........", None),
    ],
)  # fmt: skip
def test_gradients_are_checked_by_the_engine(nodes: str, inside: str, python: str, expected: AnomalyChecks | None):
    steps = "".join(str(step) * len(nodes) for step in range(4))
    drawn = f"step | {steps} |\nop | {nodes * 4} |\nop | {inside * 4} |\npython | {python * 4} |"
    assert anomaly_checks(timeline(drawn, names=NAMES)) == expected


@pytest.mark.parametrize(("chosen", "expected"), [((0, 1, 1, 1), (1, 3_000)), ((1, 0, 0, 0), (2, 8_000))])
def test_checks_are_averaged_over_the_chosen_steps(chosen: tuple[int, ...], expected: tuple[int, int]):
    first, others = ("fffeeeeeee.eeeeee.", "...bb.nntti.bnntti"), ("fffeeeeee.", "...bb.nti.")
    nodes, inside = (one + other * 3 for one, other in zip(first, others, strict=True))
    steps = "0" * len(first[0]) + "".join(step * len(others[0]) for step in "123")
    trace = timeline(f"step | {steps} |\nop | {nodes} |\nop | {inside} |", names=NAMES)
    assert anomaly_checks(trace, find_steps(trace).chosen(np.array(chosen, bool))) == AnomalyChecks(*expected)
