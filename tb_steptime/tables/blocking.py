"""The table of blocking calls, in which the CPU waits for a GPU; equal ones are grouped."""

from __future__ import annotations

from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit

_TAB, _ROWS, _AGENT = Surface.TAB, Surface.ROWS, Surface.AGENT

BLOCKING: Table[BlockingRow] = Table(
    "blocking calls",
    "Calls that are alike, per step, those that cost most first.",
    BlockingRow,
    (
        Column("call", "Call", Unit.TEXT, "The call of the runtime.", on=_ROWS | _AGENT),
        Column("op", "Op", Unit.TEXT, "The innermost op around it.", on=_ROWS | _AGENT),
        Column(
            "source", "Made by", Unit.TEXT,
            "The source line or module that makes the call. In the backward pass: that of the forward op to which the "
            "call belongs.", figure="blocking_source",
        ),
        Column("phase", "Phase", Unit.TEXT, "The phase of the step that makes it.", on=_ROWS | _AGENT),
        Column("count", "Calls", Unit.NUMBER, "Calls in a step.", on=_ROWS | _AGENT, names={_AGENT: "calls"}),
        Column("blocked_ns", "Blocked", Unit.NS, "Time in which the call blocks the host."),
        Column(
            "bubble_ns", "GPU idle", Unit.NS,
            "Time in which the GPU is idle because of the call: from when it has no work left to the start of the "
            "next work that is launched after the call.",
        ),
    ),
)  # fmt: skip
