"""A backward pass that grows from step to step, on drawn traces."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.steps.autograd_graph import GrowingGraph, growing_graph
from tests.drawn.cards import sure
from tests.drawn.timeline import timeline

NAMES = {"b": "autograd::engine::evaluate_function: MmBackward0", "f": "aten::mm"}


def drawn(forward: list[int], backward: list[int]) -> str:
    """For each step, so many ops of the forward pass and nodes of the backward pass; each takes 2 us."""
    marks = ops = ""
    for place, (f, b) in enumerate(zip(forward, backward, strict=True)):
        ops += "f." * f + "b." * b + ".."
        marks += str(place) * (2 * (f + b) + 2)
    return f"step | {marks} |\nop | {ops} |"


def found(forward: list[int], backward: list[int]) -> GrowingGraph | None:
    return growing_graph(timeline(drawn(forward, backward), names=NAMES), None)


def test_each_step_goes_through_the_graphs_of_those_before():
    assert found([5] * 6, [4, 7, 10, 13, 16, 19]) == GrowingGraph(4, 19, "0", "5", 3, 15_000)


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        ([4, 7, 10, 13, 16, 19], [4, 7, 10, 13, 16, 19]),  # longer sequences
        ([5] * 6, [4] * 6),
        ([5] * 6, [4, 7, 10, 9, 13, 16]),
        ([5] * 6, [4, 4, 4, 4, 4, 19]),  # once
        ([5] * 6, [40, 41, 42, 43, 44, 45]),  # hardly
        ([5] * 4, [4, 7, 10, 13]),  # too few steps
        ([5] * 6, [0] * 6),
    ],
)
def test_other_steps_are_no_such_case(forward: list[int], backward: list[int]):
    assert found(forward, backward) is None


def test_the_card_promises_the_first_step():
    insight = sure(timeline(drawn([5] * 6, [4, 7, 10, 13, 16, 19]), names=NAMES), "growing_graph")
    assert (insight.gain_ns, insight.confidence.value, insight.severity.value) == (15_000, "high", "major")
