"""Heads of the tables of tensor cores."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    Metric(
        "kernel_bin", "Tensor cores", Unit.TEXT, "Whether the kernel runs on tensor cores, and the rule that decides.",
    ),
    Metric("shown_ns", "Total", Unit.NS, "Kernel time in the parts that are shown."),
    Metric(
        "opportunity_gain_ns", "Gain, up to", Unit.NS,
        "Time that could be saved at most. The tooltip of each row has the formula.",
    ),
    Metric("product_calls", "Calls", Unit.COUNT, "Calls of the op whose kernels run alone on the GPU."),
    Metric(
        "tflops", "TFLOP/s", Unit.NUMBER,
        "Operations of the calls / time of their kernels. What a causal mask leaves out is counted.",
    ),
    Metric(
        "attainable_tflops", "In reach", Unit.NUMBER,
        "TFLOP/s that the op could reach. The best rate of the same type in this trace, the memory bandwidth and "
        "the number of tiles limit it.",
    ),
    Metric(
        "slow_gain_ns", "Gain, up to", Unit.NS,
        "Time that could be saved at most, where a product reaches less than half of what it could: time x (1 - "
        "rate / rate in reach).",
    ),
)  # fmt: skip
