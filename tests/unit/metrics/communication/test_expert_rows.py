"""Rows by expert in drawn loops over experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tb_steptime.analyses.quality import notes
from tb_steptime.metrics.communication.expert_rows import ExpertRows, expert_rows
from tb_steptime.text import Note, Quantity, Reason, Unit
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

CHOSEN, WIDTH = 2, 16


def drawn(
    tokens: int,
    rows: Sequence[int],
    *,
    backward: bool = False,
    settings: str = '["","2","-1"]',
    counted: bool = False,
    last_width: int = 24,
    last_returned: int | None = None,
    rest: int = 2,
) -> Trace:
    """A router, and for each expert a selection, two products, and rows that return: one cell each. rest: cells of the
    step after them. backward: all of it runs in the backward pass; settings: the values of topk; counted: a maximum of
    the same scores follows it; last_width, last_returned: of the last expert, where it differs from the others."""
    names, inputs, ops = dict[str, str](), dict[str, tuple[str, ...]](), ""

    def op(name: str, *shapes: Sequence[int], settings: str = "[]") -> None:
        nonlocal ops
        char = chr(0x100 + len(names))
        names[char], ops = f"aten::{name}", ops + char
        inputs[char] = (str([list(each) for each in shapes]).replace(" ", ""), "[]", settings)

    op("mm", (tokens, WIDTH), (WIDTH, len(rows)))
    op("topk", (tokens, len(rows)), (), (), settings=settings)
    if counted:
        op("argmax", (tokens, len(rows)), ())
    for place, each in enumerate(rows, 1):
        width, returned = (
            (24, each) if place < len(rows) else (last_width, each if last_returned is None else last_returned)
        )
        op("index", (tokens, WIDTH), ())
        op("mm", (each, WIDTH), (WIDTH, width))
        op("mm", (each, width), (width, WIDTH))
        op("index_add_", (tokens, WIDTH), (), (returned,), (returned, WIDTH), ())
    within = "n" * len(ops) if backward else ""
    names["n"] = "autograd::engine::evaluate_function: CheckpointBackward"
    cells = len(ops) + rest
    node = f"op | {within} |\n" if within else ""
    return timeline(f"step | {'0' * cells} |\n{node}op | {ops} |", names=names, inputs=inputs)


def test_rows_are_ordered_and_compared_with_their_mean():
    assert expert_rows(drawn(100, (20, 90, 80, 10))) == ExpertRows([90.0, 80.0, 20.0, 10.0], 1.8, 2, 1, 0.9)


def test_a_maximum_of_the_same_scores_is_no_router():
    found = expert_rows(drawn(100, (20, 90, 80, 10), counted=True))
    assert isinstance(found, ExpertRows) and found.chosen == 2


@pytest.mark.parametrize(
    ("rows", "how"),
    [
        ((20, 90, 80, 9), {}),
        ((20, 90, 80, 20), {}),
        ((20, 90, 80, 10), {"last_returned": 9}),
        ((20, 90, 80, 10), {"last_width": 32}),  # its experts are not alike
        ((20, 90, 80, 10), {"settings": "[]"}),  # how many experts a token chooses is not recorded
    ],
)
def test_rows_that_do_not_sum(rows: tuple[int, ...], how: dict[str, Any]):
    assert expert_rows(drawn(100, rows, **how)) == Reason("expert_rows_do_not_sum")


@pytest.mark.parametrize(
    ("tokens", "rows", "backward"),
    [
        (100, (100, 100, 100, 100), False),  # all points by their neighbours
        (3, (1, 2, 1, 2), False),  # as many tokens as choices
        (100, (150, 50), False),  # the edges of a graph
        (100, (30,), False),  # the masked tokens alone
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
