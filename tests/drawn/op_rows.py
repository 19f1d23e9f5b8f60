"""Ops of a trace by their names."""

from __future__ import annotations

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64
from tests.drawn.timeline import timeline


def named(trace: Trace, rows: Int64) -> list[str | None]:
    return [trace.strings[int(trace.events.name[row])] if row >= 0 else None for row in rows]


def linear() -> Trace:
    return timeline(
        """
        step           | 00000000000000 |
        user forward   | ffffffffff.... |
        python         | mmmmmmmmmm.... |
        python         | .ssssssss..... |
        python         | ..tttttt...... |
        op             | ..aaaaaa...... |
        op             | ...bb......c.. |
        runtime        | ...k...j...e.. |
        kernel 7       | .....kkkjj...e |""",
        names={
            "m": "nn.Module: Linear_0",
            "s": "train.py(7): forward",
            "t": "torch/nn/functional.py(9): linear",
            "a": "aten::linear",
            "b": "aten::addmm",
            "c": "aten::add",
        },
    )


def checkpointed() -> Trace:
    """A checkpoint without reentry: the block is called again once a node needs what it kept."""
    node = "autograd::engine::evaluate_function: "
    return timeline(
        """
        step            | 0000000000000000000 |
        python          | bbbbbb............. |
        python          | ssssss............. |
        op              | .ccc.rr............ |
        python @engine  | .........bbbbb..... |
        python @engine  | .........ssssss.... |
        op engine       | .......RRRRRRRRRCCC |
        op engine       | ..........dd..x.yyy |
        runtime         | .c...r............. |
        runtime engine  | ..........d...x.y.. |
        kernel 7        | ..ccc.rr...ddd.xxyy |""",
        names={
            "b": "nn.Module: Block_0",
            "s": "net.py(4): forward",
            "c": "aten::conv2d",
            "d": "aten::conv2d",
            "r": "aten::relu",
            "x": "aten::threshold_backward",
            "y": "aten::convolution_backward",
            "R": node + "ReluBackward0",
            "C": node + "Conv2dBackward0",
        },
        sequences={"c": (7, 0), "r": (8, 0), "R": (8, 1), "C": (7, 1)},
    )
