"""The tables of tensor cores."""

from __future__ import annotations

from tb_steptime.analyses.tensor_cores import KernelRow
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.tensor_cores.opportunities import Opportunity
from tb_steptime.metrics.tensor_cores.product_rates import ProductRate
from tb_steptime.tables.base import Table, head
from tb_steptime.text import Unit

BINS: Table[KernelRow] = Table(
    "kernels by tensor cores",
    "Kernels, and whether they run on tensor cores.",
    KernelRow,
    (
        head(
            "bin", "Tensor cores", Unit.TEXT,
            "Whether the kernel runs on tensor cores, and the rule that decides.", "kernel_bin",
        ),
        head("shown", "Total", Unit.NS, "Kernel time in the parts that are shown.", "shown_ns"),
    ),
)  # fmt: skip

OPPORTUNITIES: Table[Opportunity] = Table(
    "opportunities",
    "Work that could run on tensor cores.",
    Opportunity,
    (
        head(
            "gain_ns", "Gain, up to", Unit.NS,
            "Time that could be saved at most. The tooltip of each row has the formula.", "opportunity_gain_ns",
        ),
    ),
)  # fmt: skip

PRODUCTS: Table[ProductRate] = Table(
    "products",
    "Matrix products and their rates.",
    ProductRate,
    (
        head("calls", "Calls", Unit.COUNT, "Calls of the op whose kernels run alone on the GPU.", "product_calls"),
        head(
            "tflops", "TFLOP/s", Unit.NUMBER,
            "Operations of the calls / time of their kernels. What a causal mask leaves out is counted.", "tflops",
        ),
        head(
            "attainable_tflops", "In reach", Unit.NUMBER,
            "TFLOP/s that the op could reach. The best rate of the same type in this trace, the memory bandwidth and "
            "the number of tiles limit it.",
        ),
        head(
            "gain_ns", "Gain, up to", Unit.NS,
            "Time that could be saved at most, where a product reaches less than half of what it could: time x (1 - "
            "rate / rate in reach).", "slow_gain_ns",
        ),
    ),
)  # fmt: skip

COLUMNS: tuple[Metric, ...] = (
    *BINS.heads,
    *OPPORTUNITIES.heads,
    *PRODUCTS.heads,
)
