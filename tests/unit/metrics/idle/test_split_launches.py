"""Late launches that no graph could combine in large numbers, because blocking calls lie between them, and those that
are late because the host paused."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.long_gaps import FEW_LAUNCHES, paused_late_ns, split_late_ns
from tb_steptime.metrics.phases.sites import SITE
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


@pytest.mark.parametrize(("place", "late"), [("forward.model", 3), ("optimizer", 4)])
def test_a_pause_makes_the_launches_of_its_own_place_late(place: str, late: int):
    """The host collects garbage for 4 us before a launch of one of two places, while the device may still work for
    1 us. The other place is late for 3 us without a pause."""
    forward, optimizer = ("gggg", "...") if place == "forward.model" else ("...", "gggg")
    width = len(forward + optimizer) + 8
    trace = timeline(
        f"""
        step                         | {"0" * width} |
        op                           | a.{"." * len(forward)}bb.{"." * len(optimizer)}c.. |
        user Optimizer.step#SGD.step | ..{"." * len(forward)}...{"." * len(optimizer)}uu. |
        python                       | ..{forward}...{optimizer}... |
        runtime                      | k.{"." * len(forward)}b..{"." * len(optimizer)}c.. |
        kernel 7                     | .kk{"." * len(forward)}bb{"." * len(optimizer)}cc |""",
        names={"g": "Python GC"},
    )
    found = paused_late_ns(trace, 0)
    assert {site: found[row] // 1_000 for site, row in SITE.items() if found[row]} == {place: late}
