"""Two steps of a small training on the CPU with the batch in the shapes of its ops, and its allocations."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

#: A layer of 6 to 8 neurons at a batch of 4: a product, and in the backward pass the gradient of its weight.
TRAINING = """
    step  | 00000000001111111111 |
    op    | ..ff..nnab..ff..nnab |
    op    | .......m.........m.. |"""
NAMES = {
    "f": "aten::addmm",
    "n": "autograd::engine::evaluate_function: AddmmBackward0",
    "m": "aten::mm",
    "a": "torch::autograd::AccumulateGrad",
    "b": "torch::autograd::AccumulateGrad",
}
FLOATS = '["float","float","float"]'
INPUTS = {
    "f": ("[[8],[4,6],[6,8]]", FLOATS),
    "m": ("[[8,4],[4,6]]", FLOATS),
    "a": ("[[8,6]]", FLOATS),
    "b": ("[[8]]", FLOATS),
}
#: For each step the batch, the layer's output and the gradient of the weight.
SAID = """w +96 @1, v +128 @2.5, h +192 @7.5, w -96 @8.6, v -128 @8.7, h -192 @10.2,
    x +96 @11, y +128 @12.5, g +192 @17.5, x -96 @18.6, y -128 @18.7"""


def training(
    inputs: dict[str, tuple[str, ...]] = INPUTS,
    *,
    totals: bool = True,
    device: tuple[int, int] = CPU,
    reserved: int = 0,
) -> Trace:
    trace = timeline(TRAINING, names=NAMES, inputs=inputs, sequences={"f": (5, 0), "n": (5, 1)})
    return with_memory(trace, SAID, before=1000, device=device, reserved=reserved, totals=totals)
