"""What was changed from the base to the candidate, as far as the traces show it, and the cards that advised it.

The user is not asked: a change is recognised by effects that only it has (copies from pinned memory, one op for the
optimizer, products on tensor cores), never by a time that fell. One module beside this one detects each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from tb_steptime.comparison import changed_calls, changed_kernels, changed_loading
from tb_steptime.comparison.sides import Side

ChangeId = Literal[
    "workers", "smaller_batches", "pinned_memory", "non_blocking", "half_precision", "half_on_cpu", "tf32",
    "tensor_cores", "channels_last", "fused_attention", "item_removed", "syncs_removed", "allocator", "optimizer",
    "zero_gradients", "compiled", "graphs", "gradient_buckets",
]  # fmt: skip


@dataclass(frozen=True)
class KnownChange:
    """answers: ids of the cards that advise it."""

    id: ChangeId
    made: Callable[[Side, Side], bool]
    answers: Collection[str]


def changes_made(base: Side, candidate: Side) -> list[KnownChange]:
    """Returns the changes that the traces show."""
    return [change for change in KNOWN_CHANGES if change.made(base, candidate)]


_WAITS = ("sync_bubble", "synchronous_exchange", "hidden_sync_backward", "hidden_sync_optimizer")
_PRODUCTS = ("tensor_cores_unused", "alignment")

KNOWN_CHANGES = (
    KnownChange(
        "workers",
        changed_loading.more_workers,
        ("no_workers", "more_workers", "slow_worker", "input_bound", "loader_jitter"),
    ),
    KnownChange("smaller_batches", changed_loading.smaller_batches, ("no_workers", "input_bound")),
    KnownChange("pinned_memory", changed_calls.pinned, ("pageable_copies", "pageable_batch_copies")),
    KnownChange("non_blocking", changed_calls.non_blocking, ("sync_bubble",)),
    KnownChange("half_precision", changed_kernels.in_half_precision, (*_PRODUCTS, "eager_attention")),
    KnownChange("half_on_cpu", changed_kernels.in_half_on_cpu, ()),
    KnownChange("tf32", changed_kernels.in_tf32, _PRODUCTS),
    KnownChange("tensor_cores", changed_kernels.otherwise_on_tensor_cores, _PRODUCTS),
    KnownChange("channels_last", changed_kernels.fewer_layout_conversions, ("layout_conversion",)),
    KnownChange("fused_attention", changed_kernels.fused_attention, ("eager_attention",)),
    KnownChange("item_removed", changed_calls.fewer_items, _WAITS),
    KnownChange("syncs_removed", changed_calls.fewer_syncs, _WAITS),
    KnownChange("allocator", changed_calls.fewer_allocations, ("allocator_steady",)),
    KnownChange(
        "optimizer",
        changed_kernels.optimizer_takes_more_at_once,
        ("fused_optimizer", "optimizer_passes", "tiny_optimizer_kernels"),
    ),
    KnownChange("zero_gradients", changed_calls.fewer_to_zero, ("zero_gradients",)),
    KnownChange("compiled", changed_kernels.more_compiled, ("fusible_chains", "launch_graphs", "long_stretches")),
    KnownChange("graphs", changed_kernels.more_in_graphs, ("launch_graphs", "between_graphs")),
    KnownChange("gradient_buckets", changed_calls.fewer_bucket_copies, ("gradient_buckets",)),
)
