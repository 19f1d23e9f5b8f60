"""Trainings on the CPU: the ops take the time themselves, and nothing is launched."""

from __future__ import annotations

from tests.truth.simulate.causes import Op, Section
from tests.truth.simulate.layers import node


def cpu_step(compute_us: int, layers: int = 6) -> tuple[Section, ...]:
    """Forward a third, backward two thirds, a short optimizer; on one thread, as the autograd engine does on a CPU."""
    each = compute_us * 1000 // (3 * layers) // 2  # the machine's factor of the host doubles it
    shapes = ((512,), (256, 512), (512, 512))
    linear = Op(("aten::linear", "aten::addmm"), (), each, shapes, ("float",) * 3)
    backward = node("AddmmBackward0", "aten::mm", [], 2 * each)
    update = Op(("aten::_foreach_add_",), (), 60_000)
    return (
        Section((), "Optimizer.zero_grad#SGD.zero_grad"),
        Section((linear, Op(("aten::relu",), (), each // 20)) * layers),
        Section((backward,) * layers),
        Section((update,) * 2, "Optimizer.step#SGD.step"),
    )
