"""Resolves kernels whose names do not show their cores by arithmetic: a rate beyond the plain cores' proves tensor
cores.

    aten::mm   |---|  [4096, 4096] x [4096, 4096]: 137 GFLOP
    unknown      kkkk 500 us: 275 TFLOP/s on an A100, whose plain cores reach 78 at most: tensor cores

The proof is conservative: it uses the fewest operations that the op can need, the longest time for which the kernel may
have run, and a peak that no clock exceeds. If it fails, nothing is concluded: a slow kernel may be on tensor cores too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.flops.peaks import HALVES, Peaks, device_peaks
from tb_steptime.metrics.kernel_names.name_rules import Answer
from tb_steptime.metrics.tensor_cores.matmul_ops import Product, Products, find_products
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Float64, Int32, Int64

#: A rate counts as beyond the plain cores from this many times their data-sheet peak on, since cards may be clocked
#: higher than their sheets say.
MARGIN = 1.15

#: Resolution of older recordings' clocks, one microsecond: a kernel may have run this much longer than recorded.
TICK_NS = 1000

#: TensorFloat-32 came with compute capability 8.0.
TF32_CAPABILITY = (8, 0)


class KernelAnswers(NamedTuple):
    """The answer for each kernel: distinct[place[row]] for a row of the kernel table. Kernels with equal places have
    one name."""

    distinct: list[Answer]
    place: Int32 | Int64

    def where(self, wanted: Callable[[Answer], bool]) -> Bool:
        """For each kernel whether its answer passes `wanted`. Each distinct answer is tested once."""
        passes: Bool = np.array([wanted(answer) for answer in self.distinct], bool)[self.place]
        return passes


def resolve(trace: Trace, named: KernelAnswers) -> KernelAnswers:
    """The answers by name, completed by those that arithmetic proves, and by what the inputs' type makes likely."""
    unknown = named.where(lambda answer: answer.answer == "unknown")
    rows = np.flatnonzero(unknown & (find_products(trace).place >= 0))
    if not len(rows):
        return named
    products, device = find_products(trace), trace.events.device[trace.kernels.event[rows]]
    dtype_of, dtypes = _dtypes(products)
    groups = Groups.of(named.place[rows], dtype_of[products.place[rows]])
    best = np.zeros(len(groups))
    np.maximum.at(best, groups.place, np.nan_to_num(rates(trace, named)[rows]))
    proved = []
    for i, rate in zip(groups.first.tolist(), best.tolist(), strict=True):
        answer, dtype = named.distinct[named.place[rows[i]]], dtypes[dtype_of[products.place[rows[i]]]]
        proved.append(_proved(trace, answer, int(device[i]), dtype, rate))
    place = named.place.copy()
    place[rows] = len(named.distinct) + groups.place
    return KernelAnswers([*named.distinct, *proved], place)


def _dtypes(products: Products) -> tuple[Int64, list[str]]:
    """For each distinct product the number of its type, and the types."""
    names = ["" if product.work is None else product.work.dtype for product in products.distinct]
    dtypes, number = np.unique(np.array(names, str), return_inverse=True)
    return number.reshape(-1).astype(np.int64), dtypes.tolist()


def _proved(trace: Trace, answer: Answer, device: int, dtype: str, rate: float) -> Answer:
    """The answer after arithmetic: "yes" if the rate, TFLOP/s, proves it, else the same with what is likely."""
    known, peaks = trace.devices.get(device), device_peaks(trace, device)
    plain = peaks.plain(dtype) if peaks else None
    if plain is not None and rate > MARGIN * plain:
        reason = f"proved by arithmetic: {rate:.0f} TFLOP/s, at most {plain:g} without tensor cores"
        return Answer("yes", "arithmetic", reason, "matmul")
    return answer._replace(reason=answer.reason + _likely(known.compute_capability if known else None, dtype, peaks))


def _likely(capability: tuple[int, int] | None, dtype: str, peaks: Peaks | None) -> str:
    """What the type of the inputs makes likely; empty where it makes nothing likely."""
    if dtype in HALVES:
        return "; likely on tensor cores, by the 16-bit inputs of its op"
    plain_fp32 = capability is not None and capability < TF32_CAPABILITY and (peaks is None or peaks.tf32 is None)
    return "; likely not on tensor cores, by the FP32 inputs of its op" if dtype == "float" and plain_fp32 else ""


def rates(trace: Trace, named: KernelAnswers) -> Float64:
    """TFLOP/s of each kernel that is the only one, or of the only name, in its product's op; NaN for all others.

    A lower bound: the fewest operations of the op over the time of all its product and unknown kernels, as a mean over
    the launches of the same kernel for the same shapes.
    """
    products, dur = find_products(trace), trace.events.dur_ns[trace.kernels.event] + TICK_NS
    computes = named.where(lambda answer: answer.answer == "unknown" or answer.role == "matmul")
    found = np.flatnonzero(computes & (products.place >= 0))
    result = np.full(len(dur), np.nan)
    if not len(found):
        return result
    call = Groups.of(products.op[found]).place
    flops = np.array([_least_flops(product) for product in products.distinct])[products.place[found]]
    share = flops * dur[found] / np.bincount(call, dur[found])[call]
    same = Groups.of(named.place[found], products.place[found]).place
    rate = np.bincount(same, share) / np.bincount(same, dur[found]) / 1000  # FLOP/ns = GFLOP/s
    result[found] = np.where(_one_name(named.place[found], call) & (flops > 0), rate[same], np.nan)
    return result


def _one_name(place: Int32 | Int64, call: Int64) -> Bool:
    """Which kernels belong to calls whose kernels all have one name."""
    count = np.bincount(call[Groups.of(call, place).first])
    one: Bool = count[call] == 1
    return one


def _least_flops(product: Product) -> float:
    return float(product.work.least_flops) if product.work else 0.0
