"""The reduced graph of each rank of a job, with the steps and collectives that its nodes stand for.

For jobs in which nothing ran on a device, the graph of a rank is made from its collectives and steps only.

rank    begin [own work     |wait wait]     [own work]  end         its thread works until it waits for a collective,
                      [collective     ]                             whose time that no computation hides is the wait
paths    begin --> collective  --> (wait ends) --> end
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tb_steptime.metrics.communication.exchanges import START_UNIT_NS, ExchangeClass
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.ranks.matching import UNEVEN
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.replay.reduced import START, PathColumns, longest_paths, paths_of
from tb_steptime.replay.sweep import EdgeKind, edges_of
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.table import Bool, Int64

#: A change of all ranks for which their summaries hold graphs.
Variant = Literal["recorded", "later", "instant_host", "no_loader", "uninterrupted"]
#: Properties in which exchanges agree that two ranks may do in each other's place.
_CallKind = tuple[str, int | None, tuple[bool, bool] | None]
#: Metric of a step's wait for its batches, where ops run on the host alone.
_LOADER = "data_loading_exposed"


@dataclass(frozen=True, eq=False)
class RankGraph:
    """The reduced graph of one rank.

    paths                see `Paths`
    step                 place of each node's step among the job's
    own_ns               duration of each node, not 0 for collectives that are not joined to other ranks
    kind                 a number for each collective, the same on all ranks
    began_ns, ended_ns   recorded times of the job's steps, -1 for a step that the rank does not have
    origin_ns            epoch time
    steps                number of the rank's steps
    """

    paths: PathColumns
    step: Int64
    own_ns: Int64
    kind: Int64
    began_ns: Int64
    ended_ns: Int64
    origin_ns: int
    steps: int

    @property
    def is_call(self) -> Bool:
        """A mask of the nodes that are collectives."""
        number = np.arange(len(self.step))
        return (number >= self.steps) & (number < len(self.step) - self.steps)

    @property
    def path_step(self) -> Int64:
        """The step of each path's work: that of the node that it leads to. Only what leads to the begin of a step is
        work of the step before it, such as a host that waits at its end.

        step 5   begin --host, kernels--> collective --> end
                   |--host waits for kernels--> begin of step 6      work of step 5
        """
        before, after, _ = self.paths
        is_begin = (after > 0) & (after < self.steps) & (before != START)
        return self.step[np.where(is_begin, after - 1, after)]


def rank_graphs(spans: Sequence[RankSpan], names: Sequence[str], variant: Variant) -> list[RankGraph] | None:
    """Returns the graphs of all ranks with this change. A graph that the change leaves as it is is that of a later
    step. Returns None where it changes none of them, or the steps of a rank are not known. Raises what reading results
    raises."""
    on_device = by_device(spans)
    kinds: dict[_CallKind, int] = {}
    paths = [_paths(span, variant, on_device=on_device) for span in spans]
    if not any(paths) or not all(span.step_names for span in spans):
        return None
    return [
        _graph(span, names, own or _later_paths(span, on_device=on_device), kinds, on_device=on_device)
        for span, own in zip(spans, paths, strict=True)
    ]


def by_device(spans: Sequence[RankSpan]) -> bool:
    """Returns whether all ranks have a graph of host and devices. Raises what reading results raises."""
    return all(span.ranks_result.reduced.recorded.after.count for span in spans)


def unexplained(span: RankSpan) -> float:
    """Returns the share of a span's recording that the replay does not explain, or 0 where nothing ran on a device."""
    return span.ranks_result.reduced.unexplained


def _graph(
    span: RankSpan, names: Sequence[str], paths: PathColumns, kinds: dict[_CallKind, int], *, on_device: bool
) -> RankGraph:
    exchanges = span.ranks_result.exchanges
    steps = len(span.step_names)
    reduced = span.ranks_result.reduced
    of_step = np.array([names.index(name) for name in span.step_names], np.int64)
    began, ended = span.step_start_ns, span.step_start_ns + span.step_ns
    if on_device:
        began, ended = unpacked(reduced.began), unpacked(reduced.ended)
        ended = np.where(ended > 0, ended, -1)
    of_class = [kinds.setdefault(_call_kind(each, span.rank), len(kinds)) for each in exchanges.classes]
    length = unpacked(exchanges.length)
    nodes = 2 * steps + len(length)
    if len(ended) != steps or len(began) != steps or not _within(paths, nodes):
        raise ValueError("a reduced graph is not of the steps and collectives of its recording")
    return RankGraph(
        paths=paths,
        step=np.concatenate((of_step, of_step[unpacked(exchanges.step)], of_step)),
        own_ns=np.concatenate((np.zeros(steps, np.int64), length, np.zeros(steps, np.int64))),
        kind=np.array(of_class, np.int64)[unpacked(exchanges.of)],
        began_ns=_by_step_of_job(began, of_step, len(names)),
        ended_ns=_by_step_of_job(ended, of_step, len(names)),
        origin_ns=span.origin_ns,
        steps=steps,
    )


def _call_kind(each: ExchangeClass, rank: int) -> _CallKind:
    """Returns the properties in which exchanges of one kind agree. Messages are also distinguished by whether they are
    sent or received, and whether the peer is an earlier or a later rank. Bytes do not distinguish exchanges in which
    they may differ over ranks."""
    direction = None if each.peer is None else (each.sends, each.peer > rank)
    return each.kind, None if each.kind in UNEVEN else each.bytes, direction


def _paths(span: RankSpan, variant: Variant, *, on_device: bool) -> PathColumns | None:
    """Returns the paths of a variant, or None where it changes nothing or is not known."""
    if variant == "recorded":
        return _recorded_paths(span, on_device=on_device)
    if on_device:
        paths = getattr(span.ranks_result.reduced, variant)
        return paths_of(paths) if paths.after.count else None
    if variant == "no_loader" and _LOADER in span.figures:
        return paths_of_own_time(span, np.nan_to_num(span.figures[_LOADER]).astype(np.int64))
    return None


def _recorded_paths(span: RankSpan, *, on_device: bool) -> PathColumns:
    return paths_of(span.ranks_result.reduced.recorded) if on_device else paths_of_own_time(span)


def _later_paths(span: RankSpan, *, on_device: bool) -> PathColumns:
    return _paths(span, "later", on_device=on_device) or _recorded_paths(span, on_device=on_device)


def _within(paths: PathColumns, nodes: int) -> bool:
    return not len(paths.after) or bool(
        (paths.before >= START).all()
        and (paths.after >= 0).all()
        and max(paths.before.max(), paths.after.max()) < nodes
    )


def _by_step_of_job(values: Int64, of_step: Int64, steps: int) -> Int64:
    result = np.full(steps, -1, np.int64)
    result[of_step] = values
    return result


def in_place_of(graph: RankGraph, other: RankGraph, steps: Int64) -> RankGraph:
    """Returns the rank's graph with the other rank's work in these of the job's steps. The two do the same steps. The
    rank begins its first step at the same time as before."""
    replaced = np.zeros(int(graph.step.max(initial=0)) + 1, bool)
    replaced[steps[steps < len(replaced)]] = True
    own_paths = ~replaced[graph.path_step] | (graph.paths.before == START)
    new = replaced[other.path_step] & (other.paths.before != START)
    paths = PathColumns(
        *(np.append(own[own_paths], replacing[new]) for own, replacing in zip(graph.paths, other.paths, strict=True))
    )
    return replace(graph, paths=paths, own_ns=np.where(replaced[graph.step], other.own_ns, graph.own_ns))


#: Kinds of instants, in the order in which simultaneous ones are processed.
_RETURN, _END, _BEGIN, _CALL = range(4)


def paths_of_own_time(span: RankSpan, spared_ns: Int64 | None = None) -> PathColumns:
    """Returns the paths of a rank's own time between its collectives. The nodes are those of `Paths`. spared_ns: by how
    much the rank's own work is shortened in each step. Raises what reading results raises."""
    exchanges = span.ranks_result.exchanges
    start = unpacked(exchanges.start) * START_UNIT_NS
    length = np.maximum(unpacked(exchanges.length), 1)
    exposed = unpacked(exchanges.exposed)
    wait = np.where(exposed < 0, length, exposed)
    steps, calls = len(span.step_ns), len(start)
    # begins of steps, begins and ends of collectives, ends of steps; then their places in time order
    at = np.concatenate((span.step_start_ns, start, start + length, span.step_start_ns + span.step_ns))
    kind = np.repeat([_BEGIN, _CALL, _RETURN, _END], [steps, calls, calls, steps])
    order = np.lexsort((kind, at))
    waits = np.concatenate((np.zeros(steps + calls, np.int64), wait, np.zeros(steps, np.int64)))
    place = np.empty(len(at), np.int64)
    place[order] = np.arange(len(order))
    before, after, lag = _own_order(at[order], waits[order], kind[order], spared_ns)
    own = np.zeros(len(at), np.int64)
    ended = place[steps + calls : steps + 2 * calls]
    began = place[steps : steps + calls]
    edges = edges_of(
        EdgeKind.LANE,
        np.concatenate((before, began)),
        np.concatenate((after, ended)),
        np.concatenate((lag, np.zeros(calls, np.int64))),
    )
    release = np.full(len(at), -1, np.int64)
    release[: 1 if len(at) else 0] = at[order[:1]]
    chosen = np.concatenate((place[: steps + calls], place[steps + 2 * calls :]))
    paths = longest_paths(own, release, edges.where(np.argsort(edges.after, kind="stable")), np.sort(chosen))
    number = np.argsort(chosen)
    return PathColumns(np.where(paths.before < 0, START, number[paths.before]), number[paths.after], paths.lag)


def _own_order(at: Int64, wait: Int64, kind: Int64, spared_ns: Int64 | None) -> tuple[Int64, Int64, Int64]:
    """Returns the edges of the rank's own work from each instant to the next. Nothing follows the start of a
    collective: it is reached while the work goes on."""
    follows = np.flatnonzero((kind != _CALL) & ((kind != _RETURN) | (wait > 0)))
    previous = np.searchsorted(follows, np.arange(len(at))) - 1
    after = np.flatnonzero((previous >= 0) & ((kind != _RETURN) | (wait > 0)))
    before = follows[previous[after]]
    # a wait begins when its exposed time does; until then the rank works, and what begins meanwhile follows that work
    worked_until = np.minimum(at, _next_wait(at, wait, follows))
    until = np.where(wait[after] > 0, at[after] - wait[after], worked_until[after])
    lag = np.maximum(until - at[before], 0)
    if spared_ns is not None:
        of_begin = np.flatnonzero(kind[before] == _BEGIN)
        step = np.searchsorted(np.flatnonzero(kind == _BEGIN), before[of_begin])
        lag[of_begin] = np.maximum(lag[of_begin] - spared_ns[step], 0)
    return before, after, lag


def _next_wait(at: Int64, wait: Int64, follows: Int64) -> Int64:
    """Returns for each instant when the rank's next wait begins."""
    begins = np.where(wait[follows] > 0, at[follows] - wait[follows], NEVER)
    earliest = np.minimum.accumulate(begins[::-1])[::-1]
    upcoming = np.searchsorted(follows, np.arange(len(at)))
    return np.append(earliest, NEVER)[upcoming]
