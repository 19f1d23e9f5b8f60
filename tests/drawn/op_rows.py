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
