"""Detects whether the candidate computes differently: in another precision, compiled, in graphs, with fused kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.comparison.changed_calls import SOME, falls
from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.kernel_names.work_kinds import (
    FUSED_ATTENTION_KERNEL,
    FUSED_OPTIMIZER_KERNEL,
    MANY_TENSORS,
)
from tb_steptime.metrics.kernels.launch_places import LaunchPlace

#: A share that grows by at least this much was turned on.
ON_FRACTION = 0.3
#: Kernels that take at least this share of the optimizer's time determine how it works.
MOSTLY = 0.5

Precision = Literal["half", "tf32", "other"]

_HALF, _TF32 = re.compile(r"\bb?f16\b|\bhalf\b"), re.compile(r"\btf32\b")


def in_half_precision(base: Side, candidate: Side) -> bool:
    """Whether autocast, or a 16-bit model, was turned on: matrix products on tensor cores in half precision."""
    return _grows(base, candidate, "half")


def in_half_on_cpu(base: Side, candidate: Side) -> bool:
    """Whether half precision was turned on, by the types of the ops' inputs, if nothing ran on a GPU."""
    if any(side.first.overview.has_device for side in (base, candidate)):
        return False
    return _turned_on(base, candidate, lambda side: side.first.compare.setup.half_share)


def in_tf32(base: Side, candidate: Side) -> bool:
    return _grows(base, candidate, "tf32")


def otherwise_on_tensor_cores(base: Side, candidate: Side) -> bool:
    """Whether tensor cores are used in a precision that no kernel name shows."""
    return _grows(base, candidate, "other")


def fewer_layout_conversions(base: Side, candidate: Side) -> bool:
    """Whether there are fewer layout conversions, with tensor cores still in use."""
    before, after = _split(base), _split(candidate)
    if before is None or after is None or not after.total.tensor_core_ns:
        return False
    return falls(before.waste.layout_conversions.count, after.waste.layout_conversions.count)


def fused_attention(base: Side, candidate: Side) -> bool:
    before, after = (
        _launches(side, lambda place: FUSED_ATTENTION_KERNEL.search(place.name) is not None)
        for side in (base, candidate)
    )
    return not before and after >= SOME


def optimizer_takes_more_at_once(base: Side, candidate: Side) -> bool:
    """Whether the optimizer has one kernel for many tensors instead of one for each, or one for all its operations."""
    before, after = _optimizer_level(base), _optimizer_level(candidate)
    return before is not None and after is not None and after > before


def more_compiled(base: Side, candidate: Side) -> bool:
    return _turned_on(base, candidate, lambda side: side.first.overview.job.compiled_share)


def more_in_graphs(base: Side, candidate: Side) -> bool:
    return _turned_on(base, candidate, lambda side: side.first.overview.job.graph_share)


def _turned_on(base: Side, candidate: Side, share: Callable[[Side], float | None]) -> bool:
    return (share(candidate) or 0.0) - (share(base) or 0.0) >= ON_FRACTION


def _split(side: Side) -> DeviceSplit | None:
    devices = side.first.result("tensor_cores", TensorCoresResult).devices
    return next((each for each in devices if each.device == side.first.host.device), None)


def _grows(base: Side, candidate: Side, precision: Precision) -> bool:
    before, after = _share_in(base, precision), _share_in(candidate, precision)
    return before is not None and after is not None and after - before >= ON_FRACTION


def _share_in(side: Side, precision: Precision) -> float | None:
    """Returns the share of the time of matrix products that is on tensor cores in this precision, according to the
    kernels' names; None without products."""
    of = _split(side)
    products_ns = of.total.tensor_core_ns + of.total.matmul_like_ns if of else 0
    if of is None or not products_ns:
        return None
    rows = [row for row in of.kernels if row.bin == "tensor_core" and _precision(row.short or row.name) == precision]
    return sum(row.total_ns for row in rows) / products_ns


def _precision(name: str) -> Precision:
    return "half" if _HALF.search(name) else "tf32" if _TF32.search(name) else "other"


def _launches(side: Side, wanted: Callable[[LaunchPlace], bool]) -> float:
    """Returns the number of launches per step."""
    places = [place for span in side.spans for place in span.compare.kernels if wanted(place)]
    return sum(place.count for place in places) / len(side.step_ns)


def _optimizer_level(side: Side) -> int | None:
    """Returns 0: a kernel for each tensor, 1: one for many tensors, 2: one for all operations; None without an
    optimizer."""
    places = [place for span in side.spans for place in span.compare.kernels if place.phase == "optimizer"]
    total_ns = sum(place.total_ns for place in places)
    if not total_ns:
        return None
    many = sum(place.total_ns for place in places if MANY_TENSORS in place.name)
    whole = sum(place.total_ns for place in places if FUSED_OPTIMIZER_KERNEL.search(place.name))
    return sum(share >= MOSTLY * total_ns for share in (many, whole))
