"""Functions that TorchScript compiles at their first call, which only the ops of their default arguments show."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.steady.first_use import first_uses
from tests.drawn.timeline import timeline


def compiled_us(ops: str, steps: str = "", others: str = "") -> list[tuple[int, int]]:
    """When functions are compiled on any thread. d: the ops of default arguments."""
    marks = f"step | {steps} |" if steps else ""
    trace = timeline(
        f"""
        {marks}
        op       | {ops} |
        op other | {others or "." * len(ops)} |""",
        names={"d": "defaults"},
    )
    return [(int(start) // 1000, int(end) // 1000) for _, when in first_uses(trace)
            for start, end in zip(when.start, when.end, strict=True)]  # fmt: skip


def test_it_lasts_from_the_op_before_to_the_next_one():
    assert compiled_us("aa..d...d.....bb..cc", others="...x...x...x....x...") == [(2, 14)]


def test_at_the_edges_it_is_unknown_when_it_begins_and_ends():
    assert compiled_us("..d..aa....bb..d..") == [(2, 5), (13, 16)]


@pytest.mark.parametrize(("at", "found"), [(0, [(0, 3)]), (3, [])])
def test_what_comes_in_later_steps_is_no_warm_up(at: int, found: list[tuple[int, int]]):
    steps = [".aa.", ".aa.", ".aa.", ".aa."]
    steps[at] = "dd.a"
    assert compiled_us("".join(steps), "0000111122223333") == found
