"""Detects whether the candidate loads its data differently: with more workers, or in a smaller type.

base        wait 16 ms in each step: a batch every 17.6 ms
candidate   wait 11, 0, 0, 11, 0, 0: three workers, each of which makes a batch in 17.9 ms   -> the base has one
"""

from __future__ import annotations

from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.data_loading.scaling.bursts import Burst

#: If the base's batches arrive as often as one worker of the candidate makes them, within this relative tolerance, the
#: base has one worker.
SAME_PACE = 0.1
#: If the copied bytes fall to this share, they have another type, or are prepared on the GPU.
SMALLER = 0.6


def workers_of(side: Side) -> int | None:
    """Returns the workers of the main loader, 0 for a loader in the main process; None where the traces do not show how
    many."""
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
    """Whether the base has one worker: each of its steps waits for a batch as long as one worker of the candidate needs
    for it."""
    waits, turns = base.first.data_loading.burst, candidate.first.data_loading.burst
    if waits is None or turns is None or not turns.production_ns or not all(wait.long for wait in waits.waits):
        return False
    return abs(_batch_ns(waits) - turns.production_ns) <= SAME_PACE * turns.production_ns


def _batch_ns(burst: Burst) -> float:
    """Returns the time from one batch to the next."""
    return burst.consumer_ns + sum(wait.wait_ns for wait in burst.waits) / max(1, len(burst.waits))


def smaller_batches(base: Side, candidate: Side) -> bool:
    """Whether the same inputs are computed from fewer bytes that are copied to the device: they have a smaller type, or
    the conversion that enlarges them moved to the device."""
    before, after = _copied_bytes(base), _copied_bytes(candidate)
    inputs = [[each.shapes for each in side.first.compare.setup.first_inputs[:1]] for side in (base, candidate)]
    return bool(before and after and inputs[0] and inputs[0] == inputs[1] and after <= SMALLER * before)


def _copied_bytes(side: Side) -> float | None:
    """Returns the bytes copied to the device per step; None if a copy does not record its size."""
    copied = [place.bytes for span in side.spans for place in span.compare.copies if place.direction == "HtoD"]
    known = [nbytes for nbytes in copied if nbytes is not None]
    return sum(known) / len(side.step_ns) if known and len(known) == len(copied) else None
