"""Steps at regular intervals that do more than the others, on drawn traces."""

from __future__ import annotations

from tb_steptime.metrics.steps.inserted import RecurringWork, recurring_work
from tests.drawn.timeline import timeline

NAMES = {"e": "aten::addmm", "o": "aten::mm"}
USUAL, MORE = "oooooooo..", "oooooooo.ee.ee.ee..."


def drawn(steps: str, updates: str = "") -> RecurringWork | None:
    """u: a usual step of 10 us; m: a step of 20 us with three more ops; n: as long as m, with two more ops; s: as long
    as m, without more ops; updates: the steps in which an optimizer steps, named once for each time."""
    cells = {"u": USUAL, "m": MORE, "n": "oooooooo.ee.eeeee...", "s": "oooooooo............"}
    ops = "".join(cells[each] for each in steps)
    marks = "".join(str(place % 10) * len(cells[each]) for place, each in enumerate(steps))
    done = "".join((".u" * updates.count(str(place))).ljust(len(cells[each]), ".") for place, each in enumerate(steps))
    user = f"user Optimizer.step#SGD.step | {done} |" if updates else ""
    return recurring_work(timeline(f"step | {marks} |\nop | {ops} |\n{user}", names=NAMES), None)


def test_every_third_step_does_more():
    assert drawn("uumuumuumu") == RecurringWork(3, ["2", "5", "8"], 10_000, "aten::addmm", 3)


def test_steps_of_two_kinds_in_turn_are_none_that_do_more():
    assert drawn("umumumumum") is None


def test_two_count_where_they_do_the_same_and_all_others_do():
    """The first step of a recording may be one of the two; where it differs from the other, it does one-time work."""
    assert drawn("uumuuumuuu") == RecurringWork(4, ["2", "6"], 10_000, "aten::addmm", 3)
    assert drawn("muuuumuuuu") == RecurringWork(5, ["0", "5"], 10_000, "aten::addmm", 3)


def test_two_that_differ_one_and_unequal_distances_are_chance():
    assert drawn("uumuuunuuu") is None
    assert drawn("nuuuumuuuu") is None
    assert drawn("uuuumuuuu") is None
    assert drawn("uumuumuuum") is None


def test_one_that_is_missing_makes_no_rule():
    assert drawn("uuuuumuumuum".replace("uuuuum", "uuuuuum")) is None


def test_longer_steps_that_do_no_more_are_another_matter():
    assert drawn("uusuusuusu") is None


def test_without_ops_nothing_is_known():
    lengths = [10, 10, 20, 10, 10, 20, 10, 10, 20, 10]
    steps = "".join(str(place) * length for place, length in enumerate(lengths))
    assert recurring_work(timeline(f"step | {steps} |"), None) is None


def test_an_optimizer_that_steps_in_them_alone_is_part_of_the_training():
    assert drawn("uumuumuumu", updates="258") is None
    assert drawn("uumuumuumu", updates="0123456789") is not None


def test_steps_that_update_a_second_network_are_part_of_the_training():
    """The generator of an adversarial training steps after several steps of its discriminator."""
    assert drawn("uumuumuumu", updates="0123456789258") is None
    assert drawn("uumuumuumu", updates="01234567892") is not None
