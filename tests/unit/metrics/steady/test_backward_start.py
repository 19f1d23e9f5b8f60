"""The start of autograd's engine in the first backward pass of a process, which no event shows."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.excluded_time.ranges import one_time_rows
from tb_steptime.metrics.steady.first_use import backward_start
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

MS = 1_000_000
NAMES = {
    "f": "aten::addmm",
    "l": "aten::nll_loss_forward",
    "o": "aten::ones_like",
    "n": "autograd::engine::evaluate_function: NllLossBackward0",
    "b": "autograd::engine::evaluate_function: AddmmBackward0",
    "a": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "x": "aten::detach",
    "c": "aten::clone",
}
#: The number of each op, and of each node; nodes know the thread of their op.
NUMBERS = {"f": (0, 0), "l": (1, 0), "n": (1, 1), "b": (0, 1)}
IDLE = "." * 10


def trained(op: str, nodes: str = "", first: int = 0, cell_ns: int = MS) -> Trace:
    """nodes: those on a thread of their own; first: the number of the first node in the recording."""
    numbers = {name: (number + first, thread) for name, (number, thread) in NUMBERS.items()}
    drawing = f"op | {op} |" + (f"\n        op nodes | {nodes} |" if nodes else "")
    return timeline(drawing, names=NAMES, sequences=numbers, cell_ns=cell_ns)


def start_ms(trace: Trace) -> list[tuple[float, float]]:
    return [(start / MS, end / MS) for start, end in backward_start(trace)[1]]


def test_it_lasts_from_the_gradient_of_the_loss_to_the_first_node_and_comes_once():
    trace = trained(f"fflo{IDLE}nbb.c")
    assert start_ms(trace) == [(4, 14)]
    (row,) = one_time_rows(trace, None)
    assert (row.cause, row.where, row.total_ns) == ("first_backward", "backward()", 10 * MS)


def test_nodes_may_run_on_a_thread_of_their_own():
    assert start_ms(trained(f"fflo{IDLE}....c", f"....{IDLE}nbb..")) == [(4, 14)]


@pytest.mark.parametrize(
    ("other", "trace"),
    [
        ("a process with nodes from before the recording", trained(f"fflo{IDLE}nbb.c", first=7)),
        ("Python code before backward() is called", trained(f"ffl{IDLE}onbb.c")),
        ("an op in between, so that Python runs", trained("fflo...x......nbb.c")),
        ("nodes of the loss on a thread that is not recorded", trained(f"fflo{IDLE}aabb.c")),
        ("an engine that has started", trained(f"fflo{IDLE}nbb.c", cell_ns=MS // 1_000)),
        ("inference", trained(f"fflo{IDLE}c")),
    ],
)
def test_what_looks_like_it(other: str, trace: Trace):
    assert start_ms(trace) == [], other


@pytest.mark.parametrize(("nodes", "found"), [(900, [(4, 14)]), (1100, [])])
def test_a_larger_graph_takes_longer_to_order(nodes: int, found: list[tuple[float, float]]):
    """Ten milliseconds are far more than a thousand nodes need."""
    trace = timeline(f"op | fflo{IDLE}n{'b.' * nodes} |", names=NAMES, sequences=NUMBERS, cell_ns=MS)
    assert start_ms(trace) == found
