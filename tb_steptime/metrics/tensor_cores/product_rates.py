"""Rates of matrix products, convolutions and attention on tensor cores, and which of these products are slow.

    aten::bmm   bf16 [96,1569,1569] x [96,1569,64]     55 TFLOP/s, while others reach 520: 1569 is not a multiple of 8
    aten::mm    bf16 [8,4096] x [4096,4096]            slow, but memory allows no more: nothing to gain

A call is one op with its kernels. Calls only count if all their kernels run on tensor cores, with no other kernel at
the same time, and start within the span's window. Operations that a causal mask removes are included, and `causal` says
so.

The attainable rate of a matrix product follows from the trace, and so does why a product is slower.

[96, 3137, 64] x [96, 64, 3137], bf16, H100      121 GFLOP, 1.97 GB
best rate of others in the trace 751 TFLOP/s     161 us
tiles of 128 x 128                               96 x 25 x 25 = 60 000 on 132 SMs: all of them have work
memory, 0.8 x 3350 GB/s                          733 us: the longest of the three counts
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.metrics.flops.op_flops import TYPE_BYTES, Work
from tb_steptime.metrics.flops.peaks import Peaks, device_peaks
from tb_steptime.metrics.gpu.activities import KernelSite, Product, find_products, kernel_site
from tb_steptime.metrics.gpu.utilization import kernel_rows, runs_alone
from tb_steptime.metrics.kernel_names.work_kinds import ALWAYS_ALIGNED, LOADED_AT_ONCE
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_answers, kernel_bins, only_compared
from tb_steptime.text import Reason, count
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


#: Duration of an empty kernel, ns. No kernel is shorter.
EMPTY_NS = 5_000
#: Share of the data sheet's memory bandwidth that plain copies reach.
MEMORY_FRACTION = 0.8
#: Number of rows and of columns of the output that a block computes, in cuBLAS' most frequent tile.
TILE = 128
#: Share of the peak to assume if no product of the trace shows the rate of aligned ones. Large ones reach half of the
#: peak and more.
ALIGNED_FRACTION = 0.4

#: If a batched product has fewer rows, columns or summed elements than this, most of each tile multiplies nothing.
SMALL_LENGTH = 32
DOUBLE_BYTES = 8
#: Bytes that the fastest kernels load at once.
UNIT_BYTES = 16


class Slowness(msgspec.Struct, frozen=True):
    """Why a product cannot be fast. Its id, "alignment" or "small_size", is stable and public."""

    id: str
    reason: Reason


class Chip(msgspec.Struct, frozen=True):
    """Limits of a device for products of one type.

    peak      TFLOP/s of its tensor cores
    memory    bandwidth of its memory, GB/s
    sm_count  number of SMs; None if unknown
    """

    peak: float
    memory: float
    sm_count: int | None


def peak_rate(peaks: Peaks, dtype: str) -> float | None:
    """Returns the TFLOP/s of tensor cores with inputs of that type; None if they do not support it, or it is not
    listed."""
    halves = {"c10::Half": peaks.half, "c10::BFloat16": peaks.half}
    return {**halves, "float": peaks.tf32, "double": peaks.fp64_tensor}.get(dtype)


def attainable_ns(work: Work, best: float, chip: Chip) -> float:
    """Returns the shortest possible time of one call of a product in ns, if others reach `best` TFLOP/s."""
    return max(_computing_ns(work, best * _spread(work, chip)), _moving_ns(work, chip), EMPTY_NS)


def shows_rate(work: Work, chip: Chip) -> bool:
    """Returns whether the rate of this product shows what others could reach. This is so if neither memory nor a small
    number of tiles limits a product of this size."""
    return _spread(work, chip) == 1.0 and _computing_ns(work, chip.peak) >= _moving_ns(work, chip)


def _computing_ns(work: Work, rate: float) -> float:
    return work.flops / (rate * 1000)  # TFLOP/s = 1000 FLOP/ns


def _moving_ns(work: Work, chip: Chip) -> float:
    return (work.least_bytes or 0) / (MEMORY_FRACTION * chip.memory)  # GB/s = bytes/ns


def _spread(work: Work, chip: Chip) -> float:
    """Returns the share of the SMs that the tiles of a product fill. For a convolution, which has other tiles, it is
    1."""
    if len(work.lengths) != 3 or not chip.sm_count:
        return 1.0
    m, n, _ = work.lengths
    return min(1.0, work.batch * -(-m // TILE) * -(-n // TILE) / chip.sm_count)


def why_slow(work: Work, kernels: Sequence[str]) -> Slowness | None:
    """Returns what in a product's sizes or its kernels' names prevents it from being fast; None if nothing does."""
    size = TYPE_BYTES.get(work.dtype, 0)
    if size and _misaligned(work, kernels, size):
        unit = UNIT_BYTES // size
        odd = next((length for length in sorted(work.lengths, reverse=True) if length % unit), None)
        if odd is None:
            return Slowness("alignment", Reason("misaligned_kernel"))
        return Slowness("alignment", Reason("misaligned_size", {"length": count(odd), "unit": count(unit)}))
    if work.batch > 1 and min(work.lengths) < SMALL_LENGTH:  # a single product is limited by memory, or by its kernel
        return Slowness("small_size", Reason("small_size", {"length": count(min(work.lengths))}))
    return None


def _misaligned(work: Work, kernels: Sequence[str], size: int) -> bool:
    """Returns whether the kernels load less than a unit at once. The kernel names decide or, if they do not show it,
    whether an operand's row is a multiple of the load size. Names of FP64 kernels do not show it, because those on
    tensor cores load one number at once with any sizes."""
    loaded = [int(each) for name in kernels for each in LOADED_AT_ONCE.findall(name) if size < DOUBLE_BYTES]
    if loaded:
        return min(loaded) * size < UNIT_BYTES
    if all(map(ALWAYS_ALIGNED.search, kernels)):
        return False
    _, n, k = work.lengths
    return n * size % UNIT_BYTES != 0 or k * size % UNIT_BYTES != 0
