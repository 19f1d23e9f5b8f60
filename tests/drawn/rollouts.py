"""A training with a rollout in each step, whose passes run one after the other."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline


def rollout(passes: int, layer: str) -> Trace:
    """Four steps: passes of one layer whose result is read, then a training of one layer that the CPU waits for."""
    ops = f"{layer * 8}...." * passes + "m" * 6 + "b" * 6
    kernels = "...k...k...." * passes + "....." + "t" * 40 + "u" * 40
    copies = ("..........c." * passes).ljust(len(kernels) + 1, ".") + "e"
    calls = "..k...k..cc." * passes + "....t......u."
    lines = {"op": ops, "runtime": calls.ljust(len(copies), "e"), "kernel 7": kernels, "memcpy 7": copies}
    steps, width = 4, len(copies) + 2
    drawn = [f"{name} | {line.ljust(width, '.') * steps} |" for name, line in lines.items()]
    names = {"x": "aten::mm", "m": "aten::mm", "b": "autograd::engine::evaluate_function: MmBackward0"}
    return timeline(
        "\n".join((f"step | {''.join(str(each) * width for each in range(steps))} |", *drawn)),
        names=names | dict.fromkeys("ce", "Memcpy DtoH (Device -> Pageable)"),
        sequences={"m": (3, 0), "b": (3, 1)},
        nbytes={"c": 4, "e": 4},
        cell_ns=100_000,
    )
