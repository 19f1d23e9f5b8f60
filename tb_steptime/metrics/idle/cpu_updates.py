"""When optimizers update the weights on the CPU, while the GPU waits.

An optimizer whose state is offloaded cannot start before it has the gradients, and the next step cannot start before it
ends.

range                                             [ Optimizer.step, on the CPU  ]
thread   [launch]|-- copy gradients to the host --|                              [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk                                kkkkkk
                                                  iiiiiiiiiiiiiiiiiiiiiiiiiiiiiii     idle because of the CPU's work

An update without a range, as that of an optimizer outside torch, is recognised by the copies around it:

thread   backward [copy][ sync  ]                 [copy]
device   kkkkkkkkkggggggggggggggg                 wwwwww    gradients to the host, weights back: about as many bytes
update                           uuuuuuuuuuuuuuuuu

Other work of a CPU between two copies lacks one of these signs. Batches and the results of an evaluation are not copied
back within the step, reading a loss copies a few bytes, activations are offloaded before the backward pass ends, a
checkpoint is copied one way, and inference has no backward pass.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.activities import way
from tb_steptime.metrics.host.blocking_calls import blocking_groups
from tb_steptime.metrics.idle.host_activity import HostActivity, activity_in
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, find_launches, in_order_of_calls, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Int32, Int64, Kind, is_in

#: Minimum length of an optimizer's step on the CPU. A step on a GPU whose launches are not recorded is shorter.
LEAST_UPDATE_NS = 1_000_000
#: Minimum bytes of gradients and of weights. A step that reads a loss or its metrics copies less.
LEAST_BYTES = 1 << 20
#: Maximum ratio of the bytes of gradients and weights. Gradients may have twice or half the bytes of the weights, and
#: may be scattered among ranks that gather fewer weights.
MOST_TIMES = 4
#: Places where the CPU is after the backward pass.
_AFTER_BACKWARD = [place for place, site in enumerate(SITES) if site.phase in ("optimizer", "other")]
#: Names of an optimizer's functions.
_OF_OPTIMIZER = expression(r"(?i)adam|adagrad|optim")


@shared
def cpu_updates(trace: Trace) -> Intervals:
    """Returns when optimizers run on the CPU and launch no kernel."""
    events, marks = trace.events, optimizer_marks(trace)
    if not len(marks):
        return _unmarked(trace)
    call_starts = events.start_ns[calls_that_launch(trace, Kind.KERNEL)]
    inside = np.searchsorted(call_starts, events.ends(marks)) - np.searchsorted(call_starts, events.start_ns[marks])
    return Intervals.of_events(events, marks[(inside == 0) & (events.dur_ns[marks] >= LEAST_UPDATE_NS)])


def _unmarked(trace: Trace) -> Intervals:
    """Returns the times from a wait after the backward pass to the next launch, if that copies weights in the same
    step and the CPU does nothing recorded meanwhile. Only marks show where a step ends, and thereby that a copy is no
    batch."""
    groups, steps = blocking_groups(trace), find_steps(trace)
    if not len(groups) or trace.events.bytes is None or steps.by != "marks":
        return Intervals.empty()
    rows = np.flatnonzero(
        is_in(site_of(trace, groups.call), _AFTER_BACKWARD)
        & is_in(trace.events.thread[groups.call], [*training_threads(trace)])
        & (steps.holding_on_host(groups.end) >= 0)
    )
    start = groups.end[rows]
    end = _next_weights(trace, start)
    long = (end - start >= LEAST_UPDATE_NS) & (loader_intervals(trace).overlap_ns(start, end) == 0)
    rows = rows[long]
    start = start[long]
    end = end[long]
    threads = trace.events.thread[groups.call[rows]]
    waits = zip(threads.tolist(), start.tolist(), end.tolist(), strict=True)
    is_unmarked = np.array([_may_update(activity_in(trace, *wait)) for wait in waits], bool)
    return Intervals.union(start[is_unmarked], end[is_unmarked])


def _may_update(activity: HostActivity) -> bool:
    """Returns whether for most of the time nothing is recorded of the CPU, or only a function of an optimizer."""
    return activity.kind == "nothing" or (
        activity.kind == "frame" and _OF_OPTIMIZER.search(activity.name or "") is not None
    )


def _next_weights(trace: Trace, waited: Int64) -> Int64:
    """Returns for the end of each wait when the next launch begins; the end of the wait unless that launch copies to
    the device in the same step, and about as many bytes are copied to the host before it as to the device from it
    on."""
    events = trace.events
    launches = find_launches(trace)
    steps = find_steps(trace)
    rows = in_order_of_calls(trace, np.arange(len(launches.call)))
    call_starts = events.start_ns[launches.call[rows]]
    activity = launches.activity[rows]
    to_host, to_device = (_copied(trace, activity, direction) for direction in ("DtoH", "HtoD"))
    step = steps.holding_on_host(waited)
    low, following, high = (
        np.searchsorted(call_starts, bound) for bound in (steps.host_start_ns[step], waited, steps.host_end_ns[step])
    )
    out = to_host[following] - to_host[low]
    back = to_device[high] - to_device[following]
    alike = (np.minimum(out, back) >= LEAST_BYTES) & (np.maximum(out, back) <= MOST_TIMES * np.minimum(out, back))
    follows = np.minimum(following + 1, high)
    copies = to_device[follows] > to_device[following]
    return np.where(alike & copies, np.append(call_starts, 0)[following], waited)


def _copied(trace: Trace, activity: Int32, direction: str) -> Int64:
    """Returns the bytes that are copied in this direction before each of these activities, and finally by all of
    them."""
    assert trace.events.bytes is not None
    is_copy = are_named(trace, activity, lambda name: way(name).direction == direction)
    is_copy &= trace.events.kind[activity] == Kind.MEMCPY
    return np.append(0, np.cumsum(np.where(is_copy, np.maximum(trace.events.bytes[activity], 0), 0)))
