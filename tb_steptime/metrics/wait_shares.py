"""One exposed wait, shared out to what can end it, so that the gains may be added.

exposed wait   |oo|JJJJ|llllllllllllllllllll|fffff|
                 |   |            |             an epoch begins: workers that stay, or longer epochs
                 |   |            late batches: no workers, more of them, or a cheaper dataset
                 |   rare long waits, beyond the usual one: jitter
                 each batch, though it lies ready: the loader's own work
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.epoch_starts import EpochStarts
from tb_steptime.metrics.loader_overhead import Jitter, Overhead
from tb_steptime.metrics.loaders import find_batches, most_waited
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class WaitShares(msgspec.Struct, frozen=True):
    """ns of the mean step; they sum to its exposed wait. first_ns: where epochs end and begin."""

    first_ns: int
    late_ns: int
    jitter_ns: int
    overhead_ns: int


def shared_out(
    exposed_ns: int, starts: EpochStarts | None, jitter: Jitter | None, overhead: Overhead | None
) -> WaitShares:
    """exposed_ns: of the mean step. What nothing else claims is for late batches; in one process all are, but first
    ones."""
    first = min(exposed_ns, starts.exposed_ns) if starts else 0
    own = min(exposed_ns - first, overhead.exposed_ns or 0) if overhead else 0
    rare = min(exposed_ns - first - own, jitter.exposed_ns) if jitter else 0
    return WaitShares(first, exposed_ns - first - own - rare, rare, own)


def late_elsewhere_ns(trace: Trace, late_ns: int) -> int:
    """Of the late batches' share: for other loaders than the one that is waited for most. Workers of this one end no
    wait of theirs."""
    batches = find_batches(trace)
    main = most_waited(batches)
    if main is None:
        return 0
    theirs = (batches.loader != main) & ~batches.first
    return min(late_ns, int(batches.exposed_ns[theirs].sum()) // len(find_steps(trace).steps))
