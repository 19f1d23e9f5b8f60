"""The activity of host threads, as far as it affects devices: calls that launch or wait, waits for a batch, and the
host's own time before each of them.

thread   --[launch]-----[batch]--[launch]----[synchronize]--      own time and an item, in turns
"""

from __future__ import annotations

import enum

import numpy as np

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.host.handovers import handovers
from tb_steptime.metrics.launches.queue import stalled_launches
from tb_steptime.metrics.phases.threads import autograd_threads, training_threads
from tb_steptime.metrics.steady.edges import first_lost_ns
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of, joined
from tb_steptime.trace.host_ranges import loader_rows
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Columns, Int64, UInt8, distinct_in, is_in

#: A wait for a batch that is at least this long, and takes at least this share of the time between two waits, is a wait
#: for its production; shorter ones only take it off the queue.
READY_NS, LATE_FRACTION = 1_000_000, 0.05
#: Number of workers that may deliver their batches at once, before making the next ones.
BURST = 8
_NEVER = 1 << 62
#: What follows on another thread begins so much later, so that it is behind its cause in the order of starts.
AFTER_NS = 1


class Role(enum.IntEnum):
    """The kind of a node."""

    STRETCH = 0  # the host's own time between two items
    CALL = 1  # a call that launches
    WAIT = 2  # a call that waits for a device
    LOADER = 3  # a wait for a batch, or its making where the thread does that itself
    ACTIVITY = 4  # of a device
    ALLOCATE = 5  # a call that allocates or frees memory


class Host(Columns, frozen=True, eq=False):
    """Items of host threads by lane and time. Before each item there is a stretch of the host's own time. ns.

    row        int64, row of the event table
    lane       int64, the thread whose order the item follows
    begin_ns   begin of the stretch before it; start_ns: end of that stretch, where the item starts
    end_ns     when the lane continues
    first      bool: the first item of its lane
    role       uint8, a `Role`
    drains     bool: a call that only waits
    queue_ns   int64, time for which a launch waits for room in the full queue of its device
    """

    row: Int64
    lane: Int64
    begin_ns: Int64
    start_ns: Int64
    end_ns: Int64
    first: Bool
    role: UInt8
    drains: Bool
    queue_ns: Int64


def find_host(trace: Trace) -> Host:
    """Returns the items of all threads that launch or wait. If the recording is one step, or has none, those after the
    first launch whose work the end of the recording cut off are left out, since the device has no part in these
    items."""
    events, called = trace.events, find_launches(trace).call.astype(np.int64)
    block, loads = blocking_calls(trace), loader_rows(trace)
    waiting = block.row[is_in(block.kind, WAITING)]
    syncs = block.row[block.kind == Blocks.SYNC]
    memory = block.row[block.kind == Blocks.ALLOCATOR]
    row = distinct_in(np.concatenate((called[called >= 0], waiting, loads, memory)))
    row = row[events.start_ns[row] < shown_until(trace)]
    lane = host_lanes(trace)[events.thread[row]]
    order = np.lexsort((events.start_ns[row], lane))
    row, lane = row[order], lane[order]
    first = np.append(True, lane[1:] != lane[:-1])[: len(row)]
    reach = _reach(events.ends(row), lane)
    begin = np.where(first, _lane_starts(trace, events.start_ns[row], lane), np.append(0, reach)[: len(row)])
    role = np.full(len(row), Role.CALL, np.uint8)
    role[is_in(row, memory)] = Role.ALLOCATE
    role[is_in(row, waiting)] = Role.WAIT
    role[is_in(row, loads)] = Role.LOADER
    start = np.maximum(events.start_ns[row], begin)
    waits = np.zeros(len(events), np.int64)
    for device in devices_with_activity(trace):
        stalled = stalled_launches(trace, device)
        waits[stalled.call] = stalled.wait_ns
    return Host(row, lane, begin, start, reach, first, role, is_in(row, syncs), waits[row])


def shown_until(trace: Trace) -> int:
    """Returns until when host and device are recorded, if there is one step. Of several steps, the last one is not
    replayed if it has less work."""
    lost = first_lost_ns(trace) if len(find_steps(trace).steps) == 1 else None
    return _NEVER if lost is None else lost


def _lane_starts(trace: Trace, start_ns: Int64, lane: Int64) -> Int64:
    """Returns where the lane of each item begins if it is the first one. A training thread works from its first step
    on."""
    steps = find_steps(trace)
    if steps.by == "recording":
        return start_ns
    trains = is_in(lane, training_threads(trace))
    return np.where(trains, np.minimum(start_ns, steps.steps[0].host_start_ns), start_ns)


def host_edges(host: Host) -> Edges:
    """Returns the edges that keep the order of each lane. Stretches are numbered from 0 on, and items after all
    stretches."""
    count = len(host)
    item, later = np.arange(count, 2 * count), np.flatnonzero(~host.first)
    before, after = np.append(np.arange(count), item[later - 1]), np.append(item, later)
    return joined([edges_of(EdgeKind.LANE, before, after)])


def batch_edges(host: Host, of_workers: bool) -> tuple[Int64, Edges]:
    """Returns the items that wait for workers, and edges from one to the next. When a wait ends no other batch is
    ready, so all batches that are taken until the next wait are made in between. Waits that are far apart are
    accidental and show no pace."""
    loads = np.flatnonzero(host.role == Role.LOADER)
    wait = host.end_ns[loads] - host.start_ns[loads]
    apart = (host.end_ns[loads[-1]] - host.end_ns[loads[0]]) / (len(loads) - 1) if len(loads) > 1 else 0.0
    late = (wait > READY_NS) & (wait > LATE_FRACTION * apart)
    place = np.flatnonzero(late) if of_workers else loads[:0]
    waited = loads[place]
    pair = (np.diff(place) <= BURST) & (np.diff(host.lane[waited]) == 0)
    before, after = waited[:-1][pair], waited[1:][pair]
    lag = host.end_ns[after] - host.end_ns[before]
    edges = edges_of(EdgeKind.BATCH, before + len(host), after + len(host), lag)
    return distinct_in(np.concatenate((before, after))), edges


def handover_edges(trace: Trace, host: Host) -> tuple[Int64, Edges]:
    """Stretches at whose end a thread goes on because a wait of another thread has ended, and edges to them from that
    wait. Of such a stretch only what is behind the wait is the host's own time."""
    found = handovers(trace)
    if not len(found.wait):
        return found.wait, edges_of(EdgeKind.RETURN, found.wait, found.wait)
    place = np.full(len(trace.events), -1, np.int64)
    place[host.row] = np.arange(len(host))
    lane, wait = host_lanes(trace)[found.thread], place[found.wait]
    span = int(host.start_ns.max(initial=0)) + 1
    item = np.searchsorted(host.lane * span + host.start_ns, lane * span + np.minimum(found.end_ns, span - 1))
    wait, item, lane = (each[(wait >= 0) & (item < len(host))] for each in (wait, item, lane))
    fits = (host.lane[item] == lane) & (host.begin_ns[item] < host.end_ns[wait])
    fits &= np.append(True, item[1:] != item[:-1])[: len(item)]
    wait, item = wait[fits], item[fits]
    return item, edges_of(EdgeKind.RETURN, wait + len(host), item, AFTER_NS)


def host_lanes(trace: Trace) -> Int64:
    """Returns for each thread the one whose order it follows. The autograd engine works while the training thread
    waits."""
    lane = np.arange(len(trace.threads), dtype=np.int64)
    training = training_threads(trace)
    if len(training) == 1:
        lane[list(autograd_threads(trace))] = training[0]
    return lane


def _reach(ends: Int64, lane: Int64) -> Int64:
    """Returns the latest end so far on the same lane; items are sorted by lane."""
    if not len(ends):
        return ends
    span = int(ends.max()) + 1
    place = np.cumsum(np.append(0, lane[1:] != lane[:-1]))
    return np.maximum.accumulate(ends + place * span) - place * span
