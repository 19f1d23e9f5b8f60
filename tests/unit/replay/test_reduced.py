"""A reduced graph gives the same times as the whole graph, whichever nodes it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.communication.packed import packed, unpacked
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.reduced import START, PathColumns, Paths, longest_paths, paths_of, reduced
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of, first_of_each, joined, starts
from tb_steptime.trace.extension import PURE, reduce_function
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.table import Int64
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.simulated_ranks import MS
from tests.drawn.timeline import timeline
from tests.truth.simulate.rank_jobs import Declared, run, write

built = pytest.mark.skipif(reduce_function() is None, reason="the extension is not built: setup.py build_ext --inplace")


def swept(paths: PathColumns, own_ns: Int64) -> Int64:
    """Starts of the chosen nodes from their paths alone, as in a sweep of all nodes. own_ns: their own times."""
    timed = paths.before == START
    release = np.zeros(len(own_ns), np.int64)
    np.maximum.at(release, paths.after[timed], paths.lag[timed])
    edges = edges_of(EdgeKind.LANE, paths.before[~timed], paths.after[~timed], paths.lag[~timed])
    return starts(own_ns, release, joined([edges]))


def paths_between(own: Int64, release: Int64, edges: Edges, chosen: Int64) -> PathColumns:
    without = own.copy()
    without[chosen] = 0
    return longest_paths(without, release, edges, chosen)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Int64, Int64, Edges, Int64]:
    """Own times, releases, edges and chosen nodes of up to 12 nodes; the first is released, the others follow."""
    size = draw(st.integers(2, 12))
    times = st.integers(0, 100)
    own = np.array(draw(st.lists(times, min_size=size, max_size=size)), np.int64)
    pairs = [(draw(st.integers(0, after - 1)), after, draw(times)) for after in range(1, size)]
    pairs += [
        (before, after, draw(times))
        for before in range(size)
        for after in range(before + 1, size)
        if draw(st.integers(0, 3)) == 0
    ]
    before, after, lag = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    chosen = np.array(sorted(draw(st.sets(st.integers(0, size - 1), min_size=1))), np.int64)
    release = np.full(size, -1, np.int64)
    release[0] = draw(times)
    return own, release, joined([edges_of(EdgeKind.LANE, before, after, lag)]), chosen


@given(graphs(), st.integers(0, 300))
def test_paths_give_the_times_of_the_graph_with_any_own_time_of_the_chosen(drawn, longer: int) -> None:
    own, release, edges, chosen = drawn
    own[chosen] += longer
    paths = paths_between(own, release, edges, chosen)
    expected = starts(own, np.maximum(release, 0), edges)[chosen]
    assert swept(paths, own[chosen]).tolist() == expected.tolist()
    assert len(paths.after) <= len(chosen) * (len(chosen) + 1) // 2


def test_a_way_that_is_never_the_longer_one_is_left_out() -> None:
    """0 -> 1 -> 2 takes 5 + 5 plus the time of node 1. A direct edge 0 -> 2 of 10 is left out; one of 11 is kept."""
    none, edge = np.zeros(3, np.int64), (np.array([0, 1, 0]), np.array([1, 2, 2]))
    release, every = np.array([0, -1, -1]), np.arange(3)
    for alone, rows in ((10, [(-1, 0, 0), (0, 1, 5), (1, 2, 5)]), (11, [(-1, 0, 0), (0, 1, 5), (0, 2, 11), (1, 2, 5)])):
        edges = joined([edges_of(EdgeKind.LANE, *edge, np.array([5, 5, alone]))])
        assert [tuple(map(int, row)) for row in zip(*longest_paths(none, release, edges, every), strict=True)] == rows


@built
@given(graphs())
def test_c_reduces_as_python_does(drawn) -> None:
    own, release, edges, chosen = drawn
    found = paths_between(own, release, edges, chosen)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(PURE, "1")
        pure = paths_between(own, release, edges, chosen)
    assert [column.tolist() for column in found] == [column.tolist() for column in pure]


@built
@on_real_traces
def test_paths_of_real_graphs_give_their_times(name: str) -> None:
    graph = build_graph(read_real(name))
    if not len(graph):
        return
    chosen = np.arange(0, len(graph), max(7, len(graph) // 300))
    reached = np.zeros(len(graph), bool)
    reached[graph.edges.after] = True
    release = np.where(reached & (graph.release_ns <= 0), -1, graph.release_ns)
    paths = paths_between(graph.own_ns, release, graph.edges, chosen)
    expected = starts(graph.own_ns, graph.release_ns, graph.edges)[chosen]
    assert swept(paths, graph.own_ns[chosen]).tolist() == expected.tolist()


@built
def test_an_edge_that_leads_nowhere_is_an_error() -> None:
    edges = edges_of(EdgeKind.LANE, np.array([1]), np.array([0]), np.array([0]))
    with pytest.raises(ValueError, match="an edge leads nowhere"):
        longest_paths(np.array([1, 1]), np.array([0, 0]), edges, np.array([0]))
    assert first_of_each(edges, 2).tolist() == [0, 1, 1]


def test_the_steps_of_a_rank_end_as_recorded(tmp_path) -> None:
    """Only collectives wait for other ranks here; with an infinitely fast host no step ends later."""
    ran = run(Declared(2, steps=4, spread_ns=3_000_000, late={1: 9_000_000}, waits=True))
    write(ran, tmp_path)
    found = reduced(read_trace(tmp_path / "rank0_trace.json.gz"))
    own = np.array([0] * 4 + [meeting.end - int(meeting.start[0]) for meeting in ran.meetings] + [0] * 4)
    ends = in_time_order(paths_of(found.recorded), own)[-4:]
    assert unpacked(found.ended).tolist() == ends == ran.step_end
    assert all(np.less_equal(in_time_order(paths_of(found.instant_host), own)[-4:], ends))
    assert (found.no_loader, found.uninterrupted, found.unexplained) == (Paths(), Paths(), pytest.approx(0, abs=0.01))


@pytest.mark.parametrize("loads", [0, 5, 8])
def test_a_later_step_has_no_one_time_work(loads: int) -> None:
    """The first op loads a module for so long. Another op of its name shows that all of it comes once."""
    trace = timeline(
        f"""
        step     | 0000000000000000000000111111111111111 |
        op       | .aaaaaaaaaaaa...bb.....aa.....bb..... |
        driver   | ..{"m" * loads:.<35} |
        runtime  | ...........k....n......k......n...... |
        kernel 7 | ............kk..........kk........... |
        nccl 7   | .................nnn...........nnn... |""",
        calls={"m": "cuModuleLoadData"},
        cell_ns=MS,
    )
    found, own = reduced(trace), np.array([0, 0, 3 * MS, 3 * MS, 0, 0])
    recorded = in_time_order(paths_of(found.recorded), own)
    once = find_excess(trace).of(ExcessKind.ONCE).intervals().total_ns
    assert once >= loads * MS
    assert (found.later == Paths()) is (once == 0)
    if once:
        later = in_time_order(paths_of(found.later), own)
        assert (np.array(recorded) - later).tolist() == [0, *[once] * 5]
    assert [each // MS for each in recorded] == [0, 17, 17, 31, 20, 34]


def in_time_order(paths: PathColumns, own_ns: Int64) -> list[int]:
    """Starts by paths whose nodes are numbered by kind: paths are evaluated repeatedly until all starts are final."""
    found = np.zeros(len(own_ns), np.int64)
    for _ in own_ns:
        came = np.where(paths.before == START, paths.lag, (found + own_ns)[paths.before] + paths.lag)
        np.maximum.at(found, paths.after, came)
    return [int(start) for start in found]


def test_columns_of_different_lengths_are_refused() -> None:
    assert [len(column) for column in paths_of(Paths())] == [0, 0, 0]
    with pytest.raises(ValueError, match="different lengths"):
        paths_of(Paths(before=packed(np.array([1]))))


def test_without_waits_for_batches_no_late_batch_is_left() -> None:
    """Two batches come late. Workers make the second one in the time since the first, of which nothing shows since when
    they make it."""
    trace = timeline(
        """
        step     | 0000000000111111111122222222223333333333 |
        loader   | l.........llll......l.........llll...... |
        op       | .aaa..........aaa....aaa..........aaa... |
        runtime  | .k.n..........k.n....k.n..........k.n... |
        kernel 7 | ..k............k......k............k.... |
        nccl 7   | ....n............n......n............n.. |""",
        cell_ns=MS,
    )
    found = reduced(trace)
    recorded, without = (
        {(int(before), int(after)): int(lag) for before, after, lag in zip(*paths_of(paths), strict=True)}
        for paths in (found.recorded, found.no_loader)
    )
    to_collectives = [(0, 4), (1, 5), (2, 6)]  # each from the begin of its step
    assert [(recorded[path] - without[path]) // MS for path in to_collectives] == [1, 4, 1]
    assert without[3, 7] == without[1, 5]
