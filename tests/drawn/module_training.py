"""A step of a small training on the CPU whose two blocks are modules, at a batch of 4."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import timeline

#: Each block adds to what it is given: f and F are ReLUs, which save their result; g and G add, which saves nothing.
DRAWN = """
    step   | 000000000000000000000000 |
    python | .MMMMMMMMMMMM........... |
    python | .BBBBBBCCCCCC........... |
    op     | .fffgggFFFGGGlwxxxyzzza. |"""
NAMES = {
    "M": "nn.Module: Net_0",
    "B": "nn.Module: Block_0",
    "C": "nn.Module: Block_1",
    "f": "aten::relu",
    "F": "aten::relu",
    "g": "aten::add",
    "G": "aten::add",
    "l": "aten::sum",
    "w": "autograd::engine::evaluate_function: AddBackward0",
    "x": "autograd::engine::evaluate_function: ReluBackward0",
    "y": "autograd::engine::evaluate_function: AddBackward0",
    "z": "autograd::engine::evaluate_function: ReluBackward0",
    "a": "torch::autograd::AccumulateGrad",
}
OF_BATCH = ("[[4,100]]", '["float"]')
INPUTS = {**dict.fromkeys("fgFGlxz", OF_BATCH), "a": ("[[8,6]]", '["float"]')}
SEQUENCES = {"f": (1, 0), "g": (2, 0), "F": (3, 0), "G": (4, 0), "w": (4, 1), "x": (3, 1), "y": (2, 1), "z": (1, 1)}
#: i: the batch; p: of the first ReLU, with a mask t; q: the first block's sum, r and s those of the second block.
SAID = """i +400 @0.5, p +1600 @2, t +3200 @2.5, q +1600 @5, r +1600 @8, s +1600 @11, q -1600 @12.5, l +4 @13.5,
    u +1600 @16, s -1600 @16.5, r -1600 @17.5, u -1600 @17.9, v +1600 @20, p -1600 @21, t -3200 @21.2, v -1600 @21.5"""


def training(
    names: dict[str, str] = NAMES,
    *,
    device: tuple[int, int] = CPU,
    drawn: str = DRAWN,
    nbytes: dict[str, int] | None = None,
) -> Trace:
    """drawn: with further rows; nbytes: of the copies in them."""
    trace = timeline(drawn, names=names, inputs=INPUTS, sequences=SEQUENCES, nbytes=nbytes)
    return with_memory(trace, SAID, before=1000, device=device)
