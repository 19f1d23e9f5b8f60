r"""The graph of one process: what its host threads and its devices do, and what each of them waits for.

host     --[launch]------[launch]--[synchronize]--      items, and the host's own time before each of them
stream       \-> kkkkkkk     \-> kkkkk ----^            activities, in the order of their stream

Waiting time is not in the graph: the replay computes it. Lags are constants of the recording, one for each kind of
edge. A delay that no edge explains is kept, and counted as unexplained, or as contended if other work was running.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators
from tb_steptime.replay.device import EARLY_NS, Activities, behind_others, find_activities, start_edges
from tb_steptime.replay.host import Host, Role, batch_edges, find_host, host_edges
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of, joined, starts
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64, UInt8, is_in

#: A synchronize returns within this time after the work for which it waits; one that waits for nothing takes no longer.
RETURN_NS = 30_000
#: A call returns up to this time before its copy of pageable memory ends, as soon as the last part is staged: 12 to
#: 90 us in the 31 such calls of more than 1 ms in real recordings.
STAGED_NS = 100_000


class Graph(msgspec.Struct, frozen=True, eq=False):
    """Nodes in the order of their recorded starts; int64 columns in ns.

    start_ns, end_ns   as recorded; for a waiting call, its return
    own_ns             duration of the node if it waits for nothing
    release_ns         earliest start: the recorded one, for nodes whose start nothing in the recording explains
    unexplained_ns     the delay that no edge explains, part of the lags of edges into the node
    contended_ns       likewise, while other work was running
    event              row of the event table; -1 for the host's own time between items
    role               uint8, a `Role`
    track              row of `Trace.threads`: the host's lane, or the stream
    """

    start_ns: Int64
    end_ns: Int64
    own_ns: Int64
    release_ns: Int64
    unexplained_ns: Int64
    contended_ns: Int64
    event: Int64
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
        """Calls that wait for a device."""
        return np.asarray(self.role == Role.WAIT, bool)

    @property
    def recorded_ns(self) -> int:
        return int(self.end_ns.max(initial=0) - self.start_ns.min(initial=1 << 62)) if len(self) else 0

    def of(self, nodes: Int64, edges: Edges) -> Graph:
        """Some nodes, ascending, and some edges between them, numbered anew."""
        edges = replace(edges, before=np.searchsorted(nodes, edges.before), after=np.searchsorted(nodes, edges.after))
        return replace(self, **{name: getattr(self, name).take(nodes) for name in COLUMNS}, edges=edges)


#: Names of the graph's columns with one value per node.
COLUMNS = tuple(name for name in Graph.__struct_fields__ if name != "edges")


def build_graph(trace: Trace) -> Graph:
    """The graph of the whole recording."""
    host = find_host(trace)
    work = find_activities(trace, host)
    count, size = len(host), len(work)
    begun = start_edges(trace, host, work)
    waits, held = _returns(host, work)
    start = np.concatenate((host.begin_ns, host.start_ns, work.start_ns))
    end = np.concatenate((host.start_ns, host.end_ns, work.end_ns))
    release = np.zeros(len(start), np.int64)
    start[count : 2 * count] += np.minimum(host.queue_ns, host.end_ns - host.start_ns)
    own = end - start
    heads, orphans = np.flatnonzero(host.first), np.flatnonzero((work.item < 0) & (work.previous < 0)) + 2 * count
    release[heads], release[orphans] = start[heads], start[orphans]
    of_workers = is_multiprocess(loader_iterators(trace)) is True
    paced, batches = batch_edges(host, of_workers)
    # a waiting call, and a wait for a batch that workers make, are empty nodes at their return
    empty = np.concatenate((np.flatnonzero(waits), paced)) + count
    own[empty] = 0
    start[empty] = end[empty]
    unpaced = paced[~is_in(paced + count, batches.after)] + count
    release[unpaced] = start[unpaced]
    unexplained = np.zeros(len(start), np.int64)
    idle = np.flatnonzero((host.role == Role.WAIT) & host.drains & ~waits) + count
    unexplained[idle] = np.maximum(own[idle] - RETURN_NS, 0)
    own[idle] -= unexplained[idle]
    start[idle] += unexplained[idle]
    unexplained[2 * count :] = begun.unexplained_ns
    lanes = host_edges(host)
    lanes.lag_ns[lanes.after >= count] += unexplained[lanes.after[lanes.after >= count]]
    edges = joined([lanes, begun.edges, held, batches, _room(host, work), _would_wait(host, work, waits)])
    role = np.concatenate((np.full(count, Role.STRETCH), host.role, np.full(size, Role.ACTIVITY))).astype(np.uint8)
    contended = np.append(np.zeros(2 * count, np.int64), begun.contended_ns)
    event = np.concatenate((np.full(count, -1), host.row, work.row))
    track = np.concatenate((host.lane, host.lane, work.track))
    return _numbered(Graph(start, end, own, release, unexplained, contended, event, role, track, edges))


def _returns(host: Host, work: Activities) -> tuple[Bool, Edges]:
    """The items that return because work of a device has ended, and the edges from that work to them."""
    ends = np.argsort(work.end_ns, kind="stable")
    allocates = host.role == Role.ALLOCATE
    calls = np.flatnonzero((host.role == Role.WAIT) | (allocates & (host.end_ns - host.start_ns > RETURN_NS)))
    back = host.end_ns[calls]
    last = np.searchsorted(work.end_ns[ends], back, side="right") - 1
    by = ends[np.maximum(last, 0)] if len(ends) else last
    ended = np.where(last >= 0, work.end_ns[by], 0) if len(ends) else np.zeros(len(calls), np.int64)
    # calls that free memory wait until the device has no more work, or not at all
    drained = np.searchsorted(np.sort(work.start_ns), back, side="right") == last + 1
    holds = (last >= 0) & (ended > host.start_ns[calls]) & (back - ended < RETURN_NS) & (drained | ~allocates[calls])
    lag = round(float((back - ended)[holds].mean())) if holds.any() else 0
    sure = float(holds[~allocates[calls]].mean()) if (~allocates[calls]).any() else 1.0
    copies, base = _staged_copies(host, work), 2 * len(host)
    staged = work.item[copies]
    holds &= ~is_in(calls, staged)
    waits = np.zeros(len(host), bool)
    waits[calls[holds]] = waits[staged] = True
    staging = edges_of(EdgeKind.RETURN, copies + base, staged + len(host), host.end_ns[staged] - work.end_ns[copies])
    return waits, joined([edges_of(EdgeKind.RETURN, by[holds] + base, calls[holds] + len(host), lag, sure), staging])


def _staged_copies(host: Host, work: Activities) -> Int64:
    """The copies whose calls wait until their stream has no other work, and return before the copy ends.

    call     [waits for the stream, stages the memory ]
    stream      kkkkkkkkkkkkkkkkkkkkcccccccccccccccccccccc

    A call that finds an idle stream does not wait: it stages the memory for as long as it lasts.
    """
    if not len(host):
        return np.empty(0, np.int64)
    returned = host.end_ns[work.item]
    waits = behind_others(host, work) & (host.role[work.item] == Role.WAIT)
    early = returned - work.start_ns > EARLY_NS
    return np.flatnonzero(waits & early & (work.end_ns > returned) & (work.end_ns - returned < STAGED_NS))


def _would_wait(host: Host, work: Activities, waits: Bool) -> Edges:
    """Edges from the last work that a thread launched to its calls that wait for a device but found that work done:
    they would wait if the work ended later, or if the call came earlier."""
    known = np.flatnonzero(work.item >= 0)
    in_turn = known[np.lexsort((work.end_ns[known], work.item[known]))]
    calls = np.flatnonzero((host.role == Role.WAIT) & ~waits)
    place = np.searchsorted(work.item[in_turn], calls, side="right") - 1
    calls, by = calls[place >= 0], in_turn[place[place >= 0]]
    done = (host.lane[work.item[by]] == host.lane[calls]) & (work.end_ns[by] <= host.start_ns[calls])
    calls, by = calls[done], by[done]
    return edges_of(EdgeKind.DONE, by + 2 * len(host), calls + len(host))


def _room(host: Host, work: Activities) -> Edges:
    """Edges from the work that ended last to a launch that then found room in the full queue."""
    calls = np.flatnonzero(host.queue_ns)
    found, ends = host.start_ns[calls] + host.queue_ns[calls], np.argsort(work.end_ns, kind="stable")
    last = np.searchsorted(work.end_ns[ends], found, side="right") - 1
    calls, found, by = calls[last >= 0], found[last >= 0], ends[last[last >= 0]]
    lag = found - work.end_ns[by]
    near = lag < RETURN_NS
    return edges_of(EdgeKind.QUEUE, by[near] + 2 * len(host), calls[near] + len(host), lag[near])


def _numbered(graph: Graph) -> Graph:
    """Number the nodes by recorded start, and leave out edges that inaccurate clocks reverse."""
    # host nodes at one instant keep the order of their lane: a stretch, its item, the next stretch
    hosts = np.count_nonzero(~graph.on_device) // 2
    sequence = np.concatenate(
        (2 * np.arange(hosts), 2 * np.arange(hosts) + 1, np.full(len(graph) - 2 * hosts, 2 * hosts))
    )
    order = np.lexsort((sequence, graph.start_ns))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    edges = replace(graph.edges, before=number[graph.edges.before], after=number[graph.edges.after])
    edges = joined([edges.where(edges.before < edges.after)])
    return replace(graph, **{name: getattr(graph, name).take(order) for name in COLUMNS}, edges=edges)


def unlinked(graph: Graph) -> float:
    """Share of the devices' work whose launch is not recorded. On each stream, work before the first one with a launch
    is from before the recording and does not count."""
    linked = np.zeros(len(graph), bool)
    linked[graph.edges.after[graph.edges.kind == EdgeKind.LAUNCH]] = True
    if not linked.any():
        return 1.0
    begun = graph.start_ns[linked]
    first = np.full(int(graph.track.max()) + 1, int(begun.min()))
    track = graph.track[linked]
    first[track[::-1]] = begun[::-1]  # nodes are sorted by start, and the first one is written last
    counts = graph.on_device & (graph.start_ns >= first[graph.track])
    missing = int(graph.own_ns[counts & ~linked].sum())
    return missing / max(int(graph.own_ns[counts].sum()), 1)


def wait_error(trace: Trace, graph: Graph) -> float | None:
    """The relative difference between the replayed and the recorded lengths of waiting calls; None without such
    calls."""
    began = starts(graph.own_ns, graph.release_ns, graph.edges)
    before, after = graph.edges.before, graph.edges.after
    held = np.zeros(len(graph), bool)
    held[after[graph.edges.kind == EdgeKind.RETURN]] = True
    arrives = held[after] & (graph.edges.kind == EdgeKind.LANE)
    arrived, call = before[arrives], after[arrives]
    replayed = began[call] - (began + graph.own_ns)[arrived]
    recorded = trace.events.dur_ns[graph.event[call]]
    return float(np.abs(replayed - recorded).sum() / recorded.sum()) if recorded.sum() else None
