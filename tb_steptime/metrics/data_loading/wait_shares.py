"""One exposed wait, shared out to what can end it, so that the gains may be added.

exposed wait   |oo|JJJJ|eeee|lllllllllllllll|fffff|
                 |   |    |       |             an epoch begins: workers that stay, or longer epochs
                 |   |    |       late batches: no workers, more of them, or a cheaper dataset
                 |   |    batches of other loaders than the one that all the rest is told of
                 |   rare long waits, beyond the usual one: jitter
                 each batch, though it lies ready: the loader's own work
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
    """ns of the mean step; they sum to its exposed wait. first_ns: where epochs end and begin; elsewhere_ns: for other
    loaders than the one that is judged, see `Elsewhere`."""

    first_ns: int
    late_ns: int
    jitter_ns: int
    overhead_ns: int
    elsewhere_ns: int


class Elsewhere(msgspec.Struct, frozen=True):
    """What the span waits for other loaders than the one that is judged, without first batches of epochs.

    exposed_ns: of the whole span, for all of them. loader: the row of the one of these that costs most, and of it:
    most_exposed_ns, of the whole span; steps: that wait for it.
    """

    exposed_ns: int
    loader: int
    most_exposed_ns: int
    steps: list[str]


def shared_out(
    exposed_ns: int,
    starts: EpochStarts | None,
    jitter: Jitter | None,
    overhead: Overhead | None,
    elsewhere_ns: int = 0,
) -> WaitShares:
    """exposed_ns, elsewhere_ns: of the mean step. What other loaders leave is of the judged one, and what nothing else
    claims of it is for late batches; in one process all is, but first ones."""
    first = min(exposed_ns, starts.exposed_ns) if starts else 0
    others = min(exposed_ns - first, elsewhere_ns)
    judged = exposed_ns - first - others
    own = min(judged, overhead.exposed_ns or 0) if overhead else 0
    rare = min(judged - own, jitter.exposed_ns) if jitter else 0
    return WaitShares(first, judged - own - rare, rare, own, others)


def find_elsewhere(trace: Trace) -> Elsewhere | None:
    """None where the judged loader is the only one that costs anything. Workers of that one end no wait of these."""
    batches, steps = find_batches(trace), find_steps(trace).steps
    main = most_waited(batches)
    theirs = (batches.loader != main) & ~batches.first
    cost = np.bincount(batches.loader[theirs], batches.exposed_ns[theirs], len(batches.loaders))
    if main is None or not cost.any():
        return None
    most = int(cost.argmax())
    waits = np.unique(batches.step[theirs & (batches.loader == most) & (batches.exposed_ns > 0)])
    return Elsewhere(int(cost.sum()), most, int(cost[most]), [steps[step].name for step in waits.tolist()])
