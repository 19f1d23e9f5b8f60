"""When an optimizer whose state is offloaded updates the weights on the CPU, while the GPU waits.

range                                             [ Optimizer.step, on the CPU  ]
thread   [launch]|-- copy gradients to the host --|                              [launch]
device           kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk                                kkkkkk
                                                  iiiiiiiiiiiiiiiiiiiiiiiiiiiiiii     idle because of the CPU's work

An update without a range, as of optimizers outside torch, is known by the copies around it:

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
from tb_steptime.metrics.idle.doing import doing_in
from tb_steptime.metrics.phases.assignment import SITES, optimizer_marks, site_of, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, Kind, is_in

#: Minimum length of an optimizer's step on the CPU. One on a GPU whose launches are not recorded is shorter.
LEAST_UPDATE_NS = 1_000_000
#: Minimum bytes of gradients and of weights. A step that reads a loss or its metrics copies less.
LEAST_BYTES = 1 << 20
#: Gradients may have twice or half the bytes of the weights, or be scattered among ranks that gather fewer of these.
MOST_TIMES = 4
#: Places where the CPU is after the backward pass.
_AFTER_BACKWARD = [place for place, site in enumerate(SITES) if site.phase in ("optimizer", "other")]
#: Functions of an optimizer.
_OF_OPTIMIZER = expression(r"(?i)adam|adagrad|optim")


@shared
def cpu_updates(trace: Trace) -> Intervals:
    """Returns when optimizers run on the CPU and launch no kernel."""
    events, marks = trace.events, optimizer_marks(trace)
    if not len(marks):
        return _unmarked(trace)
    launches = find_launches(trace)
    kernels = (launches.call >= 0) & (events.kind[launches.activity] == Kind.KERNEL)
    begun = np.sort(events.start_ns[launches.call[kernels]])
    inside = np.searchsorted(begun, events.ends(marks)) - np.searchsorted(begun, events.start_ns[marks])
    return Intervals.of_events(events, marks[(inside == 0) & (events.dur_ns[marks] >= LEAST_UPDATE_NS)])


def _unmarked(trace: Trace) -> Intervals:
    """Returns the times from a wait after the backward pass to the next launch, which copies weights in the same step,
    if the CPU does nothing recorded meanwhile. Only marks show where a step ends, and so that a copy is no batch."""
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
    rows, start, end = rows[long], start[long], end[long]
    threads = trace.events.thread[groups.call[rows]]
    places = zip(threads.tolist(), start.tolist(), end.tolist(), strict=True)
    doing = [doing_in(trace, *each) for each in places]
    # nothing is recorded of the CPU for most of the time, or a function of an optimizer
    found = np.array([
        each.kind == "nothing" or (each.kind == "frame" and _OF_OPTIMIZER.search(each.name or "") is not None)
        for each in doing
    ], bool)  # fmt: skip
    return Intervals.union(start[found], end[found])


def _next_weights(trace: Trace, waited: Int64) -> Int64:
    """Returns for the end of each wait when the next launch begins, if it is a copy to the device in the same step and
    about as many bytes are copied to the host before as to the device after; else the end of the wait."""
    events, launches, steps = trace.events, find_launches(trace), find_steps(trace)
    rows = np.flatnonzero(launches.call >= 0)
    rows = rows[np.argsort(events.start_ns[launches.call[rows]], kind="stable")]
    begun, activity = events.start_ns[launches.call[rows]], launches.activity[rows]
    to_host, to_device = (_copied(trace, activity, direction) for direction in ("DtoH", "HtoD"))
    step = steps.holding_on_host(waited)
    low, following, high = (
        np.searchsorted(begun, bound) for bound in (steps.host_start_ns[step], waited, steps.host_end_ns[step])
    )
    out, back = to_host[following] - to_host[low], to_device[high] - to_device[following]
    alike = (np.minimum(out, back) >= LEAST_BYTES) & (np.maximum(out, back) <= MOST_TIMES * np.minimum(out, back))
    follows = np.minimum(following + 1, high)
    copies = to_device[follows] > to_device[following]
    return np.where(alike & copies, np.append(begun, 0)[following], waited)


def _copied(trace: Trace, activity: Int32, direction: str) -> Int64:
    """Returns the bytes that are copied in this direction before each of these activities, and by all of them."""
    assert trace.events.bytes is not None
    mine = are_named(trace, activity, lambda name: way(name).direction == direction)
    mine &= trace.events.kind[activity] == Kind.MEMCPY
    return np.append(0, np.cumsum(np.where(mine, np.maximum(trace.events.bytes[activity], 0), 0)))
