"""What was changed from the base to the candidate, as far as the traces show it, and the cards that advised it.

Nobody is asked: a change is what only its cause brings about (copies from pinned memory, one op for the optimizer,
products on tensor cores), never a time that fell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from tb_steptime.analyses.tensor_cores import TensorCoresResult
from tb_steptime.compare.sides import Side
from tb_steptime.metrics.phases.marks import PhaseId

ChangeId = Literal[
    "workers", "pinned_memory", "tensor_cores", "syncs_removed", "optimizer", "zero_gradients", "compiled", "graphs",
    "gradient_buckets",
]  # fmt: skip

#: A count that falls to this share of what it was, or below, was removed and did not just vary.
GONE_FRACTION = 0.5
#: A share that grows by this much was turned on.
ON_FRACTION = 0.3
#: Calls per step from which on their fall says something.
SOME = 0.5


@dataclass(frozen=True)
class KnownChange:
    """answers: ids of the cards that advise it."""

    id: ChangeId
    made: Callable[[Side, Side], bool]
    answers: Collection[str]


def changes_made(base: Side, candidate: Side) -> list[KnownChange]:
    """Those that the traces show."""
    return [change for change in KNOWN_CHANGES if change.made(base, candidate)]


def workers_of(side: Side) -> int | None:
    """Workers of the main loader, 0 for a loader in the main process; None where the traces do not say how many."""
    loading = side.first.data_loading
    if loading.recorded is not None:
        return loading.recorded.main_loader.workers
    if loading.multiprocess is False:
        return 0
    return loading.burst.workers if loading.burst else None


def _more_workers(base: Side, candidate: Side) -> bool:
    before, after = workers_of(base), workers_of(candidate)
    if before == 0 and candidate.first.data_loading.multiprocess:
        return True
    return before is not None and after is not None and after > before


def _pinned(base: Side, candidate: Side) -> bool:
    return _falls(_pageable_copies(base), _pageable_copies(candidate))


def _pageable_copies(side: Side) -> float:
    """To the device, per step."""
    return sum(row.count for row in side.first.host.copies if row.direction == "HtoD" and row.source == "Pageable")


def _on_tensor_cores(base: Side, candidate: Side) -> bool:
    before, after = _product_share(base), _product_share(candidate)
    return before is not None and after is not None and after - before >= ON_FRACTION


def _product_share(side: Side) -> float | None:
    """Of the time of products, on tensor cores; None without products."""
    devices = side.first.result("tensor_cores", TensorCoresResult).devices
    of = next((each.total for each in devices if each.device == side.first.host.device), None)
    products_ns = of.tensor_core_ns + of.matmul_like_ns if of else 0
    return of.tensor_core_ns / products_ns if of and products_ns else None


def _fewer_syncs(base: Side, candidate: Side) -> bool:
    return _falls(_syncs(base), _syncs(candidate))


def _syncs(side: Side) -> float:
    """Blocking calls other than copies and the allocator, per step."""
    return sum(row.count for row in side.first.host.blocking if row.kind == "sync")


def _fewer_launches(phase: PhaseId) -> Callable[[Side, Side], bool]:
    def made(base: Side, candidate: Side) -> bool:
        return _falls(*(sum(row.launches for row in side.first.host.phases if row.phase == phase)
                        for side in (base, candidate)))  # fmt: skip

    return made


def _more_of(share: Literal["compiled_share", "graph_share"]) -> Callable[[Side, Side], bool]:
    def made(base: Side, candidate: Side) -> bool:
        before, after = (getattr(side.first.overview.job, share) or 0.0 for side in (base, candidate))
        return bool(after - before >= ON_FRACTION)

    return made


def _fewer_bucket_copies(base: Side, candidate: Side) -> bool:
    return _falls(base.first.host.bucket_copies, candidate.first.host.bucket_copies)


def _falls(before: float, after: float) -> bool:
    return before >= SOME and after <= GONE_FRACTION * before


KNOWN_CHANGES = (
    KnownChange("workers", _more_workers, ("no_workers", "more_workers", "input_bound", "loader_jitter")),
    KnownChange("pinned_memory", _pinned, ("pageable_copies", "pageable_batch_copies")),
    KnownChange("tensor_cores", _on_tensor_cores, ("tensor_cores_unused", "alignment")),
    KnownChange("syncs_removed", _fewer_syncs, ("sync_bubble", "hidden_sync_backward", "hidden_sync_optimizer")),
    KnownChange("optimizer", _fewer_launches("optimizer"), ("fused_optimizer", "tiny_optimizer_kernels")),
    KnownChange("zero_gradients", _fewer_launches("zero_grad"), ("zero_gradients",)),
    KnownChange("compiled", _more_of("compiled_share"), ("fusible_chains", "launch_graphs", "long_stretches")),
    KnownChange("graphs", _more_of("graph_share"), ("launch_graphs", "between_graphs")),
    KnownChange("gradient_buckets", _fewer_bucket_copies, ("gradient_buckets",)),
)
