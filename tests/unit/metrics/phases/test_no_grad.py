"""What a training runs without gradients: their layers have no sequence numbers."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.phases.no_grad import NoGrad, without_gradients
from tests.drawn.timeline import timeline

_NAMES = {
    "x": "aten::mm", "m": "aten::mm", "k": "aten::convolution", "c": "CheckpointFunction",
    "h": "Memcpy DtoH (Device -> Pageable)", "d": "Memcpy DtoD (Device -> Device)",
    "b": "autograd::engine::evaluate_function: MmBackward0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("ops", "within", "copies", "expected"),
    [
        ("xx.xx.mm.bbb", "............", "............", NoGrad(2 / 3, 1.0)),  # two layers of a teacher
        ("xx.xx.mm.bbb", "............", "..h.........", NoGrad(2 / 3, 2.0)),  # an action is read between two passes
        ("xx.xx.mm.bbb", "............", "..d.........", NoGrad(2 / 3, 1.0)),  # a copy within the GPU
        ("mm.mm.mm.bbb", "............", "..h.........", NoGrad()),
        ("kk.mm.mm.bbb", "m...........", "............", NoGrad()),  # under autocast, which calls the op again
        ("ccccc.mm.bbb", ".xx.........", "............", NoGrad()),  # a checkpoint
        ("mm.......bbb", "..........x.", "............", NoGrad()),  # what the node itself computes
        ("mm.bbb.xx.xx", "............", "............", NoGrad()),  # an optimizer that multiplies
        ("xx.xx.xx....", "............", "..h.........", NoGrad()),  # inference
    ],
)
def test_layers_without_numbers_run_without_gradients(ops: str, within: str, copies: str, expected: NoGrad):
    trace = timeline(
        f"""
        step      | {"0" * 12} |
        op        | {ops} |
        op        | {within} |
        runtime   | {copies} |
        memcpy 7  | {copies} |""",
        names=_NAMES,
        sequences={"m": (3, 0), "c": (2, 0), "b": (3, 1)},
    )
    assert without_gradients(trace) == expected
