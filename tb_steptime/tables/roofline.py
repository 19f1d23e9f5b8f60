"""The heads of the roofline's table, and what its words mean."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    Metric("roofline_calls", "Calls", Unit.COUNT, "Calls of the op with these inputs in the span."),
    Metric("roofline_total", "Total", Unit.NS, "Sum of the lengths of their kernels."),
    Metric(
        "flop_per_byte", "FLOP/byte", Unit.NUMBER,
        "Operations of a call / bytes that it moves at least: inputs read once, outputs written once.",
    ),
    Metric(
        "roofline_tflops", "TFLOP/s", Unit.NUMBER,
        "Operations of the calls / time of their kernels. What a causal mask leaves out is not counted.",
    ),
    Metric(
        "least_bandwidth", "Memory, at least", Unit.BYTES_PER_SECOND,
        "Bytes that the calls move at least / time of their kernels.",
    ),
    Metric(
        "roof_efficiency", "Of its roof", Unit.FRACTION,
        "Time of a call at the roof / its time. The roof is the longer of its operations at the peak rate for its "
        "type, and its least bytes at the memory bandwidth.",
    ),
    Metric("roofline_bound", "Bound", Unit.TEXT, "What limits the calls."),
    Metric(
        "roofline_gain", "Gain, up to", Unit.NS,
        "Time that could be saved at most if the calls reached 80 % of their roof, and none were shorter than an empty "
        "kernel. It overlaps with the gains of the cards.",
    ),
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
)  # fmt: skip
