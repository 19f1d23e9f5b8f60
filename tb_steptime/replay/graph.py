r"""The graph of one process: what its host threads and its devices do, and what each of them waits for.

host     --[launch]------[launch]--[synchronize]--      items, and the host's own time before each of them
stream       \-> kkkkkkk     \-> kkkkk ----^            activities, in the order of their stream

Waiting time is not in the graph: the replay computes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators
from tb_steptime.replay.host import AFTER_NS, Host, Role, batch_edges, find_host, handover_edges, host_edges
from tb_steptime.replay.starts import Activities, find_activities, start_edges
from tb_steptime.replay.sweep import Edges, joined
from tb_steptime.replay.waits import RETURN_NS, done_edges, hidden_waits, return_edges, room_edges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, is_in


class Graph(msgspec.Struct, frozen=True, eq=False):
    """Nodes in the order of their recorded starts; int64 columns in ns.

    start_ns, end_ns   as recorded; a waiting call starts where it waits no longer
    own_ns             duration of the node if it waits for nothing
    release_ns         earliest start: the recorded one, for nodes whose start nothing in the recording explains
    unexplained_ns     the delay that no edge explains, part of the lags of edges into the node
    contended_ns       likewise, while other work was running
    event              int32, row of the event table; -1 for the host's own time between items
    role               uint8, a `Role`
    track              row of `Trace.threads`: the host's lane, or the stream
    """

    start_ns: Int64
    end_ns: Int64
    own_ns: Int64
    release_ns: Int64
    unexplained_ns: Int64
    contended_ns: Int64
    event: Int32
    role: UInt8
    track: Int64
    edges: Edges

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def on_device(self) -> Bool:
        return np.asarray(self.role == Role.ACTIVITY, bool)

    @property
    def waits(self) -> Bool:
        """A mask of the calls that wait for a device."""
        return np.asarray(self.role == Role.WAIT, bool)

    @property
    def recorded_ns(self) -> int:
        return int(self.end_ns.max(initial=0) - self.start_ns.min(initial=1 << 62)) if len(self) else 0

    def with_own(self, own_ns: Int64) -> Graph:
        """Returns the graph with these durations of its nodes. Returns itself if no duration differs."""
        return self if np.array_equal(own_ns, self.own_ns) else replace(self, own_ns=own_ns)

    def subgraph(self, nodes: Int64, edges: Edges) -> Graph:
        """Returns some nodes, ascending, and some edges between them, renumbered."""
        before, after = (np.searchsorted(nodes, each).astype(np.int32) for each in (edges.before, edges.after))
        edges = replace(edges, before=before, after=after)
        return replace(self, **{name: getattr(self, name).take(nodes) for name in COLUMNS}, edges=edges)


#: Names of the graph's columns with one value per node.
COLUMNS = tuple(name for name in Graph.__struct_fields__ if name != "edges")


def build_graph(trace: Trace) -> Graph:
    """Returns the graph of the whole recording. Nodes are numbered by recorded start, and edges that lead backward
    because of inaccurate clocks are left out."""
    columns, edges = _by_kind(trace)
    # host nodes at one instant keep the order of their lane: a stretch, its item, the next stretch
    hosts = np.count_nonzero(columns["role"] != Role.ACTIVITY) // 2
    size = len(columns["role"])
    sequence = np.concatenate((2 * np.arange(hosts), 2 * np.arange(hosts) + 1, np.full(size - 2 * hosts, 2 * hosts)))
    order = np.lexsort((sequence, columns["start_ns"]))
    del sequence
    number = np.empty(size, np.int32)
    number[order] = np.arange(size, dtype=np.int32)
    edges = _with_numbers(edges, number)
    for name in COLUMNS:  # one after the other, so that only one of them is in memory twice
        columns[name] = columns[name].take(order)
    return Graph(**columns, edges=edges)


def _by_kind(trace: Trace) -> tuple[dict[str, Any], Edges]:
    """Returns the columns of the nodes, and the edges between them, with the stretches first, then the calls and ranges
    that end them, then the activities."""
    host = find_host(trace)
    work = find_activities(trace, host)
    count, size = len(host), len(work)
    start_times = start_edges(trace, host, work)
    times = _recorded_times(host, work)
    waits, edges_to_waits = _without_waits(trace, host, work, times)
    unexplained = np.zeros(2 * count + size, np.int64)
    idle = np.flatnonzero((host.role == Role.WAIT) & host.drains & ~waits) + count
    unexplained[idle] = np.maximum(times.own[idle] - RETURN_NS, 0)
    times.own[idle] -= unexplained[idle]
    times.start[idle] += unexplained[idle]
    unexplained[2 * count :] = start_times.unexplained_ns
    contended = np.append(np.zeros(2 * count, np.int64), start_times.contended_ns)
    lanes = host_edges(host)
    lanes.lag_ns[lanes.after >= count] += unexplained[lanes.after[lanes.after >= count]]
    parts = [lanes, *start_times.edges, *edges_to_waits, room_edges(host, work), done_edges(host, work, waits)]
    del lanes, start_times, edges_to_waits
    edges = joined(parts)
    del parts
    role = np.concatenate((np.full(count, Role.STRETCH, np.uint8), host.role, np.full(size, Role.ACTIVITY, np.uint8)))
    event = np.concatenate((np.full(count, -1, np.int32), host.row.astype(np.int32), work.row.astype(np.int32)))
    track = np.concatenate((host.lane, host.lane, work.track))
    columns = (*times, unexplained, contended, event, role, track)
    return dict(zip(COLUMNS, columns, strict=True)), edges


class _Times(NamedTuple):
    """The times of the nodes, as in `Graph`: of the stretches, of the calls and ranges, and of the activities."""

    start: Int64
    end: Int64
    own: Int64
    release: Int64


def _recorded_times(host: Host, work: Activities) -> _Times:
    """Returns the times as recorded. A call at a full queue begins when it has found room."""
    count = len(host)
    start = np.concatenate((host.begin_ns, host.start_ns, work.start_ns))
    end = np.concatenate((host.start_ns, host.end_ns, work.end_ns))
    start[count : 2 * count] += np.minimum(host.queue_ns, host.end_ns - host.start_ns)
    release = np.zeros(len(start), np.int64)
    first = np.flatnonzero(np.concatenate((host.first, np.zeros(count, bool), (work.item < 0) & (work.previous < 0))))
    release[first] = start[first]
    return _Times(start, end, end - start, release)


def _without_waits(trace: Trace, host: Host, work: Activities, times: _Times) -> tuple[Bool, list[Edges]]:
    """Takes the waits out of these times: a waiting call is what the host does in it after its wait, and a wait for a
    batch that workers make is empty. Returns the items that return because work of a device has ended, and the edges
    from what is waited for."""
    start, end, own, release = times
    count = len(host)
    waits, returns, after_ns = return_edges(host, work)
    paced, batches = batch_edges(host, is_multiprocess(loader_iterators(trace)) is True)
    rest = np.concatenate((np.flatnonzero(waits), paced)) + count
    own[rest] = 0
    own[count : 2 * count] += after_ns
    start[rest] = end[rest] - own[rest]
    hidden, hiding = hidden_waits(host, work)
    own[hidden], start[hidden] = 0, end[hidden]
    handed, handing = handover_edges(trace, host)
    start[handed] = np.maximum(start[handed], host.end_ns[handing.before - count] + AFTER_NS)
    own[handed] = np.minimum(own[handed], end[handed] - start[handed])
    unpaced = paced[~is_in(paced + count, batches.after)] + count
    release[unpaced] = start[unpaced]
    return waits, [returns, hiding, handing, batches]


def _with_numbers(edges: Edges, number: Int32) -> Edges:
    """Returns the edges that lead forward, with these numbers of their nodes."""
    before, after = number[edges.before], number[edges.after]
    forward = np.flatnonzero(before < after)
    forward = forward[np.argsort(after[forward], kind="stable")]
    return replace(edges, before=before, after=after).where(forward)
