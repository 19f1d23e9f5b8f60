"""Trainings on the CPU: the ops take the time themselves, and nothing is launched."""

from __future__ import annotations

from tests.truth.simulate.causes import Call, Op, Section
from tests.truth.simulate.layers import node


def adam_step(disturbed: tuple[int, ...], others: tuple[int, ...], ms: int = 10) -> tuple[Section, ...]:
    """An optimizer that goes through 8 parameters op by op. In the disturbed steps another process takes the core from
    one of them for this long.
    """
    names = ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::sqrt", "aten::div", "aten::addcdiv_")
    ops = tuple(Op((name,), (), 3_000) for name in names) * 8
    late = Op(("aten::sqrt",), (Call("", host_ns=ms * 1_000_000),), 3_000)
    mark = "Optimizer.step#Adam.step"
    return Section((*ops[:3], late, *ops[4:]), mark, steps=disturbed), Section(ops, mark, steps=others)


def cpu_step(compute_us: int, layers: int = 6) -> tuple[Section, ...]:
    """A third forward, two thirds backward, a short optimizer; on one thread, like the autograd engine on a CPU."""
    each = compute_us * 1000 // (3 * layers) // 2  # the machine's host factor doubles it
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
