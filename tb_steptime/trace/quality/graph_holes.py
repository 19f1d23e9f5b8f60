"""Finds replays of a CUDA graph that lack work which its other replays have.

launch    [graph]      [graph]      [graph]
device     aabbccdd     aa    dd     aabbccdd          b and c of the second replay were dropped
           aabbccdd     aadd         aabbccdd          it ran without them, as a graph with conditional nodes may

Each replay runs the same nodes, so one with fewer is compared with the other replays of its graph: those with the same
graph number if the trace has numbers, and in any case those that contain all of its work, with the same launch shapes,
and more. Dropped work leaves the device idle for as long as the work takes. Without such a gap the replay belongs to
another graph, or some of its nodes are conditional; the same is assumed if the same work is missing twice.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.text import Finding, Trust, count, fraction
from tb_steptime.trace.intervals import Intervals, longest_ranges
from tb_steptime.trace.model import Trace, find_launches, is_cut_short
from tb_steptime.trace.ops import graph_calls
from tb_steptime.trace.table import DEVICE_KINDS, Int64, is_in

#: Minimum number of complete replays that show what a graph consists of.
LEAST_WHOLE = 2
#: Minimum share of a replay that must be left if its graph has no number: with less it may belong to any graph.
LEAST_LEFT = 0.1
#: Minimum share of the missing work's time for which the device is idle around it. The rest of a replay varies by a few
#: percent.
IDLE_FRACTION = 0.5
#: Shares of the work of all replays: from the first on figures change, from the second on means say little.
LEAST_FRACTION, MUCH_FRACTION = 0.01, 0.1


UInt64 = npt.NDArray[np.uint64]


class _Replays(msgspec.Struct, frozen=True, eq=False):
    """Launches of graphs that have recorded work.

    One entry per launch, in time order:
    call          row of the launch in the event table
    first, last   its work is work[first:last]
    kind          a number that replays with the same work share

    One entry per activity, in the order of the launches, then by start:
    work          row of the event table
    node          the node's sort, a number for its name and launch shape

    One entry per kind:
    often         number of its replays
    example       one of these replays
    graph         id of their graph; -1 if not recorded
    nodes         number of nodes of each sort, one column per sort
    """

    call: Int64
    first: Int64
    last: Int64
    work: Int64
    node: Int64
    kind: Int64
    often: Int64
    example: Int64
    graph: Int64
    nodes: Int64

    def rows(self, replay: int) -> Int64:
        return self.work[self.first[replay] : self.last[replay]]

    def nodes_of(self, replay: int) -> Int64:
        return self.node[self.first[replay] : self.last[replay]]


def graph_findings(trace: Trace) -> list[Finding]:
    replays = None if is_cut_short(trace.notes) else _replays(trace)
    if replays is None or len(replays.often) < 2:
        return []
    lacks = _missing(trace, replays)
    lost = int(lacks.sum())
    share = lost / (lost + len(replays.work))
    if share < LEAST_FRACTION or 2 * int((lacks > 0).sum()) > len(lacks):
        return []
    rows = replays.call[lacks > 0]
    values = {
        "count": count(lost), "replays": count(len(rows)), "all": count(len(lacks)), "share": fraction(share)
    }  # fmt: skip
    trust: Trust = "low" if share >= MUCH_FRACTION else "medium"
    ranges = longest_ranges(trace.events.start_ns[rows], trace.events.ends(rows))
    return [Finding("replays_incomplete", "said", ("gpu_time", "launches"), trust, lost, share, values, ranges)]


def _replays(trace: Trace) -> _Replays | None:
    """Returns the replays, or None if no graph with recorded work is launched."""
    launches = find_launches(trace)
    rows = np.flatnonzero(is_in(launches.call, graph_calls(trace)))
    if not len(rows):
        return None
    rows = rows[np.argsort(launches.call[rows], kind="stable")]
    call = launches.call[rows].astype(np.int64)
    work = launches.activity[rows].astype(np.int64)
    first = np.flatnonzero(np.diff(call, prepend=-1))
    last = np.append(first[1:], len(call))
    node, graph = _nodes(trace, work), _graphs(trace)[work[first]]
    # The order of nodes on parallel streams differs, so replays are compared by a sum over nodes.
    key = np.add.reduceat(_mixed(node.astype(np.uint64)), first) + _mixed(graph.astype(np.uint64))
    _, example, kind, often = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    nodes = np.zeros((len(example), int(node.max()) + 1), np.int64)
    for each, replay in enumerate(example.tolist()):
        nodes[each] = np.bincount(node[first[replay] : last[replay]], minlength=nodes.shape[1])
    return _Replays(
        call=call[first],
        first=first,
        last=last,
        work=work,
        node=node,
        kind=kind.reshape(-1),
        often=often,
        example=example,
        graph=graph[example],
        nodes=nodes,
    )


def _nodes(trace: Trace, work: Int64) -> Int64:
    """Returns a number for each name and launch shape: replays repeat both, while graphs for other batch sizes have
    different ones."""
    key = np.zeros(len(trace.events), np.uint64)
    grid = trace.kernels.grid
    if grid is not None:
        for axis in range(3):
            key[trace.kernels.event] = _mixed(key[trace.kernels.event] + grid[:, axis].astype(np.uint64))
    number: Int64 = np.unique(_mixed(key[work] + trace.events.name[work].astype(np.uint64)), return_inverse=True)[1]
    return number.reshape(-1)


def _mixed(values: UInt64) -> UInt64:
    """Hashes the numbers, so that sums and neighbours do not collide."""
    mixed: UInt64 = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _graphs(trace: Trace) -> Int64:
    """Returns the graph number of each event, or -1 if not recorded."""
    graph = np.full(len(trace.events), -1, np.int64)
    graph[trace.graph_nodes.event] = trace.graph_nodes.graph
    return graph


def _missing(trace: Trace, replays: _Replays) -> Int64:
    """Returns how many nodes each replay lacks."""
    missing = np.zeros(len(replays.call), np.int64)
    total = replays.nodes.sum(axis=1)
    for part in np.flatnonzero(replays.often == 1).tolist():
        whole = (replays.often >= LEAST_WHOLE) & (total > total[part]) & (replays.graph == replays.graph[part])
        if replays.graph[part] < 0:
            whole &= total[part] >= LEAST_LEFT * total
        kinds = np.flatnonzero(whole)
        kinds = kinds[(replays.nodes[kinds] >= replays.nodes[part]).all(axis=1)]
        kinds = kinds[np.argsort(total[kinds], kind="stable")]
        replay = int(replays.example[part])
        possible = [kind for kind in kinds.tolist() if _is_idle_without(trace, replays, replay, kind)]
        if possible:
            missing[replay] = total[possible[0]] - total[part]
    return missing


def _is_idle_without(trace: Trace, replays: _Replays, replay: int, whole: int) -> bool:
    """Returns whether the device is idle at the time when the rest of this whole replay would run."""
    twin = int(replays.example[whole])
    rows, others = replays.rows(replay), replays.rows(twin)
    busy, twin_busy = (Intervals.of_events(trace.events, each) for each in (rows, others))
    needed = IDLE_FRACTION * twin_busy.total_ns * _missing_share(trace, replays, replay, twin)
    if (replays.nodes_of(replay)[[0, -1]] == replays.nodes_of(twin)[[0, -1]]).all():
        gaps = busy.start[1:] - busy.end[:-1]
        return needed <= max(int(gaps.max(initial=0)), _idle_ns(busy) - _idle_ns(twin_busy))
    return needed <= _idle_around(trace, rows, busy)


def _idle_ns(busy: Intervals) -> int:
    return int(busy.end[-1] - busy.start[0]) - busy.total_ns if len(busy) else 0


def _missing_share(trace: Trace, replays: _Replays, replay: int, twin: int) -> float:
    """Returns the share of a whole replay's time that is spent in the nodes which the other replay lacks."""
    node = replays.nodes_of(twin)
    length = trace.events.dur_ns[replays.rows(twin)].astype(np.float64)
    time = np.bincount(node, length, replays.nodes.shape[1])
    left, all_ = (replays.nodes[replays.kind[each]] for each in (replay, twin))
    lacks: npt.NDArray[np.float64] = time * (all_ - left) / np.maximum(all_, 1)
    return float(lacks.sum() / max(1.0, length.sum()))


def _idle_around(trace: Trace, rows: Int64, busy: Intervals) -> float:
    """Returns how long the device of these rows is idle between the work before them and the work after them. What
    followed the last work of the recording is not known."""
    events = trace.events
    device = events.rows(*DEVICE_KINDS)
    device = device[events.device[device] == events.device[rows[0]]]
    start, end = events.start_ns[device], events.ends(device)
    begin, finish = int(events.start_ns[rows].min()), int(events.ends(rows).max())
    before, after = end[start < begin], start[start >= finish]
    if not len(after):
        return np.inf
    since = min(begin, int(before.max())) if len(before) else begin
    return float(int(after.min()) - since - busy.total_ns)
