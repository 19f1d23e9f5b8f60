"""The first line of the GPU view."""

from __future__ import annotations

import pytest

from tb_steptime.analyses import gpu
from tb_steptime.insights.headlines import gpu_headline
from tb_steptime.text import Reason
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged
from tests.drawn.timeline import V100, timeline


def working(cells: str, blocks: int | None) -> Trace:
    shape = {} if blocks is None else {"x": {"grid": (blocks, 1, 1)}}
    return timeline(
        f"""
        step     | 00000000000000000000 |
        op       | aaaaaaaaaaaaaaaaaaaa |
        runtime  | x................... |
        kernel 7 | {cells.ljust(20, ".")} |""",
        devices={0: V100},
        kernels=shape,
    )


@pytest.mark.parametrize(
    ("cells", "blocks", "expected"),
    [
        ("." + "x" * 10, 800, "Kernels fill the GPU when they run, but they run for only 50 % of the time."),
        ("." + "x" * 19, 800, "Kernels run on the GPU for 95 % of the time, and fill it."),
        ("." + "x" * 10, 20,
         "Kernels run on the GPU for 50 % of the time, and then on only 25 % of its SMs."),
        ("." + "x" * 19, 20,
         "Kernels run on the GPU for 95 % of the time, but have blocks for only 25 % of its SMs."),
        ("." + "x" * 10, None, "Kernels run on the GPU for 50 % of the time."),
    ],
)  # fmt: skip
def test_the_verdict_says_how_long_and_how_full(cells: str, blocks: int | None, expected: str):
    trace = working(cells, blocks)
    assert plain(gpu_headline(gpu.analyse(trace)).verdict) == expected
    assert judged(trace).sidebar["gpu"].share == cells.count("x") / 20


def test_a_trace_without_a_gpu():
    trace = timeline("step | 0000 |\nop | aaaa |")
    assert plain(gpu_headline(gpu.analyse(trace)).verdict) == "This trace has no GPU activity."
    bar = judged(trace).sidebar["gpu"]
    assert (bar.share, bar.reason) == (None, Reason("no_gpu_activity"))


def test_a_gpu_that_only_copies():
    trace = timeline("step | 0000 |\nop | aaaa |\nruntime | x... |\nmemcpy 3 | .xx. |")
    assert plain(gpu_headline(gpu.analyse(trace)).verdict) == "No kernel runs within the steps."


def test_the_view_opens_with_what_to_do_first():
    trace = timeline(
        """
        step          | 00000000001111111111 |
        loader single | llll......llll...... |
        runtime       | ....x.........x..... |
        kernel 7      | .....xxxxx.....xxxxx |""",
        cell_ns=1_000_000,
    )
    headline = judged(trace).headlines["gpu"]
    assert headline.action is not None
    assert (headline.action.values["gain"].value, headline.view) == (4_000_000, "data_loading")
    assert judged(trace).sidebar["gpu"].share == 0.5


def test_the_view_has_nothing_to_do_where_the_gpu_always_works():
    headline = judged(working("x" * 20, None)).headlines["gpu"]
    assert (headline.verdict.values["works"].value, headline.action, headline.view) == (1.0, None, None)
