"""Detects whether the candidate copies and waits differently: from pinned memory, without `.item()` or other blocking
calls.

A count only falls if both sides recorded it: a trace without runtime calls shows none.
"""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.host.blocking_places import BlockingPlace
from tb_steptime.metrics.host.copy_places import CopyPlace

#: A count that falls to this share of its former value, or below, was removed rather than just varied.
GONE_FRACTION = 0.5
#: Minimum number of calls per step for their fall to say something.
SOME = 0.5

_READS_A_NUMBER = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"}


def falls(before: float, after: float) -> bool:
    return before >= SOME and after <= GONE_FRACTION * before


def pinned(base: Side, candidate: Side) -> bool:
    """Whether copies to the device come from pinned memory instead of pageable memory."""
    before, after = (_copies(side, lambda copy: copy.source == "Pageable") for side in (base, candidate))
    return falls(before, after) and _copies(candidate, _is_pinned) >= SOME


def non_blocking(base: Side, candidate: Side) -> bool:
    """Whether the host no longer waits for copies from pinned memory."""
    if any(_copies(side, _is_pinned) < SOME for side in (base, candidate)):
        return False
    return _fewer(base, candidate, lambda call: call.direction == "HtoD" and call.kind == "copy")


def fewer_items(base: Side, candidate: Side) -> bool:
    return _fewer(base, candidate, _is_item)


def fewer_syncs(base: Side, candidate: Side) -> bool:
    """Whether there are fewer waits for the device and copies back from it, other than by `.item()`."""
    return _fewer(base, candidate, lambda call: _waits(call) and not _is_item(call))


def fewer_allocations(base: Side, candidate: Side) -> bool:
    return _fewer(base, candidate, lambda call: call.kind == "allocator")


def fewer_bucket_copies(base: Side, candidate: Side) -> bool:
    return falls(base.first.host.bucket_copies, candidate.first.host.bucket_copies)


def fewer_to_zero(base: Side, candidate: Side) -> bool:
    """Whether fewer launches set gradients to zero."""
    return falls(*(sum(row.launches for row in side.first.host.phases if row.phase == "zero_grad")
                   for side in (base, candidate)))  # fmt: skip


def _is_pinned(copy: CopyPlace) -> bool:
    return copy.source == "Pinned"


def _is_item(call: BlockingPlace) -> bool:
    return call.kind != "allocator" and not _READS_A_NUMBER.isdisjoint({call.op, call.outer_op})


def _waits(call: BlockingPlace) -> bool:
    return call.kind == "sync" or (call.kind != "allocator" and call.direction == "DtoH")


def _copies(side: Side, wanted: Callable[[CopyPlace], bool]) -> float:
    """Returns the number of copies to the device per step."""
    places = [place for span in side.spans for place in span.compare.copies if place.direction == "HtoD"]
    return sum(place.count for place in places if wanted(place)) / len(side.step_ns)


def _fewer(base: Side, candidate: Side, wanted: Callable[[BlockingPlace], bool]) -> bool:
    if any(span.host.launches is None for side in (base, candidate) for span in side.spans):
        return False
    return falls(*(sum(place.count for span in side.spans for place in span.compare.blocking if wanted(place))
                   / len(side.step_ns) for side in (base, candidate)))  # fmt: skip
