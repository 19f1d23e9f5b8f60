"""The rate that a matrix product could reach, as the trace shows it, and what makes a product slower.

[96, 3137, 64] x [96, 64, 3137], bf16, H100      121 GFLOP, 1.97 GB
best rate of others in the trace 751 TFLOP/s     161 us
tiles of 128 x 128                               96 x 25 x 25 = 60 000 on 132 SMs: all of them have work
memory, 0.8 x 3350 GB/s                          733 us: the longest of the three counts
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.metrics.flops.op_flops import TYPE_BYTES, Work
from tb_steptime.metrics.flops.peaks import Peaks
from tb_steptime.metrics.kernel_names.work_kinds import ALWAYS_ALIGNED, LOADED_AT_ONCE
from tb_steptime.text import Reason, count

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
