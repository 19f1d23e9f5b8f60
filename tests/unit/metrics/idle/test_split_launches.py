"""Late launches that no graph could combine in large numbers, because blocking calls lie between them."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.split_launches import FEW_LAUNCHES, split_late_ns
from tb_steptime.metrics.phases.assignment import SITE
from tests.drawn.timeline import timeline


def late_us(launches: int, between: str = "s", last: str = "t") -> dict[str, int]:
    """Late time by place: this many launches, each 1 us after the kernel before it, between two calls."""
    letters = "abcdefghijklmnopq"[:launches]
    width = 2 * launches + 4
    trace = timeline(
        f"""
        step     | {"0" * width} |
        runtime  | {between}.{"".join(f"{letter}." for letter in letters)}{last}. |
        kernel 7 | ..{"".join(f"{letter}." for letter in letters)}.. |""",
        calls={"s": "cudaStreamSynchronize", "t": "cudaStreamSynchronize", "e": "cudaEventRecord"},
    )
    split = split_late_ns(trace, 0)
    return {site: split[place] // 1_000 for site, place in SITE.items() if split[place]}


def test_few_launches_between_two_waits_are_late_because_of_these():
    assert late_us(4) == {"forward.model": 4}
    assert late_us(FEW_LAUNCHES - 1) == {"forward.model": FEW_LAUNCHES - 1}


@pytest.mark.parametrize(
    ("launches", "between", "last"),
    [(FEW_LAUNCHES, "s", "t"), (4, "e", "t"), (4, "s", "e")],
    ids=["as many as a graph is worth", "no wait before them", "no wait after them"],
)
def test_others_could_be_one_graph(launches: int, between: str, last: str):
    assert late_us(launches, between, last) == {}
