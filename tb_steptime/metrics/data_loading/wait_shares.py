"""One exposed wait, shared out to what can end it, so that the gains may be added.

exposed wait   |oo|JJJJ|eeee|lllllllllllllll|fffff|
                 |   |    |       |             an epoch begins: workers that stay, or longer epochs
                 |   |    |       late batches: no workers, more of them, or a cheaper dataset
                 |   |    batches of other loaders than the one that the figures are of
                 |   rare long waits, beyond the usual one: jitter
                 each batch, though it is prefetched: the loader's own work
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.epoch_starts import EpochStarts
from tb_steptime.metrics.data_loading.loaders import find_batches, most_waited
from tb_steptime.metrics.data_loading.overhead import Jitter, Overhead
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class WaitShares(msgspec.Struct, frozen=True):
    """ns of the mean step; they sum to its exposed wait. first_ns: where epochs end and begin; others_ns: for other
    loaders than the one that is waited for most, see `OtherLoaders`."""

    first_ns: int
    late_ns: int
    jitter_ns: int
    overhead_ns: int
    others_ns: int


class OtherLoaders(msgspec.Struct, frozen=True):
    """What the span waits for other loaders than the one that is waited for most, without first batches of epochs.

    exposed_ns: of the whole span, for all of them; loader: the row of the one that costs most; steps: that wait for it.
    """

    exposed_ns: int
    loader: int
    steps: list[str]


def shared_out(
    exposed_ns: int, starts: EpochStarts | None, jitter: Jitter | None, overhead: Overhead | None, others_ns: int
) -> WaitShares:
    """exposed_ns, others_ns: of the mean step. What nothing else claims is for late batches."""
    first = min(exposed_ns, starts.exposed_ns) if starts else 0
    others = min(exposed_ns - first, others_ns)
    main = exposed_ns - first - others
    own = min(main, overhead.exposed_ns or 0) if overhead else 0
    rare = min(main - own, jitter.exposed_ns) if jitter else 0
    return WaitShares(first, main - own - rare, rare, own, others)


def find_other_loaders(trace: Trace) -> OtherLoaders | None:
    """None where the loader that is waited for most is the only one that costs anything."""
    batches, steps = find_batches(trace), find_steps(trace).steps
    main = most_waited(batches)
    theirs = (batches.loader != main) & ~batches.first & (batches.exposed_ns > 0)
    if main is None or not theirs.any():
        return None
    cost = np.bincount(batches.loader[theirs], batches.exposed_ns[theirs], len(batches.loaders))
    most = int(cost.argmax())
    waits = np.unique(batches.step[theirs & (batches.loader == most)])
    return OtherLoaders(int(cost.sum()), most, [steps[step].name for step in waits.tolist()])
