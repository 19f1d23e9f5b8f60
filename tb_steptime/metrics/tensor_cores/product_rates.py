"""Rates of matrix products, convolutions and attention on tensor cores, and which of these products are slow.

    aten::bmm   bf16 [96,1569,1569] x [96,1569,64]     55 TFLOP/s, while others reach 520: 1569 is not a multiple of 8
    aten::mm    bf16 [8,4096] x [4096,4096]            slow, but memory allows no more: nothing to gain

A call is one op with its kernels. Calls only count if all their kernels run on tensor cores, with no other kernel at
the same time, and start within the span's window. Operations that a causal mask removes are included, and `causal` says
so.
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.flops.op_flops import Work
from tb_steptime.metrics.flops.peaks import device_peaks
from tb_steptime.metrics.gpu.activities import KernelSite, Product, find_products, kernel_site
from tb_steptime.metrics.gpu.utilization import kernel_rows, runs_alone
from tb_steptime.metrics.tensor_cores.attainable import (
    ALIGNED_FRACTION,
    Chip,
    Slowness,
    attainable_ns,
    peak_rate,
    shows_rate,
    why_slow,
)
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_answers, kernel_bins, only_compared
from tb_steptime.text import Reason
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Int64, distinct_in, is_in

#: A product is slow below this share of its attainable rate. Tiles, clocks and caches explain smaller differences.
SLOW_FRACTION = 0.5
#: In calls shorter than this, starting and ending dominate.
LEAST_NS = 20_000
#: Calls of at least this length show a rate that others could reach.
REFERENCE_NS = 50_000

#: Maximum number of rows of the table. Others are left out.
RATE_ROWS = 100


class ProductRate(msgspec.Struct, frozen=True):
    """Calls of one op on inputs of the same shapes and types, on tensor cores.

    total_ns             summed length of their kernels over the span
    tflops               mean rate, if everything that a mask leaves out is counted as computed
    causal               whether there is a causal mask; None if the trace does not show it
    attainable_tflops    the rate that other calls of the trace, memory and the number of tiles allow, and at least
                         tflops; None if unknown, or for convolutions and attention
    slow, why            id and text of the reason why the calls are slow; None if they are not, or nothing shows a
                         reason
    gain_ns              the most that the span would save; 0 if the calls are not slow
    """

    site: KernelSite
    dtype: str
    count: int
    total_ns: int
    tflops: float
    attainable_tflops: float | None
    causal: bool | None
    slow: str | None
    why: Reason | None
    gain_ns: int


class ProductRates(msgspec.Struct, frozen=True):
    """Rows with the most gain first, then with the most time.

    best_tflops  by input type, the best rate of longer calls
    peak_tflops  by input type, the rate of the data sheet
    """

    rows: list[ProductRate]
    best_tflops: dict[str, float]
    peak_tflops: dict[str, float]


class _Group(msgspec.Struct, frozen=True, eq=False):
    """Calls of one product, with its rows of the kernel table and the reason that prevents it from being fast, if
    any."""

    product: Product
    work: Work
    rows: Int64
    calls: int
    total_ns: int
    why: Slowness | None

    @property
    def tflops(self) -> float:
        return self.work.flops * self.calls / max(1, self.total_ns) / 1000  # 1000 FLOP/ns = 1 TFLOP/s

    @property
    def call_ns(self) -> float:
        return self.total_ns / self.calls


def product_rates(trace: Trace, device: int, steps: Steps | None = None) -> ProductRates:
    """Returns the rates of the device's products. The result is empty if its peaks are unknown, or the trace records no
    shapes. Products count if they start in these steps; None stands for all. The best rates are those of all steps,
    because they show what the device can do."""
    properties, peaks = trace.devices.get(device), device_peaks(trace, device)
    if properties is None or peaks is None:
        return ProductRates([], {}, {})
    rows = _chosen(trace, device)
    groups = _groups(trace, rows)
    types = {group.work.dtype: peak_rate(peaks, group.work.dtype) for group in groups}
    chips = {dtype: Chip(peak, peaks.memory, properties.sm_count) for dtype, peak in types.items() if peak is not None}
    best = _best(groups, chips)
    if steps is not None:
        groups = _groups(trace, rows[steps.holding(trace.events.start_ns[trace.kernels.event[rows]]) >= 0])
    rate_rows = [_rate(trace, group, best, chips.get(group.work.dtype)) for group in groups]
    rate_rows.sort(key=lambda row: (-row.gain_ns, -row.total_ns, row.site.op or "", row.site.shapes or ""))
    return ProductRates(rate_rows[:RATE_ROWS], best, {dtype: chip.peak for dtype, chip in chips.items()})


def slow_products(trace: Trace, device: int, steps: Steps) -> ProductRates:
    """Returns the rates of slow products in these steps alone."""
    rates = product_rates(trace, device, steps)
    return msgspec.structs.replace(rates, rows=[row for row in rates.rows if row.slow])


def _groups(trace: Trace, rows: Int64) -> list[_Group]:
    products, dur = find_products(trace), trace.events.dur_ns[trace.kernels.event]
    alike, groups = Groups.of(products.place[rows]), []
    for number in range(len(alike)):
        in_group = rows[alike.place == number]
        product = products.distinct[products.place[in_group[0]]]
        if product.work is not None and not product.work.depthwise:
            names = distinct_in(trace.events.name[trace.kernels.event[in_group]]).tolist()
            has_sizes = len(product.work.lengths) == 3
            calls = len(distinct_in(products.op[in_group]))
            why = why_slow(product.work, [trace.strings[name] for name in names]) if has_sizes else None
            groups.append(_Group(product, product.work, in_group, calls, int(dur[in_group].sum()), why))
    return groups


def _chosen(trace: Trace, device: int) -> Int64:
    """Returns the product kernels of calls whose products all run on tensor cores, alone and within the window. Those
    that a convolution only compares are left out."""
    products, rows = find_products(trace), kernel_rows(trace, device)
    alone = runs_alone(trace, rows)
    is_product = kernel_answers(trace).where(lambda answer: answer.role == "matmul")[rows] & (products.op[rows] >= 0)
    is_product &= ~only_compared(trace)[rows]
    rows, alone = rows[is_product], alone[is_product]
    start, (low, high) = trace.events.start_ns[trace.kernels.event[rows]], find_steps(trace).window
    usable = alone & (kernel_bins(trace)[rows] == BINS.index("tensor_core")) & (start >= low) & (start < high)
    comparable: Int64 = rows[~is_in(products.op[rows], distinct_in(products.op[rows[~usable]]))]
    return comparable


def _best(groups: list[_Group], chips: dict[str, Chip]) -> dict[str, float]:
    """Returns by type the best TFLOP/s of products that nothing slows down. A rate beyond the peak means that work is
    skipped, so it is ignored."""
    best: dict[str, float] = {}
    for group in groups:
        chip = chips.get(group.work.dtype)
        if chip and group.why is None and group.call_ns >= REFERENCE_NS and group.tflops <= chip.peak:
            shown = group.tflops if shows_rate(group.work, chip) else 0.0
            best[group.work.dtype] = max(best.get(group.work.dtype, 0.0), shown)
    return {dtype: rate for dtype, rate in best.items() if rate}


def _rate(trace: Trace, group: _Group, best: dict[str, float], chip: Chip | None) -> ProductRate:
    ideal_ns = _ideal_ns(group, best, chip)
    is_slow = ideal_ns is not None and group.call_ns >= LEAST_NS and group.call_ns * SLOW_FRACTION > ideal_ns
    why = group.why if is_slow else None
    site, product = kernel_site(trace, group.rows), group.product
    return ProductRate(
        site=msgspec.structs.replace(site, op=product.op, shapes=product.shapes, dtypes=product.dtypes),
        dtype=group.work.dtype,
        count=group.calls,
        total_ns=group.total_ns,
        tflops=group.tflops,
        attainable_tflops=None if ideal_ns is None else group.work.flops / ideal_ns / 1000,
        causal=group.work.causal,
        slow=why.id if why else None,
        why=why.reason if why else None,
        gain_ns=int(group.total_ns - group.calls * ideal_ns) if why and ideal_ns is not None else 0,
    )


def _ideal_ns(group: _Group, best: dict[str, float], chip: Chip | None) -> float | None:
    """Returns the ideal time of one call. It is at most the time of the call itself, which may be shorter if its inputs
    are in the cache and need no memory bandwidth. If no product shows the rate of aligned ones, misaligned ones are
    compared with the peak."""
    if chip is None or len(group.work.lengths) != 3:
        return None
    unaligned = group.why is not None and group.why.id == "alignment"
    rate = best.get(group.work.dtype, ALIGNED_FRACTION * chip.peak if unaligned else 0.0)
    return min(attainable_ns(group.work, rate, chip), group.call_ns) if rate else None
