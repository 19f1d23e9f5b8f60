"""What of a wait is neither a burst nor steady: rare long waits, and the loader's own work in the training process.

wait   l  l  l  l  LLLLLLLLLL  l  l  l       jitter: a few long ones without a period
       ^                                     overhead: what each wait lasts though its batch lies ready: the message is
                                             unpickled, its memory mapped, the batch handed over
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.bursts import Burst
from tb_steptime.metrics.data_loading import is_multiprocess, loader_intervals, loader_rows
from tb_steptime.metrics.loaders import Batches, find_batches, most_waited, steady_wait_ns
from tb_steptime.metrics.recorded_loading import Recorded
from tb_steptime.metrics.spread import slow
from tb_steptime.phrases import Phrase, phrase
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import self_time_ns
from tb_steptime.trace.ops import short_frame, source_frames
from tb_steptime.trace.sources import sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind

#: What happens more often than in a quarter of the batches is the rule and not jitter.
RARE_FRACTION = 0.25
#: A long wait is at least so many usual ones, however alike the others are.
LONG_TIMES = 2
#: Lines that are shown.
MOST_LINES = 8


class Jitter(msgspec.Struct, frozen=True):
    """Rare long waits without a period. typical_ns: the median wait; long_ns: mean of the long ones; exposed_ns: what
    they cost beyond the typical wait, per step. steps: in which they are."""

    typical_ns: int
    long_ns: int
    long_count: int
    exposed_ns: int
    steps: list[str]


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


class SlowLine(msgspec.Struct, frozen=True):
    """A line of the user's code inside the loader: "cifar.py(120): __getitem__", self time per batch."""

    line: str
    ns_per_batch: int


def find_jitter(trace: Trace, burst: Burst | None) -> Jitter | None:
    """Of the loader that is waited for most; None where no wait stands out, or where long ones come back regularly."""
    batches = find_batches(trace)
    loader = most_waited(batches)
    if loader is None or (burst is not None and burst.period is not None):
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


def overhead_as_recorded(told: Overhead, recorded: Recorded, batches: Batches) -> Overhead:
    """A recorder knows which batches lay ready, and what became of their wait."""
    if recorded.overhead_ns is None:
        return msgspec.structs.replace(told, unpickle_ns=recorded.unpickle_ns, pin_ns=recorded.pin_ns)
    loader = most_waited(batches)
    exposed = batches.exposed_ns[batches.loader == loader]
    per_step = int(np.minimum(exposed, recorded.overhead_ns).sum()) // len(recorded.steps)
    return Overhead(recorded.overhead_ns, per_step, "recorder", recorded.unpickle_ns, recorded.pin_ns, None)


def slow_lines(trace: Trace) -> list[SlowLine]:
    """The lines of the user that a loader in the training process runs, most time first. Frames tell all their time;
    stacks of ops tell that of the ops."""
    rows = loader_rows(trace)
    if not len(rows):
        return []
    frames = source_frames(trace)
    return _of_frames(trace, frames, len(rows)) if len(frames) else _of_ops(trace, len(rows))


def _of_frames(trace: Trace, frames: Int64, batches: int) -> list[SlowLine]:
    events = trace.events
    inside = frames[_within_waits(trace, frames)]
    inside = inside[np.isin(events.thread[inside], np.unique(events.thread[loader_rows(trace)]))]
    self_ns = self_time_ns(events.start_ns[inside], events.ends(inside))
    total = np.bincount(events.name[inside], self_ns) if len(inside) else np.zeros(0)
    names = np.flatnonzero(total).tolist()
    return _longest([(short_frame(trace.strings[name]), int(total[name]) // batches) for name in names])


def _of_ops(trace: Trace, batches: int) -> list[SlowLine]:
    events = trace.events
    ops = events.rows(Kind.CPU_OP)
    ops = ops[np.isin(events.thread[ops], np.unique(events.thread[loader_rows(trace)]))]
    ops = ops[_within_waits(trace, ops)]
    self_ns = self_time_ns(events.start_ns[ops], events.ends(ops))
    words = sources(trace, ops)
    told = words.number >= 0
    total = np.bincount(words.number[told], self_ns[told]) if told.any() else np.zeros(0)
    return _longest([(words.texts[line], int(total[line]) // batches) for line in np.flatnonzero(total).tolist()])


def _within_waits(trace: Trace, rows: Int64) -> Int64:
    """Places in `rows` of what lies in a wait as a whole."""
    events, waits = trace.events, loader_intervals(trace)
    wait = np.searchsorted(waits.start, events.start_ns[rows], side="right") - 1
    return np.flatnonzero((wait >= 0) & (events.ends(rows) <= waits.end[np.maximum(wait, 0)]))


def _longest(lines: Sequence[tuple[str, int]]) -> list[SlowLine]:
    summed: dict[str, int] = {}
    for line, time in lines:
        summed[line] = summed.get(line, 0) + time
    return [SlowLine(*line) for line in sorted(summed.items(), key=lambda line: (-line[1], line[0]))[:MOST_LINES]]
