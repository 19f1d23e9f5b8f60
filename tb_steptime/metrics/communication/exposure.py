"""How much of each collective no computation hides.

kernels       kkkkkkkk......kkkk.......kkkk
collectives   ...aaaaaaaaaa........cccc....
                 ....bbbb...                    an instant of two collectives belongs to the one that ends first
exposed               bbaaa        cccc         the step's part "communication": of a 3, of b 2, of c 4

Work that waits for several collectives begins as soon as the first of them ends, so it does not wait for the others.

Exposed times are disjoint. They sum to the time of the steps in which collectives run and no computing kernel does,
without the time that verdicts leave out: work from before the recording, one-time work, and the end of the recording.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import Collectives, find_collectives
from tb_steptime.metrics.communication.holding_ops import computing_ops
from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import computing_kernels, has_device_activity
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, distinct

#: The model computes on a stream with at least this share of its device's computing time.
COMPUTE_STREAM_FRACTION = 0.10
#: Two collectives with at most this many computing kernels in between count as one exchange. Such kernels divide by the
#: number of ranks or copy out of a buffer; between layers there are more.
FEW_KERNELS = 2


class Exposure(msgspec.Struct, frozen=True, eq=False):
    """How much of the collectives no computation hides; one entry for each of `find_collectives`.

    exposed_ns          exposed time within the judged time of the steps
    alone               all ranges of exposed time, over all collectives
    on_compute_stream   whether it runs on a stream of the model, where no later kernel can start before it ends
    in_a_row            whether at most FEW_KERNELS kernels start between it and the next or the previous collective
    """

    exposed_ns: Int64
    alone: Intervals
    on_compute_stream: Bool
    in_a_row: Bool


@shared
def exposure(trace: Trace) -> Exposure:
    """Measures the exposure over all devices of the process. As in the step's parts, a kernel on any of them hides a
    collective."""
    collectives, computing = find_collectives(trace), computing_kernels(trace)
    alone = (Intervals.union(collectives.start, collectives.end) & judged_windows(trace)) - computing_times(trace)
    return Exposure(
        exposed_ns=_exposed_ns(collectives, alone),
        alone=alone,
        on_compute_stream=_are_on_compute_stream(trace, collectives, computing),
        in_a_row=_are_in_a_row(trace, collectives, computing),
    )


def exposure_within(trace: Trace, windows: Intervals) -> Exposure:
    """Returns the exposure within these windows alone."""
    whole = exposure(trace)
    alone = whole.alone & windows
    return msgspec.structs.replace(whole, exposed_ns=_exposed_ns(find_collectives(trace), alone), alone=alone)


def computing_times(trace: Trace) -> Intervals:
    """Returns when kernels other than collectives run, or ops without a device, within the judged time of the steps."""
    if not has_device_activity(trace):
        return computing_ops(trace) & judged_windows(trace)
    return Intervals.of_events(trace.events, computing_kernels(trace)) & judged_windows(trace)


def judged_windows(trace: Trace) -> Intervals:
    """Returns the steps without the time that verdicts and cards leave out, on the device with the most work."""
    steps, devices = find_steps(trace), devices_by_activity(trace)
    left_out = excluded_time(trace, devices[0] if devices else None).total
    return steps.intervals - left_out


def _exposed_ns(collectives: Collectives, alone: Intervals) -> Int64:
    """Returns for each collective the part of `alone` in which no other collective runs that ends earlier."""
    times = distinct(np.concatenate((collectives.start, collectives.end)))
    owner = first_to_end(collectives.start, collectives.end, times[:-1])
    covered = np.flatnonzero(owner >= 0)
    exposed = np.zeros(len(collectives), np.int64)
    np.add.at(exposed, owner[covered], alone.overlap_ns(times[covered], times[covered + 1]))
    return exposed


def first_to_end(start: Int64, end: Int64, instants: Int64) -> Int64:
    """Returns for each instant the range that contains it and ends first (of equals, the first one); -1 if none
    contains it.

    >>> first_to_end(np.array([0, 5, 30]), np.array([20, 10, 40]), np.array([0, 5, 10, 20, 30])).tolist()
    [0, 1, 0, -1, 2]
    """
    order = np.argsort(end, kind="stable")
    # earliest[k][i]: the earliest start of the 2^k ranges from the i-th on, by end
    earliest = [start[order]]
    while (width := 1 << (len(earliest) - 1)) < len(order):
        later = np.append(earliest[-1][width:], np.full(min(width, len(order)), NEVER))
        earliest.append(np.minimum(earliest[-1], later))
    at = np.searchsorted(end[order], instants, side="right")
    for level in range(len(earliest) - 1, -1, -1):
        passed = np.append(earliest[level], -NEVER)[at] > instants
        at = np.minimum(at + (passed << level), len(order))
    holds = at < len(order)
    return np.where(holds, order[np.minimum(at, len(order) - 1)], -1) if len(order) else np.full(len(instants), -1)


def _are_on_compute_stream(trace: Trace, collectives: Collectives, computing: Int64) -> Bool:
    """Returns whether each collective runs on a compute stream, which has at least COMPUTE_STREAM_FRACTION of its
    device's computing time."""
    events = trace.events
    streams = Groups.of(events.device[computing], events.stream[computing])
    devices = Groups.of(events.device[computing])
    busy_ns = devices.sum(events.dur_ns[computing])[devices.place[streams.first]]
    often = computing[streams.first[streams.sum(events.dur_ns[computing]) >= COMPUTE_STREAM_FRACTION * busy_ns]]
    compute = set(zip(events.device[often].tolist(), events.stream[often].tolist(), strict=True))
    streams_of_collectives = zip(
        events.device[collectives.event].tolist(), events.stream[collectives.event].tolist(), strict=True
    )
    return np.array([stream in compute for stream in streams_of_collectives], bool)


def _are_in_a_row(trace: Trace, collectives: Collectives, computing: Int64) -> Bool:
    start = trace.events.start_ns[computing]
    between = np.searchsorted(start, collectives.start[1:]) - np.searchsorted(start, collectives.end[:-1])
    close = between <= FEW_KERNELS
    return np.append(close, False) | np.append(False, close) if len(close) else np.zeros(len(collectives), bool)
