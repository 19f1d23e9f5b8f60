"""What checkpoints compute again, on drawn traces: a GPU that is busy all the time, in three steps of ten cells."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.insights.base import Severity
from tb_steptime.metrics.steps.recomputed import Recomputed, recomputed
from tb_steptime.replay.whatif import what_if
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Device, Job, Trace
from tests.drawn.cards import card, card_sentence, sure
from tests.drawn.memory import with_memory
from tests.drawn.timeline import A100, timeline

STEPS, CELL_US = 4, 100
NAMES = {
    "f": "aten::linear", "r": "aten::linear", "g": "aten::gelu", "m": "aten::mm", "x": "aten::mm",
    "N": f"{NODE}AddmmBackward0", "C": f"{NODE}CheckpointFunctionBackward", "U": f"{NODE}ReversibleBackward",
}  # fmt: skip
#: Ops of the forward pass, and those inside of nodes that run with gradients, have numbers.
NUMBERS = {"f": (5, 0), "r": (7, 0), "g": (8, 0), "x": (7, 0), "N": (5, 1), "C": (5, 1), "U": (5, 1)}


def drawn(node: str = "N", inside: str = "rg", *, kept: int = 40, reserved: int = 200, uneven: int = 0) -> Trace:
    """The forward pass calls f, and the node of f calls `inside`, whose kernels take four of ten cells, and then m.
    What `inside` allocates is alive until m has ended."""
    ops, nested = f"ff{node * 6}..", f"..{inside[0] * 2}{inside[1] * 2}mm.."
    calls = "f.r.g.m..."
    text = f"""
        step     | {"".join(str(each) * 10 for each in range(STEPS))} |
        op       | {ops * STEPS} |
        op       | {nested * STEPS} |
        runtime  | {calls * STEPS} |
        kernel 7 | .{("ffrrggmmmm" * STEPS)[:-1]} |"""
    trace = timeline(text, names=NAMES, sequences=NUMBERS, cell_ns=1000 * CELL_US, devices={0: _with(1000)})
    events = [
        f"{name}{step} {sign}{size + uneven * step} @{(10 * step + at) * CELL_US}"
        for step in range(STEPS)
        for name, size, born, died in (("k", kept, 3, 8), ("t", 10, 4.5, 5.5), ("w", 30, 6.5, 7.5))
        for sign, at in (("+", born), ("-", died))
    ]
    return with_memory(trace, ", ".join(events), before=100, reserved=reserved)


def _with(memory_bytes: int) -> Device:
    return replace(A100, memory_bytes=memory_bytes)


@pytest.mark.parametrize("node", ["N", "C"])
def test_a_checkpoint_computes_again_what_its_node_needs(node: str):
    """t is freed before the last of the ops ends, and w belongs to the backward pass."""
    assert recomputed(drawn(node), 0) == Recomputed(calls=1, ns=400_000, kept_bytes=40)


@pytest.mark.parametrize(
    ("node", "inside"),
    [
        ("N", "mm"),  # a backward pass
        ("N", "xg"),  # that is differentiated once more: no layers
        ("U", "rg"),  # a function of the user's that computes again
    ],
)
def test_other_ops_inside_of_nodes_are_no_checkpoint(node: str, inside: str):
    trace = drawn(node, inside)
    assert recomputed(trace, 0) is None
    assert card(trace, "needless_checkpoints") is None


def test_without_memory_the_time_is_known_alone():
    trace = drawn()
    bare = replace(trace, memory=trace.memory.where(trace.memory.ts < 0), memo={})
    assert recomputed(bare, 0) == Recomputed(1, 400_000, None)
    assert card(bare, "needless_checkpoints") is None


def test_the_replayed_step_has_neither_these_ops_nor_their_kernels():
    found = what_if(drawn(), ["needless_checkpoints"])
    assert found is not None and found.trusted
    assert (found.steady_step_ns, found.changes[0].gain_ns) == (1_000_000, 400_000)


def test_the_card_promises_the_replayed_gain():
    insight = sure(drawn(), "needless_checkpoints")
    assert (insight.gain_ns, insight.severity.value, insight.confidence.value) == (400_000, "major", "medium")
    assert card_sentence(insight) == (
        "One checkpoint computes activations again in each step, for 400 µs on the GPU. "
        "Kept, they take up to 40 B of 800 B free."
    )


def test_a_gpu_that_would_be_nearly_full_needs_its_checkpoints():
    assert card(drawn(kept=40, reserved=761), "needless_checkpoints") is None
    assert card(drawn(kept=40, reserved=760), "needless_checkpoints") is not None


def test_where_batches_or_ranks_may_need_more_the_card_is_minor():
    uneven = sure(drawn(uneven=20), "needless_checkpoints")
    one_of_two = sure(replace(drawn(), job=Job(rank=0, world_size=2)), "needless_checkpoints")
    assert [(each.severity.value, each.confidence.value) for each in (uneven, one_of_two)] == [("minor", "low")] * 2


def on_cpu(inside: str) -> Trace:
    """The same without a GPU: the forward pass, and `inside` and a product in the node of its backward pass."""
    return timeline(
        f"""
        step | {"".join(str(each) * 10 for each in range(STEPS))} |
        op   | {"ffNNNNNN.." * STEPS} |
        op   | {f"..{inside[0] * 2}{inside[1] * 2}mm.." * STEPS} |""",
        names=NAMES,
        sequences=NUMBERS,
        cell_ns=1000 * CELL_US,
    )


def test_on_a_cpu_the_card_is_a_guess_since_its_memory_is_not_recorded():
    insight = sure(on_cpu("rg"), "needless_checkpoints")
    assert (insight.gain_ns, insight.severity) == (400_000, Severity.MINOR)
    assert card_sentence(insight) == "One checkpoint computes activations again in each step, for 400 µs."
    assert card(on_cpu("xg"), "needless_checkpoints") is None, "a backward pass that is differentiated once more"
