"""What was changed from the base to the candidate, as far as the traces show it, and the cards that advised it.

The user is not asked: a change is recognised by effects that only it has (copies from pinned memory, one op for the
optimizer, products on tensor cores), never by a time that fell. A count only falls if both
sides recorded it: a trace without runtime calls shows none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.data_loading.bursts import Burst
from tb_steptime.metrics.host.blocking_calls import BlockingPlace
from tb_steptime.metrics.host.copies import CopyPlace
from tb_steptime.metrics.kernel_names.work_kinds import FUSED_ATTENTION_KERNEL, FUSED_OPTIMIZER_KERNEL, MANY_TENSORS
from tb_steptime.metrics.kernels.launch_places import LaunchPlace

ChangeId = Literal[
    "workers", "smaller_batches", "pinned_memory", "non_blocking", "half_precision", "half_on_cpu", "tf32",
    "tensor_cores", "channels_last", "fused_attention", "item_removed", "syncs_removed", "allocator", "optimizer",
    "zero_gradients", "compiled", "graphs", "gradient_buckets",
]  # fmt: skip


#: Whether a change was made from a base to a candidate.
Made = Callable[[Side, Side], bool]


@dataclass(frozen=True)
class KnownChange:
    """A change that traces show. answers: ids of the cards that advise it."""

    id: ChangeId
    made: Made
    answers: Collection[str]


def changes_made(base: Side, candidate: Side) -> list[KnownChange]:
    """Returns the changes that the traces show."""
    return [change for change in KNOWN_CHANGES if change.made(base, candidate)]


_WAITS = ("sync_bubble", "synchronous_exchange", "hidden_sync_backward", "hidden_sync_optimizer",
          "algorithm_search")  # fmt: skip
_PRODUCTS = ("tensor_cores_unused", "alignment")


#: A count that falls to this share of its former value, or below, was removed rather than just varied.
GONE_FRACTION = 0.5
#: Minimum number of calls per step for their fall to say something.
FEWEST_CALLS = 0.5

_READS_A_NUMBER = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"}


def falls(before: float, after: float) -> bool:
    return before >= FEWEST_CALLS and after <= GONE_FRACTION * before


def pinned(base: Side, candidate: Side) -> bool:
    """Returns whether copies to the device come from pinned memory instead of pageable memory."""
    before, after = (_copies(side, lambda copy: copy.source == "Pageable") for side in (base, candidate))
    return falls(before, after) and _copies(candidate, _is_pinned) >= FEWEST_CALLS


def non_blocking(base: Side, candidate: Side) -> bool:
    """Returns whether the host no longer waits for copies from pinned memory."""
    if any(_copies(side, _is_pinned) < FEWEST_CALLS for side in (base, candidate)):
        return False
    return _fewer(lambda call: call.direction == "HtoD" and call.kind == "copy")(base, candidate)


def _launches_to_zero(side: Side) -> float:
    return sum(row.launches for row in side.first.host.phases if row.phase == "zero_grad")


def _is_pinned(copy: CopyPlace) -> bool:
    return copy.source == "Pinned"


def _is_item(call: BlockingPlace) -> bool:
    return call.kind != "allocator" and not _READS_A_NUMBER.isdisjoint({call.op, call.outer_op})


def _waits(call: BlockingPlace) -> bool:
    return call.kind == "sync" or (call.kind != "allocator" and call.direction == "DtoH")


def _copies(side: Side, counts: Callable[[CopyPlace], bool]) -> float:
    """Returns the number of copies to the device per step."""
    places = [place for span in side.spans for place in span.compare.copies if place.direction == "HtoD"]
    return sum(place.count for place in places if counts(place)) / len(side.step_ns)


def _falls(count: Callable[[Side], float]) -> Made:
    return lambda base, candidate: falls(count(base), count(candidate))


def _fewer(counts: Callable[[BlockingPlace], bool]) -> Made:
    """Returns a test for whether there are fewer of these calls per step."""

    def per_step(side: Side) -> float:
        calls = (place.count for span in side.spans for place in span.compare.blocking if counts(place))
        return sum(calls) / len(side.step_ns)

    def made(base: Side, candidate: Side) -> bool:
        known = all(span.host.launches is not None for side in (base, candidate) for span in side.spans)
        return known and falls(per_step(base), per_step(candidate))

    return made


#: A share that grows by at least this much was turned on.
ON_FRACTION = 0.3
#: Kernels that take at least this share of the optimizer's time determine how it works.
MAIN_FRACTION = 0.5

Precision = Literal["half", "tf32", "other"]

_HALF, _TF32 = re.compile(r"\bb?f16\b|\bhalf\b"), re.compile(r"\btf32\b")


def in_half_on_cpu(base: Side, candidate: Side) -> bool:
    """Returns whether half precision was turned on, by the types of the ops' inputs, if nothing ran on a GPU."""
    if any(side.first.overview.has_device for side in (base, candidate)):
        return False
    return _turned_on(lambda side: side.first.compare.setup.half_share)(base, candidate)


def fewer_layout_conversions(base: Side, candidate: Side) -> bool:
    """Returns whether there are fewer layout conversions, with tensor cores still in use."""
    before, after = _split(base), _split(candidate)
    if before is None or after is None or not after.total.tensor_core_ns:
        return False
    return falls(before.waste.layout_conversions.count, after.waste.layout_conversions.count)


def fused_attention(base: Side, candidate: Side) -> bool:
    before, after = (
        _launches(side, lambda place: FUSED_ATTENTION_KERNEL.search(place.name) is not None)
        for side in (base, candidate)
    )
    return not before and after >= FEWEST_CALLS


def optimizer_takes_more_at_once(base: Side, candidate: Side) -> bool:
    """Returns whether the optimizer has one kernel for many tensors instead of one for each, or one for all its
    operations."""
    before, after = _optimizer_level(base), _optimizer_level(candidate)
    return before is not None and after is not None and after > before


def _turned_on(share: Callable[[Side], float | None]) -> Made:
    return lambda base, candidate: (share(candidate) or 0.0) - (share(base) or 0.0) >= ON_FRACTION


def _split(side: Side) -> DeviceSplit | None:
    devices = side.first.result("tensor_cores", TensorCoresResult).devices
    return next((each for each in devices if each.device == side.first.host.device), None)


def _grows(precision: Precision) -> Made:
    """Returns a test for whether more of the time of matrix products is on tensor cores in this precision."""

    def made(base: Side, candidate: Side) -> bool:
        before, after = _share_in(base, precision), _share_in(candidate, precision)
        return before is not None and after is not None and after - before >= ON_FRACTION

    return made


def _share_in(side: Side, precision: Precision) -> float | None:
    """Returns the share of the time of matrix products that is on tensor cores in this precision, according to the
    kernels' names, or None without products."""
    split = _split(side)
    products_ns = split.total.tensor_core_ns + split.total.matmul_like_ns if split else 0
    if split is None or not products_ns:
        return None
    rows = [row for row in split.kernels if row.bin == "tensor_core" and _precision(row.short or row.name) == precision]
    return sum(row.total_ns for row in rows) / products_ns


def _precision(name: str) -> Precision:
    """Returns the precision that the name of a kernel shows, or "other" where the name of a kernel on tensor cores
    shows no precision."""
    return "half" if _HALF.search(name) else "tf32" if _TF32.search(name) else "other"


def _launches(side: Side, counts: Callable[[LaunchPlace], bool]) -> float:
    """Returns the number of launches per step."""
    places = [place for span in side.spans for place in span.compare.kernels if counts(place)]
    return sum(place.count for place in places) / len(side.step_ns)


def _optimizer_level(side: Side) -> int | None:
    """Returns 0 where the optimizer has a kernel for each tensor, 1 where it has one for many tensors, 2 where it has
    one for all operations, and None without an optimizer."""
    places = [place for span in side.spans for place in span.compare.kernels if place.phase == "optimizer"]
    total_ns = sum(place.total_ns for place in places)
    if not total_ns:
        return None
    many = sum(place.total_ns for place in places if MANY_TENSORS in place.name)
    whole = sum(place.total_ns for place in places if FUSED_OPTIMIZER_KERNEL.search(place.name))
    return sum(share >= MAIN_FRACTION * total_ns for share in (many, whole))


#: If the base's batches arrive as often as one worker of the candidate makes them, within this relative tolerance, the
#: base has one worker.
SAME_PACE = 0.1
#: If the copied bytes fall to this share, they have another type, or are prepared on the GPU.
SMALLER_FRACTION = 0.6


def workers_of(side: Side) -> int | None:
    """Returns the workers of the main loader, 0 for a loader in the main process, or None where the traces do not show
    how many."""
    loading = side.first.data_loading
    if loading.recorded is not None:
        return loading.recorded.main_loader.workers
    if loading.multiprocess is False:
        return 0
    return loading.burst.workers if loading.burst else None


def more_workers(base: Side, candidate: Side) -> bool:
    before, after = workers_of(base), workers_of(candidate)
    if before is None and _has_one(base, candidate):
        before = 1
    if before == 0 and candidate.first.data_loading.multiprocess:
        return True
    return before is not None and after is not None and after > before


def _has_one(base: Side, candidate: Side) -> bool:
    """Returns whether the base has one worker: each of its steps waits for a batch as long as one worker of the
    candidate needs for it."""
    waits, turns = base.first.data_loading.burst, candidate.first.data_loading.burst
    if waits is None or turns is None or not turns.production_ns or not all(wait.long for wait in waits.waits):
        return False
    return abs(_batch_ns(waits) - turns.production_ns) <= SAME_PACE * turns.production_ns


def _batch_ns(burst: Burst) -> float:
    """Returns the time from one batch to the next."""
    return burst.consumer_ns + sum(wait.wait_ns for wait in burst.waits) / max(1, len(burst.waits))


def smaller_batches(base: Side, candidate: Side) -> bool:
    """Returns whether the same inputs are computed from fewer bytes that are copied to the device. They have a smaller
    type, or the conversion that enlarges them moved to the device."""
    before, after = _copied_bytes(base), _copied_bytes(candidate)
    inputs = [[each.shapes for each in side.first.compare.setup.first_inputs[:1]] for side in (base, candidate)]
    return bool(before and after and inputs[0] and inputs[0] == inputs[1] and after <= SMALLER_FRACTION * before)


def _copied_bytes(side: Side) -> float | None:
    """Returns the bytes copied to the device per step, or None if a copy does not record its size."""
    copied = [place.bytes for span in side.spans for place in span.compare.copies if place.direction == "HtoD"]
    measured = [nbytes for nbytes in copied if nbytes is not None]
    return sum(measured) / len(side.step_ns) if measured and len(measured) == len(copied) else None


KNOWN_CHANGES = (
    KnownChange("workers", more_workers, ("no_workers", "more_workers", "slow_worker", "input_bound", "loader_jitter")),
    KnownChange("smaller_batches", smaller_batches, ("no_workers", "input_bound")),
    KnownChange("pinned_memory", pinned, ("pageable_copies", "pageable_batch_copies")),
    KnownChange("non_blocking", non_blocking, ("sync_bubble",)),
    KnownChange("half_precision", _grows("half"), (*_PRODUCTS, "eager_attention")),
    KnownChange("half_on_cpu", in_half_on_cpu, ()),
    KnownChange("tf32", _grows("tf32"), _PRODUCTS),
    KnownChange("tensor_cores", _grows("other"), _PRODUCTS),
    KnownChange("channels_last", fewer_layout_conversions, ("layout_conversion",)),
    KnownChange("fused_attention", fused_attention, ("eager_attention",)),
    KnownChange("item_removed", _fewer(_is_item), _WAITS),
    KnownChange("syncs_removed", _fewer(lambda call: _waits(call) and not _is_item(call)), _WAITS),
    KnownChange("allocator", _fewer(lambda call: call.kind == "allocator"), ("allocator_steady",)),
    KnownChange(
        "optimizer", optimizer_takes_more_at_once, ("fused_optimizer", "optimizer_passes", "tiny_optimizer_kernels")
    ),
    KnownChange("zero_gradients", _falls(_launches_to_zero), ("zero_gradients",)),
    KnownChange(
        "compiled",
        _turned_on(lambda side: side.first.overview.job.compiled_share),
        ("fusible_chains", "launch_graphs", "long_stretches"),
    ),
    KnownChange(
        "graphs", _turned_on(lambda side: side.first.overview.job.graph_share), ("launch_graphs", "between_graphs")
    ),
    KnownChange("gradient_buckets", _falls(lambda side: side.first.host.bucket_copies), ("gradient_buckets",)),
)
