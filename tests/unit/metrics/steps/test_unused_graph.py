"""Nodes of forward ops that no backward pass runs, on drawn traces."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tb_steptime.metrics.steps.autograd_graph import UnusedGraph, unused_graph
from tb_steptime.trace.model import Trace
from tests.drawn.cards import card, card_sentence, sure
from tests.drawn.timeline import timeline

NODE = "autograd::engine::evaluate_function: "


@dataclass
class _Drawing:
    """Two cells for each op, a character for each of its own, because sequence numbers belong to characters."""

    ops: str = ""
    inside: str = ""
    marks: str = ""
    names: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    number: int = 5

    def add(self, name: str, number: int, thread: int, inside: str = "..") -> str:
        char = chr(0x100 + len(self.names))
        self.names[char], self.numbers[char] = name, (number, thread)
        self.ops, self.inside = self.ops + char * 2, self.inside + inside
        return char

    def again(self) -> str:
        """An op that creates a node, inside of what is added next."""
        char = chr(0x100 + len(self.names))
        self.names[char], self.numbers[char] = "aten::addmm", (self.number, 0)
        self.number += 1
        return char + "."


def drawn(*steps: str, compiling: bool = False) -> Trace:
    """By step: l a layer that runs backward, in its place at B; t a layer that never does, n another op that never
    does, f an op of a frozen layer; B the backward pass of all layers so far, K the same with a layer computed again
    inside of each node. compiling: whether torch.compile traces the layers that never do."""
    drawing, pending, traced = _Drawing(), list[int](), ""
    for place, step in enumerate(steps):
        begins = len(drawing.ops)
        for each in step:
            if each in "BK":
                while pending:
                    inside = drawing.again() if each == "K" else ".."
                    drawing.add(NODE + "AddmmBackward0", pending.pop(), 1, inside)
                continue
            char = drawing.add("aten::mul" if each == "n" else "aten::addmm", drawing.number, 0)
            traced += char if each == "t" and compiling else ""
            if each == "l":
                pending.append(drawing.number)
            drawing.number += each != "f"
        drawing.ops, drawing.inside = drawing.ops + "..", drawing.inside + ".."
        drawing.marks += str(place) * (len(drawing.ops) - begins)
    compiles = "".join("w" if each in traced else "." for each in drawing.ops)
    text = (
        f"step | {drawing.marks} |\nop | {drawing.ops} |\nop | {drawing.inside} |\nuser (dynamo_timed) | {compiles} |"
    )
    return timeline(text, names=drawing.names, sequences=drawing.numbers)


def test_a_teacher_whose_nodes_never_run():
    found = unused_graph(drawn("tttllB", "tttllB", "tttllB"))
    assert found == UnusedGraph(3, 5, ["0", "1", "2"], "aten::addmm", 6_000, 0, 6_000)


def test_what_torch_compile_traces_is_not_meant_to_run():
    assert unused_graph(drawn("tttllB", "tttllB", "tttllB", compiling=True)) is None


def test_an_evaluation_in_some_steps():
    """That of the last step comes after its backward pass: there it does not count."""
    found = unused_graph(drawn("llB", "llBttt", "llB", "llBttt", "llBttt"))
    assert found == UnusedGraph(3, 5, ["1", "3"], "aten::addmm", 2_400, 18_000, 24_000)


@pytest.mark.parametrize(
    "steps",
    [
        ("fffllB",) * 3,  # frozen, or without gradients: no op creates a node
        ("lllB",) * 3,
        ("llK",) * 3,  # a checkpoint computes again with a graph
        ("llnnnB",) * 3,  # no layers
        ("tllB",) * 3,  # one layer: a head
        ("t" + "t" + "l" * 20 + "B",) * 3,  # a small part of all nodes
        ("ttt",) * 3,  # no backward pass, and too few layers to show an inference
        ("ffff",) * 3,  # an inference without gradients
        ("nnnn",) * 3,
        ("lll", "lllB", "lllB"),  # that of the first step runs in the second one
        ("llB", "ttllB", "llB"),  # one step, in which it may have been left out
        ("llB", "llB", "lltttt"),  # the recording ends before its backward pass
        ("llB", "llB", "ttllB", "ttllB"),  # the last two: their backward passes may come later
        ("ttllB", "ttllB"),
        ("ttllB", "tttttttllB", "llB"),  # rows are lost
    ],
)
def test_other_ops_are_no_such_case(steps: tuple[str, ...]):
    trace = drawn(*steps)
    assert unused_graph(trace) is None
    assert card(trace, "unused_graph") is None


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (1, UnusedGraph(12, 12, ["0"], "aten::addmm", 24_000, 0, 24_000)),
        (3, UnusedGraph(13, 13, ["0", "1", "2"], "aten::addmm", 25_333, 0, 26_000)),
    ],
)
def test_an_inference_with_a_graph(steps: int, found: UnusedGraph):
    """Of the last op only a further one would show that it creates a node."""
    assert unused_graph(drawn(*["tttttnttttttt"] * steps)) == found


def test_the_card_of_an_inference_names_no_teacher():
    insight = sure(drawn(*["tttttnttttttt"] * 3), "unused_graph")
    assert (insight.severity.value, insight.gain_ns, insight.about_ns) == ("minor", 0, 0)
    assert card_sentence(insight) == (
        "Autograd creates 13 nodes a step, of `aten::addmm` and others, and no backward pass is recorded."
    )
    assert insight.how.splitlines()[1].startswith("with torch.inference_mode():")


def test_a_trace_without_sequence_numbers_says_nothing():
    assert unused_graph(timeline("step | 000111222 |\nop | aa.bb.cc. |")) is None


def test_the_card_saves_memory_and_promises_no_time():
    insight = sure(drawn("tttllB", "tttllB", "tttllB"), "unused_graph")
    assert (insight.severity.value, insight.confidence.value, insight.gain_ns) == ("minor", "medium", 0)
    assert card_sentence(insight) == (
        "Autograd creates 5 nodes in each of 3 steps, and never runs 3 of them: of `aten::addmm` and others."
    )
    assert insight.steps == ["0", "1", "2"]
    assert [(each.step, each.start_ns, each.end_ns) for each in insight.evidence] == [("0", 0, 6_000)]
