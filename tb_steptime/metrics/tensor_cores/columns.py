"""The four bins of kernel time as the views name and draw them, and the heads of the tables' columns."""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

KernelBin = Literal["tensor_core", "matmul_like", "unknown", "other"]


class BinMeaning(msgspec.Struct, frozen=True):
    """A bin of kernel time. short: over a column; answer: to the question whether a kernel runs on tensor cores."""

    id: KernelBin
    label: str
    short: str
    answer: str
    meaning: str
    colour: str
    hatched: bool


#: In the order of the bar.
KERNEL_BINS = (
    BinMeaning("tensor_core", "Tensor cores", "Tensor cores", "yes",
               "Kernels that run on tensor cores (AMD: matrix cores).", "tensor", False),
    BinMeaning("matmul_like", "Matmul-like, no tensor cores", "Matmul-like", "no",
               "Matrix products, convolutions and attention without tensor cores. This time could move to tensor "
               "cores.", "kernel", True),
    BinMeaning("unknown", "Unknown", "Unknown", "unknown",
               "Kernels whose names do not show whether they use tensor cores.", "other", True),
    BinMeaning("other", "Other kernels", "Other", "not eligible",
               "Kernels that cannot use tensor cores: elementwise, reductions, normalization, copies.", "kernel",
               False),
)  # fmt: skip

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
