"""Heads of the tables of memory."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    Metric("memory_size", "Size", Unit.BYTES, "Bytes of one allocation."),
    Metric("memory_op", "Made in", Unit.TEXT, "The innermost op that was open, and the outermost around it."),
    Metric(
        "memory_line", "Code", Unit.TEXT,
        "The module and the source line that made it; of the backward pass those of the forward op that it belongs to. "
        "Call stacks tell: with_stack=True.",
    ),
    Metric("memory_born", "Made", Unit.TEXT, "The step and the phase that made it."),
    Metric(
        "memory_lives", "Lives", Unit.TEXT,
        "In how many steps after its own it is freed; a dash where the recording ends before, or it is of no step.",
    ),
    Metric("memory_kind", "Kind", Unit.TEXT, "What it is, by the phase that makes it and by what it outlives."),
    Metric("memory_growth", "Bytes a step", Unit.BYTES, "What of each step's allocations nothing frees; a mean."),
    Metric("memory_since", "Since step", Unit.TEXT, "The first of the steps, in a row up to the last, that leave it."),
    Metric("memory_churn_count", "Allocations", Unit.NUMBER, "Allocations that the same step frees again."),
    Metric("memory_churn_bytes", "Bytes", Unit.BYTES, "Sum of these allocations."),
    Metric("memory_churn_largest", "Largest", Unit.BYTES, "The largest of these allocations."),
    Metric("memory_op_own", "Allocated", Unit.BYTES, "Allocated by the op itself, without the ops inside it."),
    Metric("memory_op_all", "With children", Unit.BYTES, "Allocated by the op and the ops inside it."),
    Metric("memory_op_increase", "Increase", Unit.BYTES, "Allocated less freed while the op ran, the ops inside too."),
)  # fmt: skip
