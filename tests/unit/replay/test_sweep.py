"""The sweep starts each node as soon as everything that the node waits for allows it."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.steady import COPIES, steady_step
from tb_steptime.replay.sweep import EdgeKind, edges_of, repeated_starts, starts
from tb_steptime.trace.extension import PURE, sweep_function
from tests.drawn.real_traces import on_real_traces, read_real


def test_a_node_starts_after_the_latest_of_its_edges() -> None:
    edges = edges_of(EdgeKind.LANE, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1, 20, -2]))
    assert starts(np.array([4, 10, 3]), np.array([5, 0, 0]), edges).tolist() == [5, 10, 29]
    assert starts(np.array([4, 20, 3]), np.array([5, 0, 0]), edges).tolist() == [5, 10, 29]
    assert starts(np.array([4, 30, 3]), np.array([5, 0, 0]), edges).tolist() == [5, 10, 38]


@on_real_traces
def test_edges_lead_forward_and_less_work_is_never_longer(name: str) -> None:
    graph = build_graph(read_real(name))
    assert (graph.edges.before < graph.edges.after).all()
    assert (np.diff(graph.edges.after) >= 0).all()
    assert (graph.own_ns >= 0).all()
    if not len(graph):  # nothing is launched
        assert not len(graph.edges)
        return
    as_recorded = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    for free in (graph.on_device, ~graph.on_device):
        own = np.where(free, 0, graph.own_ns)
        assert ((starts(own, graph.release_ns, graph.edges) + own) <= as_recorded).all()
    assert as_recorded.max() > 0


@pytest.mark.skipif(sweep_function() is None, reason="the extension is not built: python setup.py build_ext --inplace")
@on_real_traces
def test_c_sweeps_as_python_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = read_real(name)
    step = steady_step(trace, build_graph(trace))
    if step is None:
        return
    graph = step.graph
    swept = repeated_starts(graph.own_ns, graph.release_ns, graph.edges, step.links, COPIES)
    monkeypatch.setenv(PURE, "1")
    assert (swept == repeated_starts(graph.own_ns, graph.release_ns, graph.edges, step.links, COPIES)).all()


@pytest.mark.skipif(sweep_function() is None, reason="the extension is not built: python setup.py build_ext --inplace")
def test_an_edge_that_leads_nowhere_is_an_error() -> None:
    edges = edges_of(EdgeKind.LANE, np.array([1]), np.array([0]), np.array([0]))
    with pytest.raises(ValueError, match="an edge leads nowhere"):
        starts(np.array([1, 1]), np.array([0, 0]), edges)
