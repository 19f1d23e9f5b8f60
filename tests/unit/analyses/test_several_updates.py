"""A step that holds many updates of the weights, as where `prof.step()` is called once an epoch, is said to do so, and
so are two steps that hold one."""

from __future__ import annotations

from typing import Any

import pytest

from tb_steptime.analyses.quality import notes
from tb_steptime.text import Note, count
from tests.drawn.timeline import MAIN, timeline

BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0"
OPTIMIZER = "Optimizer.step#SGD.step"


def noted(backward: str, update: str, on: str = MAIN, more: str = "", steps: bool = True) -> list[Note]:
    """Two steps alike. backward: nodes of the backward pass; update: steps of the optimizer, on a thread; more: ops."""
    width = len(backward)
    marks = f"step | {'0' * width}{'1' * width} |" if steps else ""
    trace = timeline(
        f"""
        {marks}
        op other | {backward * 2} |
        op {MAIN} | {(more or "." * width) * 2} |
        user {OPTIMIZER} @{on} | {update * 2} |""",
        names={"b": "autograd::engine::evaluate_function: AddmmBackward0"},
    )
    return [note for note in notes(trace) if note.id == "several_updates"]


@pytest.mark.parametrize("updates", [9, 10, 11])
def test_it_is_said_from_ten_updates_on(updates: int):
    expected = [Note("several_updates", {"updates": count(updates)})] if updates >= 10 else []
    assert noted("b.." * updates, ".u." * updates) == expected


OTHER = "Optimizer.step#Adam.step"


@pytest.mark.parametrize(
    ("loader", "ops", "update", "other", "noted_as"),
    [
        ("l....l....l....", "..oo...oo...oo.", "....u....u....u", "...............", "3"),
        ("l....l....", "..oo...oo.", "....u....u", "..........", "2"),
        ("l..............", "..oo...oo...oo.", "....u....u....u", "...............", None),  # all of one batch
        ("l....l....l....", "..oo..o.o...oo.", "....u....u....u", "...............", None),  # with other ops
        ("l....l....l....", "..oo...oo...oo.", "....u.........u", ".........v.....", None),  # of two optimizers
        ("l.........", "..oo......", "....u.....", "..........", None),  # one
    ],
)
def test_a_few_updates_are_of_batches_of_their_own(
    loader: str, ops: str, update: str, other: str, noted_as: str | None
):
    """Otherwise they may be the turns of a GAN, of reinforcement learning, or an inner loop."""
    width = len(ops)
    trace = timeline(
        f"""
        step | {"0" * width}{"1" * width}{"2" * width} |
        loader | {loader * 3} |
        op other | {ops.replace("o", "b") * 3} |
        op | {ops * 3} |
        user {OPTIMIZER} | {update * 3} |
        user {OTHER} | {other * 3} |""",
        names={"b": BACKWARD, "o": "aten::mm"},
    )
    updates = [plain_count(note) for note in notes(trace) if note.id == "several_updates"]
    assert updates == ([noted_as] if noted_as else [])


def plain_count(note: Note) -> str:
    return str(note.values["updates"].value)


@pytest.mark.parametrize(
    ("backward", "update", "drawn"),
    [
        ("b" + "..." * 11, "." + ".u." * 11, {}),
        ("b.." * 11, ".u." * 11, {"on": "other"}),
        ("b.." * 11, ".u." * 11, {"more": "ooo" * 10 + "..."}),
        ("b.." * 11, ".u." * 11, {"steps": False}),
    ],
    ids=["many optimizers behind one backward pass", "in the backward pass", "in ops", "no marks"],
)
def test_what_else_has_many_steps_of_optimizers_is_not(backward: str, update: str, drawn: dict[str, Any]):
    assert noted(backward, update, **drawn) == []


@pytest.mark.parametrize(
    ("ops", "backward", "updates", "split"),
    [
        ("ff.....s" * 3, "..bb...." * 3, "......uu" * 3, True),
        ("...s" + "ff.....s" * 3, "...." + "..bb...." * 3, "..uu" + "......uu" * 3, True),
        ("f..s...." * 3, ".b......" * 3, "..uu...." * 3, True),
        ("ff.....s" * 2, "..bb...." * 2, "......uu" * 2, False),
        ("ff..f..s" * 3, "..bb.b.." * 3, "......uu" * 3, False),
        ("f..sff.." * 3, ".b......" * 3, "..uu...." * 3, False),
        ("ff..f..s" * 3, "..bb...." * 3, "........" * 3, False),
        ("f..sf..s" * 3, ".b...b.." * 3, "..uu..uu" * 3, False),
    ],
    ids=["before and after the update", "cut", "again at once", "two batches", "accumulated gradients", "evaluates",
         "updates nothing", "once"],
)  # fmt: skip
def test_a_batch_of_two_steps_is_told(ops: str, backward: str, updates: str, split: bool):
    """Steps of four cells, and of two halves each."""
    steps = "".join(str(place // 4 % 10) for place in range(len(ops)))
    trace = timeline(
        f"""
        step | {steps} |
        op {MAIN} | {ops} |
        op other | {backward} |
        user {OPTIMIZER} @{MAIN} | {updates} |""",
        names={"b": BACKWARD},
    )
    assert ("split_updates" in [note.id for note in notes(trace)]) == split
