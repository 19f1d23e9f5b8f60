"""What of a wait is neither a burst nor steady: rare long waits, and the loader's own work in the training process.

wait   l  l  l  l  LLLLLLLLLL  l  l  l       jitter: a few long ones without a period
       ^                                     overhead: what each wait lasts though its batch lies ready: the message is
                                             unpickled, its memory mapped, the batch handed over
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loaders import Batches, find_batches, most_waited, steady_wait_ns
from tb_steptime.metrics.data_loading.recorded.batches import find_ways, way_of
from tb_steptime.metrics.data_loading.recorded.loading import Recorded
from tb_steptime.metrics.data_loading.scaling.bursts import Burst
from tb_steptime.metrics.data_loading.waits import is_multiprocess
from tb_steptime.metrics.outliers import slow
from tb_steptime.text import Phrase, phrase
from tb_steptime.trace.loader_records import UNKNOWN_TIME
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: What happens more often than in a quarter of the batches is the rule and not jitter.
RARE_FRACTION = 0.25
#: A long wait is at least so many usual ones, however alike the others are.
LONG_TIMES = 2


class Jitter(msgspec.Struct, frozen=True):
    """Rare long waits without a period. typical_ns: the median wait; long_ns: mean of the long ones; exposed_ns: what
    they cost beyond the typical wait, per step. steps: in which they are. prefetch: so many batches in advance bridge
    them, None where that is not known to help; bridged_ns: of exposed_ns, what they save."""

    typical_ns: int
    long_ns: int
    long_count: int
    exposed_ns: int
    steps: list[str]
    prefetch: int | None = None
    bridged_ns: int = 0


class Overhead(msgspec.Struct, frozen=True):
    """The loader's work in the training process per batch, where worker processes make it.

    ns, exposed_ns: None where it cannot be told from the wait for a worker; then why says so. told_by: "recorder",
    "stacks", "ready" (waits of batches that lay ready in a burst) or "steady" (all waits alike, whatever the step).
    unpickle_ns, pin_ns: parts of it, where the recorder tells them; pin_ns is spent on a thread of its own.
    """

    ns: int | None
    exposed_ns: int | None
    told_by: str | None
    unpickle_ns: int | None
    pin_ns: int | None
    why: Phrase | None


def find_jitter(trace: Trace, burst: Burst | None) -> Jitter | None:
    """Of the loader that is waited for most; None where no wait stands out, or where something else explains long ones:
    they come back regularly, too few workers have no store to bridge them, or the training process makes the
    batches itself. Nor of late batches in a row, which may be a step's first, or workers that are too slow."""
    batches = find_batches(trace)
    loader = most_waited(batches)
    if loader is None or (burst is not None and (burst.period is not None or _too_few(burst))):
        return None
    if batches.loaders[loader].in_a_row > 1 and burst is not None and burst.at_most_ns is None:
        return None
    if is_multiprocess((batches.loaders[loader].iterator,)) is False:
        return None
    mine = batches.of(loader)
    wait, steps = batches.wait_ns[mine], find_steps(trace).steps
    typical = round(float(np.median(wait))) if len(mine) else 0
    long = np.flatnonzero(slow(wait) & (wait >= LONG_TIMES * typical) & (batches.exposed_ns[mine] > 0))
    if not len(long) or len(long) > RARE_FRACTION * len(mine):
        return None
    beyond = np.minimum(np.maximum(wait[long] - typical, 0), batches.exposed_ns[mine[long]])
    return Jitter(
        typical_ns=typical,
        long_ns=round(float(wait[long].mean())),
        long_count=len(long),
        exposed_ns=int(beyond.sum()) // len(steps),
        steps=list(dict.fromkeys(steps[step].name for step in batches.step[mine[long]].tolist())),
    )


def _too_few(burst: Burst) -> bool:
    """Whether more workers are known to be needed, be it only to make up for batches that take longer than usual."""
    if burst.needed_workers is None or burst.workers is None:
        return False
    return burst.needed_workers > burst.workers


def find_overhead(trace: Trace, burst: Burst | None) -> Overhead | None:
    """Of the loader that is waited for most, as far as a trace tells; None where the training process makes batches."""
    batches = find_batches(trace)
    loader = most_waited(batches)
    if loader is None or is_multiprocess((batches.loaders[loader].iterator,)) is False:
        return None
    mine = batches.of(loader)
    told_by, per_batch = "ready", burst.short_wait_ns if burst is not None and burst.workers != 1 else None
    if per_batch is None:
        told_by, per_batch = "steady", steady_wait_ns(trace, batches, loader)
    if per_batch is None:
        why = phrase("The loader's own work cannot be told from this trace, because it is not apart from its waits.")
        return Overhead(None, None, None, None, None, why)
    exposed = int(np.minimum(batches.exposed_ns[mine], per_batch).sum()) // len(find_steps(trace).steps)
    return Overhead(per_batch, exposed, told_by, None, None, None)


def overhead_as_recorded(told: Overhead, recorded: Recorded, trace: Trace) -> Overhead:
    """A recorder knows which batches lay ready, and what became of their wait."""
    batches = find_batches(trace)
    loader = most_waited(batches)
    if recorded.overhead_ns is None or loader is None:
        return msgspec.structs.replace(told, unpickle_ns=recorded.unpickle_ns, pin_ns=recorded.pin_ns)
    mine = batches.of(loader)
    receiving = np.maximum(_unpickling_ns(trace, batches, mine), recorded.overhead_ns)
    per_step = int(np.minimum(batches.exposed_ns[mine], receiving).sum()) // len(recorded.steps)
    return Overhead(recorded.overhead_ns, per_step, "recorder", recorded.unpickle_ns, recorded.pin_ns, None)


def _unpickling_ns(trace: Trace, batches: Batches, mine: Int64) -> Int64:
    """Of each of these waits for a batch that lay ready: how long messages were unpickled in it, also those of later
    batches that came before its own. 0 where its batch was late, as then all others are unpickled while it is made."""
    ways, records = find_ways(trace), trace.loader_records
    if ways is None or records is None or not len(mine):
        return np.zeros(len(mine), np.int64)
    taken, waits = records.received, batches.row[mine]
    way = way_of(trace, ways, waits)
    asked, there = taken.asked_ns[ways.received[way]], ways.there_ns[way]
    lay = (way >= 0) & (there != UNKNOWN_TIME) & (there <= asked)
    theirs = taken.loader == batches.loaders[int(batches.loader[mine[0]])].recorded
    looked = np.flatnonzero(theirs & (taken.arrived_ns != UNKNOWN_TIME))
    looked = looked[np.argsort(taken.arrived_ns[looked], kind="stable")]
    arrived = taken.arrived_ns[looked]
    sums = np.append(0, np.cumsum(taken.unpickled_ns[looked] - arrived))
    low, high = np.searchsorted(arrived, (trace.events.start_ns[waits], trace.events.ends(waits)))
    return np.where(lay, sums[high] - sums[low], 0)
