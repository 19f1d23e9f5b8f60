"""Names, meanings and colours of the kinds of memory."""

from __future__ import annotations

from tb_steptime.metrics.base import PartMeaning

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
