"""One exposed wait, shared out to what can end it, so that the gains may be added.

exposed wait   |oo|JJJJ|llllllllllllllllllll|
                 |   |            late batches: no workers, more of them, or a cheaper dataset
                 |   rare long waits, beyond the usual one: jitter
                 each batch, though it lies ready: the loader's own work
"""

from __future__ import annotations

from dataclasses import dataclass

from tb_steptime.metrics.loader_overhead import Jitter, Overhead


@dataclass(frozen=True)
class WaitShares:
    """ns of the mean step; they sum to its exposed wait."""

    late_ns: int
    jitter_ns: int
    overhead_ns: int


def shared_out(exposed_ns: int, in_one_process: bool, jitter: Jitter | None, overhead: Overhead | None) -> WaitShares:
    """exposed_ns: of the mean step. In one process there is nothing to tell apart: workers end all of it."""
    if in_one_process:
        return WaitShares(exposed_ns, 0, 0)
    own = min(exposed_ns, overhead.exposed_ns or 0) if overhead else 0
    rare = min(exposed_ns - own, jitter.exposed_ns) if jitter else 0
    return WaitShares(exposed_ns - own - rare, rare, own)
