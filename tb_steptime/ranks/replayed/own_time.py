"""The reduced graph of a rank, made from its collectives and steps only, for jobs in which nothing ran on a device.

rank    begin [own work     |wait wait]     [own work]  end         its thread works until it waits for a collective,
                      [collective     ]                             whose time that no computation hides is the wait
paths    begin --> collective  --> (wait ends) --> end
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.exchanges import START_UNIT_NS
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.replay.reduced import START, PathColumns, longest_paths
from tb_steptime.replay.sweep import EdgeKind, edges_of
from tb_steptime.trace.table import Int64

#: Kinds of instants, in the order in which simultaneous ones are processed.
_RETURN, _END, _BEGIN, _CALL = range(4)


def paths_of_own_time(span: RankSpan, spared_ns: Int64 | None = None) -> PathColumns:
    """Nodes are those of `Paths`. spared_ns: by how much the rank's own work is shortened in each step. Raises what
    reading results raises."""
    kept = span.ranks_result.exchanges
    start, length = unpacked(kept.start) * START_UNIT_NS, np.maximum(unpacked(kept.length), 1)
    exposed = unpacked(kept.exposed)
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
    found = longest_paths(own, release, edges.where(np.argsort(edges.after, kind="stable")), np.sort(chosen))
    number = np.argsort(chosen)
    return PathColumns(np.where(found.before < 0, START, number[found.before]), number[found.after], found.lag)


def _own_order(at: Int64, wait: Int64, kind: Int64, spared_ns: Int64 | None) -> tuple[Int64, Int64, Int64]:
    """Returns the edges of the rank's own work from each instant to the next. Nothing follows the begin of a
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
    begins = np.where(wait[follows] > 0, at[follows] - wait[follows], np.iinfo(np.int64).max)
    earliest = np.minimum.accumulate(begins[::-1])[::-1]
    upcoming = np.searchsorted(follows, np.arange(len(at)))
    return np.append(earliest, np.iinfo(np.int64).max)[upcoming]
