"""How much of each collective no computation hides.

kernels       kkkkkkkk......kkkk.......kkkk
collectives   ...aaaaaaaaaa........bbbb....
                 ....bbbb...                    an instant of two collectives belongs to the one that began first
exposed               aaaaa        bbbb         the step's part "communication": of a 5, of the first b 0, of the last 4

Exposed times are disjoint, and sum to the time of the steps in which collectives run and no computing kernel does,
less what verdicts leave out: work from before the recording, what comes once, the end.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import Collectives, find_collectives
from tb_steptime.metrics.gpu.collectives import collective_names
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.set_aside.ranges import set_aside
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import union_of, union_where
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: A stream with this share of the computing time of its device is one that the model computes on.
COMPUTE_STREAM_FRACTION = 0.10
#: So many computing kernels between two collectives still leave them one exchange: a division by the number of ranks,
#: a copy out of a buffer. Between layers there are more.
FEW_KERNELS = 2


class Exposure(msgspec.Struct, frozen=True, eq=False):
    """One entry for each of `find_collectives`.

    exposed_ns: within what is judged of the steps; alone: all ranges of that, over all collectives. on_compute_stream:
    it runs on a stream of the model's own kernels, and so nothing that follows there can start before it ends.
    in_a_row: FEW_KERNELS at most start between its end and the next one's start, or between it and the one before.
    """

    exposed_ns: Int64
    alone: Intervals
    on_compute_stream: Bool
    in_a_row: Bool


@shared
def exposure(trace: Trace) -> Exposure:
    """Of the whole process: a kernel on any of its devices hides a collective, as in the step's parts."""
    found, computing = find_collectives(trace), _computing(trace)
    alone = (Intervals.union(found.start, found.end) & judged_windows(trace)) - computing_times(trace)
    return Exposure(
        exposed_ns=alone.overlap_ns(*own_ranges(found)),
        alone=alone,
        on_compute_stream=_on_compute_stream(trace, found, computing),
        in_a_row=_in_a_row(trace, found, computing),
    )


def computing_times(trace: Trace) -> Intervals:
    """When kernels, or without a device ops, that are no collective's run, in what is judged of the steps."""
    computing = union_of(trace, _computing(trace)) if has_device_activity(trace) else _computing_ops(trace)
    return computing & judged_windows(trace)


def judged_windows(trace: Trace) -> Intervals:
    """The steps, less what verdicts and cards leave out of them on the device that works longest."""
    steps, devices = find_steps(trace), devices_by_activity(trace)
    left_out = set_aside(trace, devices[0] if devices else None).total
    return Intervals.union(steps.start_ns, steps.end_ns) - left_out


def own_ranges(found: Collectives) -> tuple[Int64, Int64]:
    """Start and end of what of each collective none that began before it covers: disjoint, some of them empty."""
    reach = np.maximum.accumulate(found.end) if len(found) else found.end
    before = np.append(np.iinfo(np.int64).min, reach)[: len(found)]
    start = np.maximum(found.start, before)
    return start, np.maximum(found.end, start)


def _computing(trace: Trace) -> Int64:
    """Rows of the kernels that are no collective's."""
    kernels = trace.events.rows(Kind.KERNEL)
    return kernels[~collective_names(trace)[trace.events.name[kernels]]]


def _computing_ops(trace: Trace) -> Intervals:
    """When the host of a job without a device computes: in an op that is no collective's."""
    ops = (trace.events.kind == Kind.CPU_OP) & ~collective_names(trace)[trace.events.name]
    return union_where(trace, ops)


def _on_compute_stream(trace: Trace, found: Collectives, computing: Int64) -> Bool:
    """A stream counts from its share of the computing time of its device on."""
    events = trace.events
    streams = Groups.of(events.device[computing], events.stream[computing])
    devices, mine = Groups.of(events.device[computing]), computing[streams.first]
    busy_ns = devices.sum(events.dur_ns[computing])[devices.place[streams.first]]
    often = streams.sum(events.dur_ns[computing]) >= COMPUTE_STREAM_FRACTION * busy_ns
    compute = set(zip(events.device[mine[often]].tolist(), events.stream[mine[often]].tolist(), strict=True))
    own = zip(events.device[found.event].tolist(), events.stream[found.event].tolist(), strict=True)
    return np.array([stream in compute for stream in own], bool)


def _in_a_row(trace: Trace, found: Collectives, computing: Int64) -> Bool:
    start = trace.events.start_ns[computing]
    between = np.searchsorted(start, found.start[1:]) - np.searchsorted(start, found.end[:-1])
    close = between <= FEW_KERNELS
    return np.append(close, False) | np.append(False, close) if len(found) > 1 else np.zeros(len(found), bool)
