"""Ops that wait for an exchange that they have started themselves, where there is no device."""

from __future__ import annotations

from tb_steptime.analyses.host import analyse
from tb_steptime.metrics.communication.exposure import exposure
from tb_steptime.metrics.communication.holding_ops import computing_ops, holding_ops
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

US = 1_000
NAMES = {
    "b": "autograd::engine::evaluate_function: _AlltoAllSingleBackward", "f": "_AlltoAllSingle", "e": "aten::empty",
    "c": "c10d::alltoall_base_", "g": "gloo:all_to_all", "m": "aten::mm",
}  # fmt: skip


def computed(trace: Trace) -> list[tuple[int, int]]:
    found = computing_ops(trace)
    return [(start // US, end // US) for start, end in zip(found.start.tolist(), found.end.tolist(), strict=True)]


def test_an_autograd_function_that_waits_for_its_all_to_all_does_not_compute():
    trace = timeline(
        """
        step       | 00000000000000000000 |
        op         | bbbbbbbbbbbbb..mmm.. |
        op         | .fffffffffff........ |
        op         | ..eecc.............. |
        op backend | .....ggggggg........ |
        op other   | .........mm......... |""",
        names=NAMES,
    )
    assert [trace.strings[int(trace.events.name[row])] for row in holding_ops(trace)] == ["_AlltoAllSingle"]
    # the function's child op, the node around it, another thread's op and the product compute
    assert computed(trace) == [(0, 1), (2, 4), (9, 11), (12, 13), (15, 18)]
    # the all-to-all runs from 5 to 12, and the other thread hides two of these
    assert exposure(trace).exposed_ns.tolist() == [5 * US]
    work = analyse(trace).cpu
    assert work is not None
    assert {op.op: op.self_ns for op in work.ops} == {
        "aten::mm": 5 * US,
        "autograd::engine::evaluate_function: _AlltoAllSingleBackward": 2 * US,
        "aten::empty": 2 * US,
    }


def test_an_op_that_starts_an_exchange_and_goes_on_computes():
    """A hook of DistributedDataParallel; and an op whose exchange began before it."""
    trace = timeline(
        """
        step       | 00000000000000000000 |
        op         | ffffff....ffff...... |
        op         | .cc.......cc........ |
        op backend | ..gggggggggggggggg.. |""",
        names=NAMES | {"f": "torch::autograd::AccumulateGrad"},
    )
    assert len(holding_ops(trace)) == 0
    assert computed(trace) == [(0, 6), (10, 14)]


def test_compiled_code_computes_without_calling_ops():
    trace = timeline(
        """
        step       | 00000000000000000000 |
        op         | ffffffffffffffffff.. |
        op         | .cc................. |
        op backend | ..gggg.............. |""",
        names=NAMES | {"f": "Torch-Compiled Region: 0/0"},
    )
    assert computed(trace) == [(0, 18)]
