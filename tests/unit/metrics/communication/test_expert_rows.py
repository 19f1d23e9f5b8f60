"""Rows by expert in drawn loops over experts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_steptime.analyses.quality import notes
from tb_steptime.metrics.communication.expert_rows import ExpertRows, expert_rows
from tb_steptime.text import Note, Quantity, Reason, Unit
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

CHOSEN, WIDTH = 2, 16


def drawn(
    tokens: int, rows: Sequence[int], *, backward: bool = False, settings: str = '["","2","-1"]', rest: int = 2
) -> Trace:
    """A router, and for each expert a selection, two products, and rows that return: one cell each. rest: cells of the
    step after them. backward: the products run in the backward pass."""
    names, inputs, ops = dict[str, str](), dict[str, tuple[str, ...]](), ""

    def op(name: str, *shapes: Sequence[int], settings: str = "[]") -> None:
        nonlocal ops
        char = chr(0x100 + len(names))
        names[char], ops = f"aten::{name}", ops + char
        inputs[char] = (str([list(each) for each in shapes]).replace(" ", ""), "[]", settings)

    op("mm", (tokens, WIDTH), (WIDTH, len(rows)))
    op("topk", (tokens, len(rows)), (), (), settings=settings)
    for each in rows:
        op("index", (tokens, WIDTH), ())
        op("mm", (each, WIDTH), (WIDTH, 24))
        op("mm", (each, 24), (24, WIDTH))
        op("index_add_", (tokens, WIDTH), (), (each,), (each, WIDTH), ())
    within = "n" * len(ops) if backward else ""
    names["n"] = "autograd::engine::evaluate_function: CheckpointBackward"
    cells = len(ops) + rest
    node = f"op | {within} |\n" if within else ""
    return timeline(f"step | {'0' * cells} |\n{node}op | {ops} |", names=names, inputs=inputs)


def test_rows_are_ordered_and_compared_with_their_mean():
    assert expert_rows(drawn(100, (20, 90, 80, 10))) == ExpertRows([90.0, 80.0, 20.0, 10.0], 1.8, 2, 1, 0.9)


@pytest.mark.parametrize("rows", [(20, 90, 80, 9), (20, 90, 80, 20)])
def test_rows_that_do_not_sum(rows: tuple[int, ...]):
    assert expert_rows(drawn(100, rows)) == Reason("expert_rows_do_not_sum")


def test_how_many_experts_a_token_chooses_has_to_be_recorded():
    assert expert_rows(drawn(100, (20, 90, 80, 10), settings="[]")) == Reason("expert_rows_do_not_sum")


@pytest.mark.parametrize(
    ("tokens", "rows", "backward"),
    [
        (100, (100, 100, 100, 100), False),  # all points by their neighbours
        (3, (1, 2, 1, 2), False),  # as many tokens as choices
        (100, (200,), False),
        (100, (20, 90, 80, 10), True),
    ],
)
def test_what_is_no_loop_over_experts(tokens: int, rows: tuple[int, ...], backward: bool):
    assert expert_rows(drawn(tokens, rows, backward=backward)) is None


@pytest.mark.parametrize(
    ("tokens", "rows", "rest", "factor"),
    [
        (256, (240, 130, 90, 52), 2, "1.9"),
        (256, (180, 150, 100, 82), 2, None),  # 1.4 times the mean
        (120, (110, 70, 40, 20), 2, None),  # 60 rows on average
        (256, (240, 130, 90, 52), 200, None),  # a tenth of the step
    ],
)
def test_a_note_says_that_experts_are_uneven(tokens: int, rows: tuple[int, ...], rest: int, factor: str | None):
    found = [each for each in notes(drawn(tokens, rows, rest=rest)) if each.id == "experts_uneven"]
    number, most, times = Quantity(4, Unit.COUNT), Quantity(rows[0], Unit.COUNT), Quantity(factor, Unit.TEXT)
    expected = [Note("experts_uneven", {"experts": number, "most": most, "factor": times}, ("operators",))]
    assert found == (expected if factor else [])
