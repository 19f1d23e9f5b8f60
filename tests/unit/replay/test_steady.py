"""The period of a repeating step is that of its bottleneck; excess and changes reduce it as declared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.replay import steady
from tb_steptime.replay.changes import changes
from tb_steptime.replay.graph import Graph, build_graph
from tb_steptime.replay.host import Role
from tb_steptime.replay.sensitivity import (
    Sensitivity,
    free,
    pace_of,
    scaled,
    sensitivity,
    verdict,
    without,
    without_calls,
)
from tb_steptime.replay.steady import SteadyStep, less_excess, steady_step
from tb_steptime.replay.sweep import HOLDS, EdgeKind, edges_of, joined, repeated_starts
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.timeline import timeline

TIMES = st.integers(min_value=1, max_value=10**9)


def drawn(host_ns: int, device_ns: int, waits: bool, launch_ns: int = 0) -> SteadyStep:
    """A stretch, a launch, its activity, a stretch of 0, and a call that may wait for the activity."""
    own = np.array([host_ns, 0, device_ns, 0, 0], np.int64)
    role = np.array([Role.STRETCH, Role.CALL, Role.ACTIVITY, Role.STRETCH, Role.WAIT], np.uint8)
    nothing = np.zeros(5, np.int64)
    start = np.array([0, host_ns, host_ns, host_ns, host_ns], np.int64)

    def edge(kind: EdgeKind, before: int, after: int, lag: int = 0):
        return edges_of(kind, *(np.array([value], np.int64) for value in (before, after, lag)))

    inner = [edge(EdgeKind.LANE, 0, 1), edge(EdgeKind.LANE, 1, 3), edge(EdgeKind.LANE, 3, 4)]
    inner += [edge(EdgeKind.LAUNCH, 1, 2, launch_ns)] + ([edge(EdgeKind.RETURN, 2, 4)] if waits else [])
    links = joined([edge(EdgeKind.LANE, 4, 0), edge(EdgeKind.STREAM, 2, 2)])
    track = np.where(role == Role.ACTIVITY, 1, 0)
    graph = Graph(start, start + own, own, nothing, nothing, nothing, nothing - 1, role, track, joined(inner))
    return SteadyStep(graph, links, True, "1")


#: Each step launches one kernel, and waits for nothing.
LAUNCHES = timeline(
    """
    step     | 000000000011111111112222222222 |
    runtime  | k.........k.........k......... |
    kernel 7 | .kkkkkkkk..kkkkkkkk..kkkkkkkk. |"""
)


def steady_of(trace: Trace) -> SteadyStep:
    step = steady_step(trace, build_graph(trace))
    assert step is not None
    return step


@given(TIMES, TIMES)
def test_a_step_is_the_larger_of_its_two_periods(host_ns, device_ns):
    assert drawn(host_ns, device_ns, waits=False).length_ns == max(host_ns, device_ns)


@given(TIMES, TIMES, st.integers(0, 10**6))
def test_a_wait_in_each_step_puts_host_and_device_one_after_the_other(host_ns, device_ns, launch_ns):
    step = drawn(host_ns, device_ns, True, launch_ns)
    assert step.length_ns == host_ns + launch_ns + device_ns
    assert without(step, *HOLDS).length_ns == max(host_ns, device_ns)
    assert free(step, step.graph.on_device).length_ns == host_ns + launch_ns
    assert free(step, ~step.graph.on_device).length_ns == device_ns + launch_ns


@given(TIMES, st.integers(0, 8))
def test_scaled_work_takes_its_share(device_ns, eighths):
    step = drawn(1, 8 * device_ns, waits=False)
    assert scaled(step, step.graph.on_device, eighths / 8).length_ns == max(1, eighths * device_ns)


@pytest.mark.parametrize(
    "change",
    [
        lambda step: free(step, step.graph.role == Role.LOADER),
        lambda step: free(step, step.graph.waits),  # their own time is 0 already
        lambda step: scaled(step, step.graph.on_device, 1.0),
        lambda step: without(step, EdgeKind.BATCH),
        lambda step: without_calls(step, step.graph.role == Role.STRETCH),
        lambda step: step.with_own(step.graph.own_ns.copy()),
        lambda step: step.with_edges(step.graph.edges.with_lags(step.graph.edges.lag_ns.copy()), step.links),
    ],
)
def test_a_change_that_alters_nothing_returns_the_step_itself(change):
    step = drawn(5, 7, waits=True)
    assert change(step) is step


def test_only_graphs_change_a_step_that_only_launches_kernels():
    step = steady_of(LAUNCHES)
    assert [id for id, change in changes(LAUNCHES).items() if change(step) is not step] == ["launch_graphs"]


def test_parts_that_a_step_does_not_have_are_not_replayed(monkeypatch):
    """It has no loader, exchanges with no rank, and blocks nowhere: only host, device and both are replayed."""
    step, replays = steady_of(LAUNCHES), list[int]()
    assert step.length_ns == 10_000
    monkeypatch.setattr(steady, "repeated_starts", lambda *columns: replays.append(1) or repeated_starts(*columns))
    lengths = sensitivity(LAUNCHES, step)
    assert lengths.loader == lengths.communication == lengths.blocking == step.length_ns
    assert len(replays) == 3


def test_excess_beside_all_nodes_leaves_the_graph_itself():
    graph = drawn(5, 7, waits=False).graph
    track, at, kind = np.array([1], np.int32), np.array([500]), np.array([ExcessKind.INTERRUPTED], np.uint8)
    assert less_excess(graph, Excess(track, at, at + 9, kind, np.array([0], np.int32)), np.arange(3)) is graph


@given(TIMES, TIMES, st.data())
def test_excess_leaves_the_track_that_it_is_on(host_ns, device_ns, data):
    graph = drawn(host_ns, device_ns, waits=False).graph
    cut = data.draw(st.integers(0, device_ns))
    track, at, kind = np.array([1], np.int32), np.array([host_ns]), np.array([ExcessKind.INTERRUPTED], np.uint8)
    found = less_excess(graph, Excess(track, at, at + cut, kind, np.array([0], np.int32)), np.arange(3))
    assert found.own_ns.tolist() == [host_ns, 0, device_ns - cut, 0, 0]


@given(TIMES, st.data())
def test_excess_of_two_threads_leaves_their_lane_once(host_ns, data):
    """Thread 2 is the autograd engine's, which works while the training thread waits."""
    graph = drawn(host_ns, 5, waits=False).graph
    cuts = np.array([data.draw(st.integers(0, host_ns)) for _ in range(2)])
    track, at, kind = np.array([0, 2], np.int32), np.zeros(2, np.int64), np.full(2, ExcessKind.ONCE, np.uint8)
    found = less_excess(graph, Excess(track, at, cuts, kind, np.zeros(2, np.int32)), np.array([0, 1, 0]))
    assert found.own_ns.tolist() == [host_ns - cuts.max(), 0, 5, 0, 0]


@pytest.mark.parametrize(
    ("expected_pace", "expected"),
    [
        (Sensitivity(40, 100, 100, 100, 100, 20), "host"),
        (Sensitivity(100, 30, 100, 100, 100, 20), "gpu"),
        (Sensitivity(100, 95, 40, 100, 100, 20), "input"),
        (Sensitivity(100, 95, 100, 60, 100, 20), "communication"),
        (Sensitivity(50, 60, 100, 100, 58, 20), "sync"),
        (Sensitivity(98, 95, 100, 100, 100, 97), "unknown"),
    ],
)
def test_what_makes_the_step_shortest_sets_its_pace(expected_pace, expected):
    assert verdict(100, expected_pace, drawn(1, 1, waits=True)).value == expected


def test_a_step_that_nothing_shortens_alone_is_that_of_a_busy_stream_or_of_none():
    chain = Sensitivity(98, 91, 100, 100, 100, 1)
    found = [verdict(100, chain, drawn(1, device, waits=True)).value for device in (90, 30)]
    assert found == ["gpu", "dependency"]


def test_of_two_parts_that_take_about_as_long_side_by_side_the_longer_one_sets_the_pace():
    """Unless the device is hardly ever idle."""
    balanced = Sensitivity(92, 100, 100, 100, 100, 1)
    found = [verdict(100, balanced, drawn(1, device, waits=True)).value for device in (92, 75, 50)]
    assert found == ["gpu", "host", "host"]


def training_of(lengths: list[int], late: set[int]) -> Trace:
    """Steps of these lengths, in cells; in some of them the kernel waits for a reason that is not recorded."""
    waits = ["k.....kk." if number in late else "k.kk....." for number in range(len(lengths))]
    drawn = [each.rjust(length, ".") for each, length in zip(waits, lengths, strict=True)]
    shown = {
        "step": "".join(str(number) * length for number, length in enumerate(lengths)),
        "runtime": "".join(each[:-8] + "........" for each in drawn),
        "kernel 7": "".join("." * (len(each) - 8) + each[-8:] for each in drawn),
    }
    return timeline("\n".join(f"{label} | {cells} |" for label, cells in shown.items()), cell_ns=10_000)


@pytest.mark.parametrize(
    ("lengths", "late", "expected"),
    [
        ([20] * 5, set(), 2),
        ([20] * 5, {1, 3, 4}, 1),
        ([20] * 5, {2}, 1),
        ([20] * 5, {1, 2}, 2),
        ([20] * 5, {1, 2, 3}, 2),
        ([20] * 6, {3}, 1),
        ([20] * 6, {1, 2, 3}, 3),
        ([20] * 5, {1, 2, 3, 4}, 2),
        ([20, 20, 20, 30, 20], {1, 2, 4}, 2),
    ],
)
def test_of_steps_as_long_as_the_median_one_the_typical_one_is_replayed(lengths, late, expected):
    trace = training_of(lengths, late)
    found = steady_step(trace, build_graph(trace))
    assert found is not None
    assert found.number == expected
    assert (found.graph.unexplained_ns.sum() > 0) == (expected in late)


def test_the_last_inferred_step_ends_with_its_last_work_and_is_not_replayed():
    """What the CPU does behind it is not recorded. The steps are as far from the one before as that one is long, so the
    last one is the middle one of all but the first."""
    lengths = [20, 30, 28, 24, 24]
    calls = "".join("km".ljust(length, ".") for length in lengths)
    trace = timeline(
        f"user step | {''.join('u'.ljust(length, '.') for length in lengths)} |"
        f"\nruntime | {calls} |\nkernel 7 | .{calls[:-1]} |",
        cell_ns=10_000,
        names={"u": "model.forward"},
    )
    found = steady_step(trace, build_graph(trace))
    assert find_steps(trace).by == "inferred"
    assert found is not None and found.number == 3


def test_where_no_two_steps_launch_as_much_the_middle_one_is_replayed():
    launches, lengths = (3, 1, 4, 2, 5), (20, 24, 40, 28, 32)
    calls = "".join(("k." * number).rjust(length, ".") for number, length in zip(launches, lengths, strict=True))
    marks = "".join(str(number) * length for number, length in enumerate(lengths))
    trace = timeline(f"step | {marks} |\nruntime | {calls} |\nkernel 7 | .{calls[:-1]} |", cell_ns=10_000)
    found = steady_step(trace, build_graph(trace))
    assert found is not None and found.number == 3  # of all but the first


def graph_of(own: list[int], role: list[Role], track: list[int], edges: list[tuple[EdgeKind, int, int]]) -> Graph:
    nothing = np.zeros(len(own), np.int64)
    inner = [
        edges_of(kind, *(np.array([value], np.int64) for value in (before, after, 0))) for kind, before, after in edges
    ]
    roles, tracks = np.array(role, np.uint8), np.array(track, np.int64)
    return Graph(
        nothing, nothing, np.array(own, np.int64), nothing, nothing, nothing, nothing - 1, roles, tracks, joined(inner)
    )


def pace(graph: Graph, *links: tuple[EdgeKind, int, int]) -> str:
    """What sets the pace of a step that repeats, in a recording without exchanges."""
    between = [
        edges_of(kind, *(np.array([value], np.int64) for value in (before, after, 0))) for kind, before, after in links
    ]
    trace, step = timeline("kernel 7 | k |"), SteadyStep(graph, joined(between), True, 1)
    return pace_of(trace, step, step.length_ns, sensitivity(trace, step)).value


@pytest.mark.parametrize(("loader", "host", "expected"), [(29, 116, "input"), (16, 129, "host")])
def test_the_loader_comes_first_if_the_host_costs_less_without_it(loader, host, expected):
    """An instant host makes both steps as long as their kernels, 100: it is ahead, and waits for batches meanwhile."""
    role = [Role.LOADER, Role.STRETCH, Role.CALL, Role.ACTIVITY]
    edges = [(EdgeKind.LANE, 0, 1), (EdgeKind.LANE, 1, 2), (EdgeKind.LAUNCH, 2, 3)]
    graph = graph_of([loader, host, 0, 100], role, [0, 0, 0, 1], edges)
    assert pace(graph, (EdgeKind.LANE, 2, 0), (EdgeKind.STREAM, 3, 3)) == expected


@pytest.mark.parametrize(("loader", "host", "expected"), [(40, 2, "input"), (30, 12, "input"), (20, 22, "sync")])
def test_a_call_that_waits_before_a_batch_is_made_is_not_the_cause(loader, host, expected):
    """Without the call the host would make the next batch while the kernel runs, and a step would take 49 of 91."""
    role = [Role.LOADER, Role.STRETCH, Role.CALL, Role.ACTIVITY, Role.WAIT]
    edges = [(EdgeKind.LANE, 0, 1), (EdgeKind.LANE, 1, 2), (EdgeKind.LANE, 2, 4)]
    edges += [(EdgeKind.LAUNCH, 2, 3), (EdgeKind.RETURN, 3, 4)]
    graph = graph_of([loader, host, 0, 49, 0], role, [0, 0, 0, 1, 0], edges)
    assert pace(graph, (EdgeKind.LANE, 4, 0), (EdgeKind.STREAM, 3, 3)) == expected


@pytest.mark.parametrize(("waited_for", "expected"), [(2, "sync"), (4, "host")])
def test_a_wait_that_is_long_only_by_an_inferred_wait_of_streams_is_no_cause(waited_for, expected):
    """The second kernel may wait for the first, or was launched late: its own wait takes 5 of 115."""
    role = [Role.STRETCH, Role.CALL, Role.ACTIVITY, Role.CALL, Role.ACTIVITY, Role.WAIT]
    lane = [(EdgeKind.LANE, 0, 1), (EdgeKind.LANE, 1, 3), (EdgeKind.LANE, 3, 5)]
    device = [(EdgeKind.LAUNCH, 1, 2), (EdgeKind.LAUNCH, 3, 4), (EdgeKind.CROSSING, 2, 4)]
    edges = [*lane, *device, (EdgeKind.RETURN, waited_for, 5)]
    graph = graph_of([60, 0, 50, 0, 5, 0], role, [0, 0, 1, 0, 2, 0], edges)
    assert pace(graph, (EdgeKind.LANE, 5, 0), (EdgeKind.STREAM, 2, 2), (EdgeKind.STREAM, 4, 4)) == expected


def test_a_graph_is_cut_to_some_nodes():
    graph = drawn(3, 4, waits=True).graph
    host = ~graph.on_device
    between = host[graph.edges.before] & host[graph.edges.after]
    found = graph.subgraph(np.flatnonzero(host), graph.edges.where(between))
    assert (found.edges.before.tolist(), found.edges.after.tolist()) == ([0, 1, 2], [1, 2, 3])
    assert replace(found).recorded_ns == 3
