"""The tables of tensor cores and of the roofline, and what their words mean."""

from __future__ import annotations

from tb_steptime.analyses.tensor_cores import KernelRow
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.roofline.dots import RooflineDot
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

DOTS: Table[RooflineDot] = Table(
    "roofline",
    "Calls of an op with the same inputs.",
    RooflineDot,
    (
        head("calls", "Calls", Unit.COUNT, "Calls of the op with these inputs in the span.", "roofline_calls"),
        head("total_ns", "Total", Unit.NS, "Sum of the lengths of their kernels.", "roofline_total"),
        head(
            "intensity", "FLOP/byte", Unit.NUMBER,
            "Operations of a call / bytes that it moves at least: inputs read once, outputs written once.",
            "flop_per_byte",
        ),
        head(
            "tflops", "TFLOP/s", Unit.NUMBER,
            "Operations of the calls / time of their kernels. What a causal mask leaves out is not counted.",
            "roofline_tflops",
        ),
        head(
            "bandwidth", "Memory, at least", Unit.BYTES_PER_SECOND,
            "Bytes that the calls move at least / time of their kernels.", "least_bandwidth",
        ),
        head(
            "efficiency", "Of its roof", Unit.FRACTION,
            "Time of a call at the roof / its time. The roof is the longer of its operations at the peak rate for its "
            "type, and its least bytes at the memory bandwidth.", "roof_efficiency",
        ),
        head("bound", "Bound", Unit.TEXT, "What limits the calls.", "roofline_bound"),
        head(
            "gain_ns", "Gain, up to", Unit.NS,
            "Time that could be saved at most if the calls reached 80 % of their roof, and none were shorter than an "
            "empty kernel. It overlaps with the gains of the cards.", "roofline_gain",
        ),
    ),
)  # fmt: skip

COLUMNS: tuple[Metric, ...] = (
    *DOTS.heads,
    Metric("bound_memory", "Memory-bound", Unit.TEXT, "Moving its least bytes takes longer than its operations."),
    Metric("bound_compute", "Compute-bound", Unit.TEXT, "Its operations take longer than moving its least bytes."),
    Metric("bound_launch", "Launch-bound", Unit.TEXT, "Its kernels are shorter than the calls that launch them."),
    Metric("bound_grid", "Grid too small", Unit.TEXT, "Its kernel has blocks for less than half of the SMs."),
    Metric(
        "above_algorithm", "Fewer operations", Unit.TEXT,
        "Above its roof: a kernel's name says that this convolution needs fewer operations than its formula counts "
        "(Winograd, Fourier).",
    ),
    Metric(
        "above_cache", "From the cache", Unit.TEXT,
        "Above its roof: inputs may still be in the cache, or expanded ones be smaller than their shapes.",
    ),
    Metric("above_clock", "Higher clock", Unit.TEXT, "Above its roof: the clock may be above that of the data sheet."),
    Metric(
        "above_unexplained", "Not explained", Unit.TEXT,
        "Above its roof by more than a higher clock gives, and no kernel's name says why: the formula may count too "
        "much.",
    ),
    *BINS.heads,
    *OPPORTUNITIES.heads,
    *PRODUCTS.heads,
)  # fmt: skip
