"""Launches that come late for a reason that calls show.

Calls that wait for the device: few launches between two such calls, as a graph can hold no more than these, and the
first ones after such a call, until the host is ahead of the device.

thread   [sync]lll[sync]ll[sync]llllllllllllllllllllllll[sync]
                few      few    lll these find an idle device, the next one finds work: a graph could launch all at once

Gradients that DistributedDataParallel copies out of its buckets, one by one, because they are not stored there:

thread   [copy_bucket_to_grad]      [copy_bucket_to_grad]
           [copy_] [launch]           [copy_] [launch]
device                  k                        k
late      iiiiiiiiiiiiii           iiiiiiiiiiiiii
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.gaps import find_gaps, launch_rows
from tb_steptime.metrics.idle.long_gaps import late_gaps
from tb_steptime.metrics.idle.reasons import HOST_BOUND, REASONS
from tb_steptime.metrics.phases.assignment import SITE, SITES, activity_sites
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct, is_in

#: A graph of fewer launches saves less than a tenth of a millisecond, as each launch takes 5 to 10 us.
FEW_LAUNCHES = 10


def split_late_ns(trace: Trace, device: int, steps: Steps | None = None) -> list[int]:
    """Returns for each place in `SITES` how long the device idles because of few launches between two calls, ns per
    step; without long gaps and bubbles of the calls themselves. steps: None for all."""
    return _late_ns(trace, device, _is_split(trace), steps)


def refill_late_ns(trace: Trace, device: int, steps: Steps | None = None) -> list[int]:
    """Returns for each place in `SITES` how long the device idles because the first launches after a call are late, ns
    per step; without long gaps, bubbles of the calls themselves, and what `split_late_ns` counts. steps: None for
    all."""
    return _late_ns(trace, device, _is_refill(trace, device) & ~_is_split(trace), steps)


def _late_ns(trace: Trace, device: int, chosen: Bool, steps: Steps | None) -> list[int]:
    """chosen: for each row of `find_launches`. A gap belongs to the step in which it ends."""
    gaps, (late_ns, long) = find_gaps(trace, device), late_gaps(trace, device)
    counts = (gaps.launch >= 0) & ~long
    if steps is not None:
        counts &= steps.holding(gaps.end) >= 0
    counts[counts] = chosen[gaps.launch[counts]]
    site, number = activity_sites(trace)[gaps.launch[counts]].astype(np.int64), len((steps or find_steps(trace)).steps)
    return [ns // number for ns in exact_sums(site, late_ns[counts], len(SITES)).tolist()]


def _is_split(trace: Trace) -> Bool:
    """Returns for each row of `find_launches`, whether few activities are launched between its thread's waiting calls
    before and after it. A graph's launch counts as many."""
    events, call, calls = trace.events, find_launches(trace).call, blocking_calls(trace)
    waits = calls.row[is_in(calls.kind, WAITING)]
    is_split = np.zeros(len(call), bool)
    for thread in distinct(events.thread[waits]).tolist():
        on_thread = np.flatnonzero((call >= 0) & (events.thread[call] == thread))
        wait_starts = events.start_ns[waits[events.thread[waits] == thread]]
        between = np.searchsorted(wait_starts, events.start_ns[call[on_thread]])
        inner = (between > 0) & (between < len(wait_starts))
        is_split[on_thread] = inner & (np.bincount(between, minlength=1)[between] < FEW_LAUNCHES)
    return is_split


def _is_refill(trace: Trace, device: int) -> Bool:
    """Returns for each row of `find_launches`, whether it is launched after a waiting call of its thread, and before
    the first launch that returns while the device still works. Without such a launch the host is late for another
    reason, too."""
    events, launches, calls = trace.events, find_launches(trace), blocking_calls(trace)
    waits, is_refill = calls.row[is_in(calls.kind, WAITING)], np.zeros(len(launches.call), bool)
    rows = launch_rows(trace, device).astype(np.int64)
    rows = rows[launches.call[rows] >= 0]
    rows = rows[np.argsort(events.start_ns[launches.call[rows]], kind="stable")]
    call = launches.call[rows].astype(np.int64)
    call_starts, reach = (
        events.start_ns[call],
        np.maximum.accumulate(events.ends(launches.activity[rows].astype(np.int64))),
    )
    before = np.searchsorted(call_starts, call_starts) - 1  # the last activity of an earlier call
    ahead = (before >= 0) & (reach[before] > events.ends(call))
    for thread in distinct(events.thread[waits]).tolist():
        on_thread = np.flatnonzero(events.thread[call] == thread)
        after = np.searchsorted(events.start_ns[waits[events.thread[waits] == thread]], call_starts[on_thread])
        first = np.full(int(after.max(initial=0)) + 1, len(rows))
        np.minimum.at(first, after[ahead[on_thread]], on_thread[ahead[on_thread]])
        is_refill[rows[on_thread]] = (after > 0) & (on_thread < first[after]) & (first[after] < len(rows))
    return is_refill


#: Name of the op that copies a gradient's values back from the bucket. The copy into the bucket is needed anyway, since
#: it also divides.
BUCKET_COPY = "reducer::copy_bucket_to_grad"


class BucketCopies(msgspec.Struct, frozen=True):
    """The copies and their cost. per_step: number of copies per step; late_ns: idle time of the device per step that
    ends with such a copy because the host launches it late."""

    per_step: float
    late_ns: int


def bucket_copies(trace: Trace, device: int, chosen: Steps | None = None) -> BucketCopies:
    """The copies in some steps; chosen: None for all."""
    rows, steps = trace.events.rows(Kind.CPU_OP), chosen or find_steps(trace)
    names = [number for number, name in enumerate(trace.strings.strings) if name.endswith(BUCKET_COPY)]
    if not names:
        return BucketCopies(0.0, 0)
    rows = rows[is_in(trace.events.name[rows], names)]
    start = trace.events.start_ns[rows]
    inside = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return BucketCopies(float(inside.mean()), _late_copies_ns(trace, device, rows, steps) // len(steps.steps))


def _late_copies_ns(trace: Trace, device: int, ops: Int64, steps: Steps) -> int:
    """Returns the idle time of the steps that ends with launches inside these ops, and for which the host is late."""
    hooks = np.flatnonzero(activity_sites(trace) == SITE["backward.hooks"])
    copies = np.zeros(len(find_launches(trace).call), bool)
    copies[hooks] = innermost(trace, ops, find_launches(trace).call[hooks].astype(np.int64)) >= 0
    reasons = [REASONS.index(reason) for reason in HOST_BOUND]
    late_ns = 0
    for segments in idle_segments(trace, device):
        is_late_copy = is_in(segments.reason, reasons) & (segments.launch >= 0) & copies[segments.launch]
        is_late_copy &= steps.holding(segments.start) >= 0
        late_ns += int((segments.end - segments.start)[is_late_copy].sum())
    return late_ns
