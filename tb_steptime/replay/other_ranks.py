"""The influence of other ranks: a collective ends when the last of them has arrived, whatever this rank does before.

this rank   ---[wait   [==]----------[==]        as recorded
changed     -[wait     [==]----------[==]        its launch comes earlier, the others do not
others      |---------->|                        their own time since they all left the collective before

If this rank was the last one, nothing shows how long the others had waited, so they do not hold it there.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.communication.collectives import find_collectives
from tb_steptime.metrics.communication.est_waits import longer_than_best_ns
from tb_steptime.replay.graph import Graph
from tb_steptime.replay.steady import (
    COPIES,
    SteadyStep,
)
from tb_steptime.replay.sweep import EdgeKind, edges_of, joined, repeated_starts
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64


def held_by_ranks(trace: Trace, step: SteadyStep) -> SteadyStep:
    """Returns the same step with its collectives taking only their own time, and waiting for ranks that arrive as in
    the recording. They arrive the same time after their group's previous collective or, if that is not in the step, at
    the same time."""
    graph = step.graph
    nodes, group = _collectives(trace, graph)
    if not len(nodes):
        return step
    longer = np.zeros(len(trace.events), np.int64)
    longer[find_collectives(trace).event] = longer_than_best_ns(trace)
    wait = np.minimum(longer[graph.event[nodes]], graph.own_ns[nodes])
    if not wait.any():
        return step
    copies = COPIES if step.repeats else 1
    began = repeated_starts(graph.own_ns, graph.release_ns, graph.edges, step.links, copies)
    ended = began + graph.own_ns
    own_ns, release = graph.own_ns.copy(), graph.release_ns.copy()
    own_ns[nodes] -= wait
    arrived = began[-1, nodes] + wait
    in_turn = np.lexsort((nodes, group))
    first = np.append(True, np.diff(group[in_turn]) != 0)
    before = np.append(-1, in_turn[:-1])
    last_of_group = in_turn[np.append(np.flatnonzero(first)[1:] - 1, len(in_turn) - 1)]
    before[first] = last_of_group
    waits = wait[in_turn] > 0
    after = nodes[in_turn[waits]]
    before = nodes[before[waits]]
    first = first[waits]
    lag = arrived[in_turn[waits]] - ended[np.where(first, max(copies - 2, 0), copies - 1), before]
    edges = joined([graph.edges, edges_of(EdgeKind.RANKS, before[~first], after[~first], lag[~first])])
    links = step.links
    if step.repeats:
        links = joined([links, edges_of(EdgeKind.RANKS, before[first], after[first], lag[first])])
    else:
        release[after[first]] = arrived[in_turn[waits]][first]
    return replace(step, graph=replace(graph, own_ns=own_ns, release_ns=release, edges=edges), links=links)


def _collectives(trace: Trace, graph: Graph) -> tuple[Int64, Int64]:
    """Returns the nodes that are collectives, and a number for the group of each."""
    collectives = find_collectives(trace)
    place = np.full(len(trace.events), -1, np.int64)
    place[collectives.event] = Groups.of(collectives.group, collectives.group_size).place
    group = np.where(graph.on_device, place[graph.event], -1)
    nodes = np.flatnonzero(group >= 0)
    return nodes, group[nodes]
