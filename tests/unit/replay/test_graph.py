"""A copy of pageable memory waits for its stream: its call is a wait, although it returns before or after the copy
ends."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.replay.graph import build_graph
from tb_steptime.replay.sweep import EdgeKind, starts
from tb_steptime.replay.waits import RETURN_NS
from tests.drawn.timeline import timeline

#: Time of a cell in a drawing, ns.
CELL = 10_000
#: The copy that follows on a kernel, the one that finds an idle stream, and those whose calls end long before them.
BEHIND = """
    runtime  | k.cccccccccc...... |
    kernel 7 | .kkkkkkk.......... |
    memcpy 7 | ........ccccccc... |"""
IDLE = """
    runtime  | k.cccccccccc...... |
    kernel 7 | .k................ |
    memcpy 7 | .....cccccccccc... |"""
FAR_BEYOND = """
    runtime  | k.cccccccccc.................... |
    kernel 7 | .kkkkkkk........................ |
    memcpy 7 | ........cccccccccccccccccccccc.. |"""
#: The last kernel ends just before the call returns: nothing says that the call waited for its copy.
AT_ITS_END = """
    runtime  | k.cccccccccc...... |
    kernel 7 | .kkkkkkkkkk....... |
    memcpy 7 | ...........ccc.... |"""


def copying(drawing: str):
    return timeline(drawing, names={"c": "Memcpy HtoD (Pageable -> Device)"}, cell_ns=CELL)


@pytest.mark.parametrize(
    ("drawing", "own", "lags"),
    [(BEHIND, 0, [-3]), (IDLE, 10, []), (FAR_BEYOND, 10, []), (AT_ITS_END, 0, [1])],
    ids=["behind", "idle", "far_beyond", "at_its_end"],
)
def test_a_staged_copy_waits_for_work_before_it_on_its_stream(drawing, own, lags):
    trace = copying(drawing)
    graph = build_graph(trace)
    (call,) = [node for node, row in enumerate(graph.event) if row >= 0 and trace.name_of(row) == "cudaMemcpyAsync"]
    is_return = graph.edges.kind == EdgeKind.RETURN
    assert graph.own_ns[call] == own * CELL
    assert (graph.edges.lag_ns[is_return] // CELL).tolist() == lags
    assert graph.edges.after[is_return].tolist() == [call] * len(lags)
    ends = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    assert ends.tolist() == graph.end_ns.tolist()


@pytest.mark.parametrize("kernel", range(3, 8))
def test_a_call_that_stages_a_copy_is_as_much_shorter_as_the_kernel_before_it(kernel):
    """The stretches of the thread and the start of the copy behind its call's beginning stay as they are."""
    trace = copying(BEHIND)
    graph = build_graph(trace)
    kernels = graph.own_ns == 7 * CELL
    kernels &= [row >= 0 and trace.name_of(row) == "k" for row in graph.event]
    graph.own_ns[kernels] = kernel * CELL
    ends = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    assert ends[graph.waits].tolist() == [(12 - 7 + kernel) * CELL]


CELL_OF_COPIES = 2 * RETURN_NS
#: The calls of copies to the CPU: one goes on long after its copy has ended, and one returns with it.
EMPTIES = """
    runtime  | k.cccccccccc... |
    kernel 7 | .kkkkkk........ |
    memcpy 7 | .......ccc..... |"""
RETURNS = """
    runtime  | k.cccccccccc... |
    kernel 7 | .kkkkkkkk...... |
    memcpy 7 | .........ccc... |"""


@pytest.mark.parametrize(("drawing", "own"), [(EMPTIES, 2), (RETURNS, 0)], ids=["empties", "returns"])
@pytest.mark.parametrize("copy", [3, 1])
def test_a_call_waits_for_its_copy_and_then_empties_the_staging_memory(drawing, own, copy):
    trace = timeline(drawing, names={"c": "Memcpy DtoH (Device -> Pageable)"}, cell_ns=CELL_OF_COPIES)
    graph = build_graph(trace)
    (call,) = np.flatnonzero(graph.waits)
    assert (graph.own_ns[call], graph.end_ns[call]) == (own * CELL_OF_COPIES, 12 * CELL_OF_COPIES)
    (copied,) = [node for node in np.flatnonzero(graph.on_device) if trace.name_of(graph.event[node]).startswith("Mem")]
    graph.own_ns[copied] = copy * CELL_OF_COPIES
    ends = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    assert ends[call] == (12 - 3 + copy) * CELL_OF_COPIES
