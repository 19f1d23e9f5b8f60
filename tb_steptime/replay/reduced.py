"""The graph of a recording, reduced to the nodes at which other ranks can hold it: collectives, and begins and ends of
steps.

graph      host, kernels, copies: [a]-[b]-[c]-[collective]-[d]-[e]      a hundred thousand nodes
reduced    begin --a, b, c--> collective --d, e--> end                  a few paths for each collective

Each path is the longest one that does not pass through another of these nodes, so a sweep of the reduced graph finds
the same times. Unlike the full graph it fits in a summary, together with the reduced graphs of a few changes of the
recording, each of which is reduced separately.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.communication.collectives import find_collectives
from tb_steptime.metrics.communication.exchanges import kept_collectives
from tb_steptime.metrics.communication.packed import PackedColumn, packed, unpacked
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.replay.graph import Graph, build_graph
from tb_steptime.replay.host import Role, host_lanes
from tb_steptime.replay.sensitivity import free, without_batches
from tb_steptime.replay.steady import SteadyStep, less_excess, less_time_off, step_of_nodes
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of, first_of_each, joined
from tb_steptime.replay.trust import unlinked
from tb_steptime.trace.extension import reduce_function
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct, is_in

#: Stands for a path that begins at a fixed time (a release) instead of a node.
START = -1
#: Limits of the search for redundant paths: how many nodes it looks back, and the number of cells, which fits in
#: memory.
_LOOK_BACK, _MOST_CELLS = 512, 8_000_000
#: Maximum number of nodes: for a larger graph the paths to all nodes would not fit in the memory limit of a large
#: trace.
_MOST_NODES = 1_000_000


class Paths(msgspec.Struct, frozen=True):
    """Paths between nodes, sorted by `after`: the node `after` starts at least lag ns after the end of the node
    `before`, or after the recording's origin if that is -1. Nodes: the begins of all steps, then the collectives in the
    order of `Exchanges`, then the ends of all steps."""

    before: PackedColumn = PackedColumn()
    after: PackedColumn = PackedColumn()
    lag: PackedColumn = PackedColumn()


class Reduced(msgspec.Struct, frozen=True):
    """The graph of one rank, reduced to its exchanges. It is empty if the recording has no work on a device, no
    collective of a step there, or more than can be reduced. It is also empty if the recording has no ops, because
    nothing then separates the host's work from its waits.

    unexplained: share of the recording that no edge explains, or share of device work without a recorded launch,
    whichever is larger.
    began, ended: recorded times of its steps relative to the origin, ns: the first begin on the host, and the last end
    of anything on the host or launched by the step; 0 for a step without any.
    recorded: the paths as recorded; later: without one-time work and the profiler's own, as in a later step. These are
    also gone in the others: instant_host: with a host that takes no time; no_loader: without waits for batches;
    uninterrupted: without the excess of single calls and kernels over all others like them. Paths that would be those
    of a later step are empty, and so are these where they are those recorded.
    """

    unexplained: float = 0.0
    began: PackedColumn = PackedColumn()
    ended: PackedColumn = PackedColumn()
    recorded: Paths = Paths()
    later: Paths = Paths()
    instant_host: Paths = Paths()
    no_loader: Paths = Paths()
    uninterrupted: Paths = Paths()


class PathColumns(NamedTuple):
    """The columns of `Paths` for calculations, int64."""

    before: Int64
    after: Int64
    lag: Int64


def paths_of(paths: Paths) -> PathColumns:
    """Returns the columns of paths. Raises ValueError if a summary's columns have different lengths."""
    before = unpacked(paths.before)
    after = unpacked(paths.after)
    lag = unpacked(paths.lag)
    if not len(before) == len(after) == len(lag):
        raise ValueError("columns of paths have different lengths")
    return PathColumns(before, after, lag)


def reduced(trace: Trace) -> Reduced:
    """Returns the reduced graph of all steps whose collectives are kept."""
    rows = find_collectives(trace).event[kept_collectives(trace)[0]]
    if not len(rows) or not len(trace.events.rows(Kind.CPU_OP)):
        return Reduced()
    graph = less_time_off(trace, build_graph(trace))
    nodes = np.full(len(trace.events), -1, np.int64)
    on_device = np.flatnonzero(graph.on_device)
    nodes[graph.event[on_device]] = on_device
    nodes = nodes[rows]
    if (nodes < 0).any() or len(graph) > _MOST_NODES:
        return Reduced()
    cut = _cut(trace, graph, nodes)
    loader = graph.role == Role.LOADER
    host = ~graph.on_device & ~loader
    waits = loader.any() and (cut.step.graph.own_ns[: len(graph)][loader].any() or EdgeKind.BATCH in graph.edges.kind)
    excess, lanes = find_excess(trace), host_lanes(trace)
    once, interrupts = excess.of(ExcessKind.ONCE, ExcessKind.PROFILER), excess.of(ExcessKind.INTERRUPTED)
    later = replace(cut.step, graph=less_excess(cut.step.graph, once, lanes)) if len(once) else cut.step
    return Reduced(
        unexplained=max(int(graph.unexplained_ns.sum()) / max(graph.recorded_ns, 1), unlinked(graph)),
        began=packed(cut.began_ns),
        ended=packed(cut.ended_ns),
        recorded=_paths(cut, cut.step),
        later=_paths(cut, later) if len(once) else Paths(),
        instant_host=_paths(cut, free(later, cut.padded(host))),
        no_loader=_paths(cut, without_batches(free(later, cut.padded(loader)))) if waits else Paths(),
        uninterrupted=_paths(cut, replace(later, graph=less_excess(later.graph, interrupts, lanes)))
        if len(interrupts)
        else Paths(),
    )


class _Cut(msgspec.Struct, frozen=True, eq=False):
    """A graph with one empty node per step after all others, which ends when all nodes of the step have ended.

    chosen: for each node its number in `Paths`, -1 for none. began_ns, ended_ns: as recorded, of each step.
    """

    step: SteadyStep
    chosen: Int64
    began_ns: Int64
    ended_ns: Int64

    def padded(self, nodes: Bool) -> Bool:
        """Returns a mask of the graph's own nodes, extended to all nodes."""
        return np.append(nodes, np.zeros(len(self.chosen) - len(nodes), bool))


def _cut(trace: Trace, graph: Graph, collectives: Int64) -> _Cut:
    steps, size = len(find_steps(trace).steps), len(graph)
    step = step_of_nodes(trace, graph)
    begins = _begins(graph, step, steps)
    graph = _tied(graph, step, begins)
    in_step = np.flatnonzero(step >= 0)
    last = _last_of(graph.track[in_step], step[in_step], steps)
    closing = edges_of(EdgeKind.LANE, in_step[last], size + step[in_step[last]])
    chosen = np.full(size + steps, -1, np.int64)
    chosen[begins[begins >= 0]] = np.flatnonzero(begins >= 0)
    chosen[collectives] = steps + np.arange(len(collectives))
    chosen[size:] = steps + len(collectives) + np.arange(steps)
    ended = np.zeros(steps, np.int64)
    np.maximum.at(ended, step[in_step], graph.end_ns[in_step])
    rest = np.zeros(steps, np.int64)
    extended = Graph(
        start_ns=np.append(graph.start_ns, ended),
        end_ns=np.append(graph.end_ns, ended),
        own_ns=np.append(graph.own_ns, rest),
        release_ns=np.append(graph.release_ns, rest),
        unexplained_ns=np.append(graph.unexplained_ns, rest),
        contended_ns=np.append(graph.contended_ns, rest),
        event=np.append(graph.event, rest - 1),
        role=np.append(graph.role, np.full(steps, Role.STRETCH, np.uint8)),
        track=np.append(graph.track, rest - 1),
        edges=joined([graph.edges, closing]),
    )
    began = np.where(begins >= 0, graph.start_ns[begins], 0)
    return _Cut(SteadyStep(extended, graph.edges.where(slice(0)), False, 0), chosen, began, ended)


def _begins(graph: Graph, step: Int64, steps: int) -> Int64:
    """Returns the first node of each step on the thread with the most nodes, -1 for a step without any."""
    host = np.flatnonzero(~graph.on_device & (step >= 0))
    begins = np.full(steps, -1, np.int64)
    if len(host):
        main = host[graph.track[host] == np.bincount(graph.track[host]).argmax()][::-1]
        begins[step[main]] = main  # the first one is written last
    return begins


def _tied(graph: Graph, step: Int64, begins: Int64) -> Graph:
    """Returns the graph in which only the first nodes of tracks have fixed times. Other threads than the step's begin
    each step as long after it as recorded. A wait for a batch whose production is not visible keeps its length."""
    edges = graph.edges
    release = graph.release_ns
    begin = np.where(step >= 0, begins[step], -1)
    in_step = (begin >= 0) & (begin < np.arange(len(graph))) & ~graph.on_device
    beside = in_step & (graph.track != graph.track[np.maximum(begin, 0)])
    of_lane = edges.kind == EdgeKind.LANE
    enters = of_lane & beside[edges.after] & (step[edges.after] > step[edges.before])
    heads = beside & ~is_in(np.arange(len(graph)), edges.after)
    tied = np.append(edges.after[enters], np.flatnonzero(heads))
    lag = graph.start_ns[tied] - graph.start_ns[begin[tied]] - graph.own_ns[begin[tied]]
    waits = np.flatnonzero(of_lane & (release[edges.after] > 0))
    before, after = edges.before[waits], edges.after[waits]
    batches = edges_of(EdgeKind.BATCH, before, after, release[after] - graph.end_ns[before])
    ties = edges_of(EdgeKind.LANE, begin[tied], tied, lag)
    return replace(graph, edges=joined([edges.where(~enters), ties, batches]))


def _last_of(track: Int64, step: Int64, steps: int) -> Int64:
    """Returns the last of some nodes in time order, for each track in each step."""
    key = track * steps + step
    last = np.zeros(int(key.max(initial=0)) + 1, np.int64)
    last[key] = np.arange(len(key))
    return last[distinct(key)]


def _paths(cut: _Cut, step: SteadyStep) -> Paths:
    """Returns the paths. They exclude the collectives' own time, because that depends on all ranks."""
    graph, number = step.graph, cut.chosen
    chosen = np.flatnonzero(number >= 0)
    own = graph.own_ns.copy()
    own[chosen[graph.on_device[chosen]]] = 0
    release = np.where(is_in(np.arange(len(graph)), graph.edges.after), -1, np.maximum(graph.release_ns, 0))
    paths = longest_paths(own, release, graph.edges, chosen)
    before = np.where(paths.before < 0, START, number[chosen[paths.before]])
    after = number[chosen[paths.after]]
    order = np.lexsort((before, after))
    return Paths(packed(before[order]), packed(after[order]), packed(paths.lag[order]))


def longest_paths(own_ns: Int64, release_ns: Int64, edges: Edges, chosen: Int64) -> PathColumns:
    """Returns the longest paths between the chosen nodes, ascending, by their places among them. own_ns: a chosen
    node's own time follows the node. release_ns: -1 if a node has none. Paths are left out if one through other chosen
    nodes is never shorter."""
    number = np.full(len(own_ns), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    back = min(_LOOK_BACK, _MOST_CELLS // max(len(chosen), 1))
    columns: list[Int32 | Int64] = [
        own_ns,
        release_ns,
        first_of_each(edges, len(own_ns)),
        edges.before,
        edges.lag_ns,
        number,
    ]
    if reduce := reduce_function():
        buffers = (column.astype(np.int64, copy=False).tobytes() for column in columns)
        return PathColumns(*(np.frombuffer(each, np.int64) for each in reduce(*buffers, back)))
    return _longest_paths(columns, back)


def _longest_paths(columns: Sequence[Int32 | Int64], back: int) -> PathColumns:
    """Returns what `waits.c` does, without its limit on the paths to one node."""
    lasts, release, first, before, lag, number = (column.tolist() for column in columns)
    reached, between = list[dict[int, int]](), list[dict[int, int]]()
    rows = list[tuple[int, int, int]]()
    for node, chosen in enumerate(number):
        paths: defaultdict[int, int] = defaultdict(lambda: -(1 << 61))
        if release[node] >= 0:
            paths[START] = release[node]
        for edge in range(first[node], first[node + 1]):
            later = lasts[before[edge]] + lag[edge]
            for begin, took in reached[before[edge]].items():
                paths[begin] = max(paths[begin], took + later)
        longest = {
            begin: took
            for begin, took in paths.items()
            if not any(
                other > begin and between[other].get(begin, -(1 << 61)) + more >= took for other, more in paths.items()
            )
        }
        if chosen >= 0:
            rows += [(begin, chosen, took) for begin, took in sorted(longest.items())]
            between.append(_between(longest, between, chosen, back))
            longest = {chosen: 0}
        reached.append(longest)
    table = np.array(rows, np.int64).reshape(-1, 3)
    return PathColumns(table[:, 0], table[:, 1], table[:, 2])


def _between(direct: dict[int, int], between: list[dict[int, int]], chosen: int, back: int) -> dict[int, int]:
    """Returns the longest paths to a chosen node through earlier ones, looking back over at most `back` of these."""
    longest = dict(direct)
    for begin, took in direct.items():
        for earlier, more in between[begin].items() if begin >= 0 else ():
            longest[earlier] = max(longest.get(earlier, -(1 << 61)), more + took)
    return {begin: took for begin, took in longest.items() if begin == START or chosen - begin <= back}
