"""What the kinds of memory are called, mean, and are drawn in; and the heads of the columns of the view's tables."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric, PartMeaning
from tb_steptime.text import Unit

#: In the order of `CATEGORIES`.
MEMORY_PARTS = (
    PartMeaning(
        "parameters", "Parameters",
        "Made by the code of an nn.Module outside the steps, and never freed: parameters and buffers.", "kernel",
    ),
    PartMeaning("gradients", "Gradients", "Made in the backward pass, and still there when it ends.", "comm"),
    PartMeaning(
        "optimizer_state", "Optimizer state", "Made in the optimizer by the first step, and never freed.", "tensor"
    ),
    PartMeaning(
        "activations", "Activations",
        "Made in the forward pass, and needed until the backward pass of the step begins or longer.", "cpu",
    ),
    PartMeaning(
        "inputs", "Inputs",
        "Batches: made while the loader is read, copied from the host, or made in the step before the first op that "
        "the backward pass differentiates.", "data",
    ),
    PartMeaning("temporary", "Temporary", "Freed in the phase of the step that made it.", "copy"),
    PartMeaning(
        "unknown", "Unknown",
        "Kept longer than the phase that made it, and nothing in the recording tells what for; leaks are here. The "
        "table of the largest allocations says what made it.", "other",
    ),
    PartMeaning(
        "before_recording", "Before the recording",
        "Allocated before the recording began, and not freed yet: parameters above all. The recording does not tell "
        "its kinds apart.", "other", hatched=True,
    ),
)  # fmt: skip

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
