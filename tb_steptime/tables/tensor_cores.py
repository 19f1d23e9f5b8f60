"""The tables of tensor cores."""

from __future__ import annotations

from tb_steptime.analyses.tensor_cores import KernelRow
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.tensor_cores.opportunities import Opportunity
from tb_steptime.metrics.tensor_cores.product_rates import ProductRate
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit

_TAB = Surface.TAB

BINS: Table[KernelRow] = Table(
    "kernels by tensor cores",
    "Kernels, and whether they run on tensor cores.",
    KernelRow,
    (
        Column(
            "bin", "Tensor cores", Unit.TEXT,
            "Whether the kernel runs on tensor cores, and the rule that decides.", on=_TAB, figure="kernel_bin",
        ),
        Column("shown", "Total", Unit.NS, "Kernel time in the parts that are shown.", on=_TAB, figure="shown_ns"),
    ),
)  # fmt: skip

OPPORTUNITIES: Table[Opportunity] = Table(
    "opportunities",
    "Work that could run on tensor cores.",
    Opportunity,
    (
        Column(
            "gain_ns", "Gain, up to", Unit.NS,
            "Time that could be saved at most. The tooltip of each row has the formula.",
            on=_TAB, figure="opportunity_gain_ns",
        ),
    ),
)  # fmt: skip

PRODUCTS: Table[ProductRate] = Table(
    "products",
    "Matrix products and their rates.",
    ProductRate,
    (
        Column(
            "calls", "Calls", Unit.COUNT,
            "Calls of the op whose kernels run alone on the GPU.", on=_TAB, figure="product_calls",
        ),
        Column(
            "tflops", "TFLOP/s", Unit.NUMBER,
            "Operations of the calls / time of their kernels. What a causal mask leaves out is counted.",
            on=_TAB, figure="tflops",
        ),
        Column(
            "attainable_tflops", "In reach", Unit.NUMBER,
            "TFLOP/s that the op could reach. The best rate of the same type in this trace, the memory bandwidth and "
            "the number of tiles limit it.", on=_TAB,
        ),
        Column(
            "gain_ns", "Gain, up to", Unit.NS,
            "Time that could be saved at most, where a product reaches less than half of what it could: time x (1 - "
            "rate / rate in reach).", on=_TAB, figure="slow_gain_ns",
        ),
    ),
)  # fmt: skip

COLUMNS: tuple[Metric, ...] = (
    *BINS.heads,
    *OPPORTUNITIES.heads,
    *PRODUCTS.heads,
)
