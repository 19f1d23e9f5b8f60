"""What some steps do that the others do not, where all steps vary as much, on drawn traces."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tb_steptime.insights.rules.steps.slow_steps import without_named
from tb_steptime.metrics.steps.inserted import RecurringWork, recurring_work
from tb_steptime.trace.model import Job, Trace
from tests.drawn.cards import card_sentence, sure
from tests.drawn.timeline import timeline

NAMES = {
    "a": "aten::addmm", "b": "aten::relu", "x": "aten::detach", "y": "aten::item", "r": "aten::random_",
    "u": "aten::_fused_adamw_",
}  # fmt: skip
#: Pauses of ten steps on a disturbed machine, in cells. The longest two are five steps apart.
NOISE = (9, 3, 14, 5, 2, 7, 4, 16, 6, 3)


def drawn(extra: dict[int, str], noise: tuple[int, ...] = NOISE) -> Trace:
    """Steps of ten ops and a pause, in which a step has other ops between the last two, and a pause after them."""
    marks = ops = ""
    for place, pause in enumerate(noise):
        cells = "a." * 9 + "." * pause + "bb." + extra.get(place, "") + ".aa."
        marks, ops = marks + chr(ord("0") + place) * len(cells), ops + cells
    return timeline(f"step | {marks} |\nop | {ops} |", names=NAMES)


def found(extra: dict[int, str], noise: tuple[int, ...] = NOISE) -> RecurringWork | None:
    return recurring_work(drawn(extra, noise), None)


def test_ops_and_a_pause_in_every_fourth_step():
    """Two calls of 1 us with 8 us beside them; the steps vary by 14 us for another reason."""
    extra = dict.fromkeys((1, 5, 9), "x.x.......")
    assert found(extra) == RecurringWork(4, ["1", "5", "9"], 10_000, "aten::detach", 2, 8_000)


def test_an_op_that_is_long_by_itself():
    assert found(dict.fromkeys((2, 7), "yyyyyyyy")) == RecurringWork(5, ["2", "7"], 8_000, "aten::item", 1, 0)


def test_pauses_at_the_same_place_without_any_op():
    extra = dict.fromkeys((0, 3, 6, 9), "........")
    assert found(extra) == RecurringWork(3, ["0", "3", "6", "9"], 8_000, "", 0, 8_000)


@pytest.mark.parametrize(
    "extra",
    [
        {},  # the longest steps are five apart
        dict.fromkeys((2, 7), "y"),  # and they do something, which takes no time
        dict.fromkeys((1, 5), "yyyyyyyy"),  # one is missing at the end
        {3: "yyyyyyyy"},
        dict.fromkeys((1, 5, 8), "yyyyyyyy"),
        {1: "yyyyyyyy", 5: "yyyyyyyyx", 9: "yyyyyyyy"},  # they do not do the same
        dict.fromkeys((1, 5, 9), "r......."),  # a loader begins to iterate
        dict.fromkeys((1, 5, 9), "y.uuuuuu"),  # an optimizer steps after several passes
        dict.fromkeys((2, 5, 8), "........"),  # three pauses may be chance
        {0: "........", 3: "........", 6: "..", 9: "........"},
        {0: "........", 3: "...................", 6: "........", 9: "........"},
    ],
)
def test_other_steps_are_chance_or_have_another_reason(extra: dict[int, str]):
    assert found(extra) is None


def test_ops_count_by_themselves_where_the_time_around_them_varies():
    """A step without them has a longer pause there."""
    extra = dict.fromkeys((2, 7), "xxxxxx........") | {4: "................"}
    assert found(extra) == RecurringWork(5, ["2", "7"], 6_000, "aten::detach", 1, 0)


def test_a_rank_may_wait_for_the_others_in_a_pause():
    trace = drawn(dict.fromkeys((0, 3, 6, 9), "........"))
    assert recurring_work(replace(trace, job=Job(rank=0, world_size=2)), None) is None


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        (
            dict.fromkeys((1, 5, 9), "x.x......."),
            "One step in 4 takes 10 µs longer, 8 µs of it outside ops, with 2 more calls of `aten::detach`.",
        ),
        (dict.fromkeys((2, 7), "yyyyyyyy"), "One step in 5 takes 8 µs longer: it calls `aten::item` 1 more time."),
        (
            dict.fromkeys((0, 3, 6, 9), "........"),
            "One step in 3 takes 8 µs longer between the same two ops, where no op runs.",
        ),
    ],
)
def test_the_card_says_where_the_time_is(extra: dict[int, str], text: str):
    insight = sure(drawn(extra), "recurring_steps")
    assert (card_sentence(insight), insight.severity.value, insight.confidence.value) == (text, "minor", "low")


def test_a_card_that_names_the_function_replaces_it():
    """The function runs in the same steps, and has nearly all of the gain."""
    insight = sure(drawn(dict.fromkeys((1, 5, 9), "x.x.......")), "recurring_steps")
    named, elsewhere, less = (
        msgspec.structs.replace(insight, id="python_loop", steps=steps, gain_ns=gain_ns)
        for steps, gain_ns in ((["1", "5", "9"], 3_000), (["1"], 3_000), (["1", "5", "9"], 2_000))
    )
    assert insight.gain_ns == 3_000
    assert without_named([insight, named], "0") == [named]
    assert without_named([insight, elsewhere], "0") == [insight, elsewhere]
    assert without_named([insight, less], "0") == [insight, less]
