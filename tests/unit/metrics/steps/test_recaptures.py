"""Graphs that capture the same work again, on drawn traces."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.steps.recaptures import Recaptures, recaptures
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path
from tests.drawn.timeline import timeline

CALLS = {"b": "cudaStreamBeginCapture", "e": "cudaStreamEndCapture", "g": "cudaGraphLaunch"}
US = 1_000


def drawn(ops: str, calls: str, inputs: dict[str, tuple[str, str]] | None = None) -> Recaptures | None:
    return recaptures(
        timeline(
            f"""
            step     | 1111111111223333333333 |
            op       | {ops} |
            runtime  | {calls} |""",
            calls=CALLS,
            names={"m": "aten::mm", "n": "aten::mm", "a": "aten::add"},
            inputs=inputs or {},
        )
    )


@pytest.mark.parametrize(
    ("ops", "calls", "found"),
    [
        # Captured in the first and third steps, and launched in between.
        ("..mma...........mma...", ".b..e.g...g....b..e.g.", Recaptures(2, 10 * US, 2 * US)),
        # The third step captures other work.
        ("..mma...........aam...", ".b..e.g...g....b..e.g.", None),
        # Captured twice before any launch, possibly for two sizes.
        ("..mma...........mma...", ".b..e..........b..e.g.", None),
        # Captured again within one step.
        ("..ma..ma..............", ".b.egb..e.g.......g...", None),
        # No op shows what is captured.
        ("......................", ".b..e.g...g....b..e.g.", None),
    ],
)
def test_the_same_work_captured_after_it_ran_is_captured_again(ops: str, calls: str, found: Recaptures | None):
    assert drawn(ops, calls) == found


def test_other_sizes_are_other_work():
    sizes = {"m": ("[[8,8],[8,8]]", '["float","float"]'), "n": ("[[16,8],[8,8]]", '["float","float"]')}
    calls = ".b..e.g...g....b..e.g."
    assert drawn("..m.............n.....", calls, sizes) is None
    assert drawn("..m.............m.....", calls, sizes) is not None
    assert drawn("..m.............n.....", calls) is not None  # sizes are not recorded, so the work looks the same


@on_every_real_trace
def test_only_the_job_in_grad_mode_captures_its_graph_again(path: str):
    """Of its five calls, the first, third and fifth capture: no backward pass ends the graph of the call before."""
    found = recaptures(read_real(real_path(path)))
    if not path.endswith("a100_vit_bf16_grad_mode.json.gz"):
        assert found is None
        return
    assert found is not None
    assert found.steps == 3
    assert found.other_ns is not None and found.step_ns > 50 * found.other_ns
