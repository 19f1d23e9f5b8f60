"""The largest pieces where nothing big is left, with the throughput."""

from __future__ import annotations

import pytest

from tb_steptime.insights.base import EvidenceRow, Severity
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import judged
from tests.drawn.timeline import V100, timeline

MS = 1_000_000


def busy(idle: str = "", **inputs: tuple[str, ...]) -> Trace:
    """Four steps of 10 ms on a GPU that always works: 8 ms of c, 2 ms of d; `idle`: instead of d."""
    return timeline(
        f"""
        step     | {"".join(str(n) * 10 for n in range(4))} |
        op       | {"aa..bb...." * 4} |
        runtime  | {"c.d......." * 4} |
        kernel 7 | {("cccccccc" + (idle or "dd")) * 4} |""",
        names={"a": "aten::conv2d"},
        inputs=inputs,
        devices={0: V100},
        cell_ns=MS,
    )


def test_a_healthy_job_shows_its_largest_kernels():
    judgement = judged(busy())
    assert {insight.severity for insight in judgement.insights} <= {Severity.MINOR}
    found = judgement.largest
    assert found is not None
    assert [(each.name, each.ns, each.share, each.view) for each in found.pieces] == [
        ("c", 8 * MS, 0.8, "gpu"),
        ("d", 2 * MS, 0.2, "gpu"),
    ]
    assert found.pieces[0].row == EvidenceRow("kernels", "c")
    assert plain(found.title) == "Nothing big is left; these kernels take most of kernel time"
    assert plain(found.throughput) == "100 steps a second; the trace does not show the size of a batch."


def test_a_gpu_that_waits_has_something_big_left_though_no_card_knows_what():
    """All of its work stands at the front, and nothing follows: the kernels, and what to record."""
    judgement = judged(timeline("""
        step     | 0000000000000000 |
        runtime  | c............... |
        kernel 7 | cc.............. |""", cell_ns=MS, devices={0: V100}))  # fmt: skip
    assert judgement.largest is not None
    assert plain(judgement.largest.title) == "These kernels take most of kernel time"
    action = judgement.headlines["overview"].action
    assert action is not None
    assert plain(action).startswith("Record several whole steps")


def test_a_job_with_something_to_do_shows_that():
    trace = timeline(
        """
        step          | 000000000011111111112222222222 |
        loader single | lllll.....lllll.....lllll..... |
        runtime       | .....k.........k.........k.... |
        kernel 7      | ......kkkk......kkkk......kkkk |""",
        cell_ns=MS,
    )
    judgement = judged(trace)
    assert Severity.MAJOR in {insight.severity for insight in judgement.insights}
    assert judgement.largest is None


@pytest.mark.parametrize(
    ("shapes", "samples"),
    [
        ("[[32,3,8,8],[4,3,3,3]]", "100 steps a second, 3200 samples a second in batches of 32."),
        ("[[32,64],[64,64]]", "100 steps a second; the trace does not show the size of a batch."),
        ("[[],[4,3]]", "100 steps a second; the trace does not show the size of a batch."),
    ],
)
def test_samples_a_second_are_known_where_the_first_input_can_only_be_a_batch(shapes: str, samples: str):
    found = judged(busy(a=(shapes, '["float","float"]'))).largest
    assert found is not None
    assert plain(found.throughput) == samples


def test_a_job_on_the_cpu_shows_its_ops_whatever_there_is_to_do():
    trace = timeline("""
        step | 000000000011111111112222222222 |
        op   | aaaaaabb..aaaaaabb..aaaaaabb.. |""", cell_ns=MS)  # fmt: skip
    judgement = judged(trace)
    assert judgement.largest is not None
    assert [(each.name, each.ns, each.view) for each in judgement.largest.pieces] == [
        ("a", 6 * MS, "host"),
        ("b", 2 * MS, "host"),
    ]
    assert plain(judgement.largest.throughput) == (
        "100 steps a second; the trace does not show the size of a batch. Ops run on 1 thread, OpenMP's not counted; "
        "how many cores there are is not recorded."
    )
    for view in ("gpu", "tensor_cores"):
        headline = judgement.headlines[view]
        assert (plain(headline.verdict), headline.view) == ("This trace has no GPU activity.", "host")


def test_one_step_shows_no_rate():
    trace = timeline("""
        step | 0000000000 |
        op   | aaaaaabb.. |""")
    found = judged(trace).largest
    assert found is not None
    assert plain(found.throughput).startswith("Too few steps are recorded for a throughput.")
