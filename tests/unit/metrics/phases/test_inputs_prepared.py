"""Launches before the first layer of a forward pass are the caller's, and no compiled model makes them."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.launches.run_ahead import by_site
from tb_steptime.metrics.phases.assignment import prepared
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline


def training(before: int, layer: str = "m", marks: str = "") -> Trace:
    """Two steps. Each launches `before` kernels, then one of the layer and one of its node."""
    calls = ("kj" * before)[:before]
    op, launched = "p" * before + layer * 2, calls + "l."
    marked = marks or "." * (before + 2)
    return timeline(
        f"""
        step      | {"0" * (before + 10)}{"1" * (before + 10)} |
        user data_loading | {(marked + "........") * 2} |
        op        | {(op + "........") * 2} |
        op engine | {("." * (before + 2) + ".bbbb...") * 2} |
        runtime   | {(launched + "........") * 2} |
        runtime engine | {("." * (before + 2) + ".g......") * 2} |
        kernel 7  | {(launched + "..g.....") * 2} |""",
        names={"p": "aten::mul", "m": "aten::mm", "c": "aten::custom", "b": "MmBackward0"},
        sequences={layer: (3, 0), "b": (3, 1)},
    )


@pytest.mark.parametrize(("before", "layer", "inputs"), [(20, "m", 20), (19, "m", 0), (20, "c", 20)])
def test_many_kernels_before_the_first_op_that_makes_a_node_prepare_its_inputs(before: int, layer: str, inputs: int):
    trace = training(before, layer)
    launches = {site: row.launches for site, row in by_site(trace, 0).items()}
    rest = {"backward.nodes": 1.0, "forward.model": 1.0 + before - inputs}
    assert launches == rest | ({"forward.inputs": float(inputs)} if inputs else {})
    assert bool(prepared(trace)) is (inputs > 0)


def test_what_a_range_says_is_not_what_prepares_the_inputs():
    """The range names one of the twenty launches."""
    trace = training(20, marks="d" + "." * 21)
    assert "forward.inputs" not in by_site(trace, 0)


def test_frozen_layers_are_layers():
    frozen = timeline(
        f"""
        step      | {"0" * 40} |
        op        | f{"p" * 20}mm................. |
        op engine | ........................bbbb............ |
        runtime   | k{"kj" * 10}l.................. |
        kernel 7  | k{"kj" * 10}l.................. |""",
        names={"f": "aten::mm", "p": "aten::mul", "m": "aten::mm", "b": "MmBackward0"},
        sequences={"m": (3, 0), "b": (3, 1)},
    )
    assert "forward.inputs" not in by_site(frozen, 0)
