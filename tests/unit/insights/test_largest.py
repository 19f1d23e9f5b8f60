"""The largest pieces, shown where nothing big is left, together with the throughput."""

from __future__ import annotations

import msgspec
import pytest

from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, EvidenceRow, Insight, Severity
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.headlines import overview
from tb_steptime.insights.largest import largest_pieces
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.text import phrase
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import analysed, judged
from tests.drawn.timeline import V100, timeline

MS = 1_000_000

#: A hint with an uncertain gain.
GUESS = Insight(
    id="guess", severity=Severity.MINOR, title=phrase("Try it"), why=phrase("It is slow."), how=None, gain_ns=0,
    gain_fraction=0.0, later_ns=None, gain_formula=phrase(""), confidence=Confidence.LOW,
    why_confidence=phrase("A guess."), view="host", colour="cpu", instead=phrase("gain not computed"),
)  # fmt: skip


def busy(idle: str = "", **inputs: tuple[str, ...]) -> Trace:
    """Four steps of 10 ms on a GPU that always works: 8 ms of c, then 2 ms of d, or `idle` instead of d."""
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
    assert plain(found.title) == "Nothing big is left; these kernels take the most time"
    assert plain(found.throughput) == "100 steps a second; the trace does not show the size of a batch."


def test_a_headline_without_a_gain_says_where_to_look():
    """For a GPU that always works it points to the largest kernel; for a GPU that idles, to the launches."""
    headline = judged(busy()).headlines["overview"]
    assert headline.action is not None
    assert {name: each.value for name, each in headline.action.values.items()} == {
        "kernel": "c", "op": "aten::conv2d", "share": 0.8,
    }  # fmt: skip
    assert (headline.view, headline.card) == ("gpu", None)


@pytest.mark.parametrize(
    ("drawn", "view", "big"),
    [("kkmmmmmmmm", "operators", True), ("kkkkkkmmmm", "gpu", True), ("kkkkkkkkkm", "gpu", False)],
)
def test_a_headline_names_what_sets_memory_for_most_of_the_step(drawn: str, view: str, big: bool):
    """A benchmark empties the GPU's cache before each call: its kernels are the smaller part."""
    trace = timeline(
        f"""
        step     | {"".join(str(n) * 10 for n in range(4))} |
        op       | {"kkmm......" * 4} |
        runtime  | {"k.m......." * 4} |
        kernel 7 | {drawn.replace("m", ".") * 4} |
        memset 7 | {drawn.replace("k", ".") * 4} |""",
        devices={0: V100},
        cell_ns=MS,
    )
    judgement = judged(trace)
    assert judgement.headlines["overview"].view == view
    assert judgement.largest is not None
    assert plain(judgement.largest.title).startswith("Nothing big is left") is not big


def test_it_names_the_kernel_where_the_view_of_the_gpu_is_left_out():
    results = {id: result for id, result in analysed(busy()).items() if id != "gpu"}
    assert judge(results).headlines["overview"] == judged(busy()).headlines["overview"]


def test_no_op_is_named_for_a_kernel_that_several_launch():
    trace = timeline(
        f"""
        step     | {"".join(str(n) * 20 for n in range(3))} |
        op       | {"aa........bb........" * 3} |
        runtime  | {"ce........ce........" * 3} |
        kernel 7 | {"ccccccccceccccccccce" * 3} |""",
        devices={0: V100},
        cell_ns=MS,
    )
    action = judged(trace).headlines["overview"].action
    assert action is not None
    assert {name: each.value for name, each in action.values.items()} == {"kernel": "c", "share": 0.9}


@pytest.mark.parametrize("gain", [0.04, 0.06])
def test_pieces_lead_where_no_card_is_worth_a_headline(gain: float):
    """Where a guess gains much, the headline is about it, and its card comes before the pieces."""
    facts = Facts(analysed(busy()), {})
    guess = msgspec.structs.replace(GUESS, gain_fraction=gain)
    found = largest_pieces(facts, [guess])
    assert found is not None
    assert found.leads is (gain < WARNING_FRACTION)
    assert plain(found.title).startswith("Nothing big is left") is found.leads


@pytest.mark.parametrize(("about", "how", "big"), [(0.3, "do()", True), (0.1, "do()", False), (0.3, None, False)])
def test_what_a_card_without_a_computed_gain_is_about_may_be_big(about: float, how: str | None, big: bool):
    """A card that only explains, such as one about a full launch queue, asks for nothing."""
    facts = Facts(analysed(busy()), {})
    found = largest_pieces(facts, [msgspec.structs.replace(GUESS, about_ns=round(about * 10 * MS), how=how)])
    assert found is not None
    assert found.leads is not big
    assert plain(found.title).startswith("Nothing big is left") is not big


@pytest.mark.parametrize(
    ("gain_ns", "sentence"),
    [(400_000, "Try it: up to 400 µs a step (4 %)."), (0, "Try it: gain not computed.")],
)
def test_a_lesser_card_is_named_with_what_it_would_bring(gain_ns: int, sentence: str):
    """Nothing else can be done, and a headline without this card would leave the reader with no advice."""
    facts = Facts(analysed(busy()), {})
    card = msgspec.structs.replace(GUESS, gain_ns=gain_ns, gain_fraction=gain_ns / (10 * MS))
    headline = overview(facts, [card])
    assert headline.action is not None
    assert (plain(headline.action), headline.view, headline.card) == (sentence, "host", "guess")


def test_a_gpu_that_waits_has_something_big_left_though_no_card_knows_what():
    """All of the GPU's work is at the start of the step: its kernels are listed, with what to record."""
    judgement = judged(timeline("""
        step     | 0000000000000000 |
        runtime  | c............... |
        kernel 7 | cc.............. |""", cell_ns=MS, devices={0: V100}))  # fmt: skip
    assert judgement.largest is not None
    assert plain(judgement.largest.title) == "These kernels take the most time"
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
    assert plain(judgement.largest.throughput) == "100 steps a second; the trace does not show the size of a batch."
    assert judgement.largest.threads is not None
    assert plain(judgement.largest.threads) == (
        "Ops run on 1 thread, not counting those of OpenMP; how many cores there are is not recorded."
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
