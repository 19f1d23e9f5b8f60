"""Experiments in the order in which they were recorded: each is compared with those that do the same work."""

from __future__ import annotations

from tb_steptime.comparison.comparison import chain
from tb_steptime.comparison.sides import Side
from tests.drawn.timeline import timeline
from tests.unit.comparison.sides import side_of

US = 1_000


def on_gpu(name: str, busy: int) -> Side:
    works = ("k" * busy).ljust(9, ".")
    return side_of(name, timeline(f"step | {'0' * 9}{'1' * 9} |\n op | {works * 2} |\n kernel 7 | {works * 2} |"))


def on_cpu(name: str, step: int) -> Side:
    return side_of(name, timeline(f"step | {'0' * step}{'1' * step} |\n op | {'k'.ljust(step, '.') * 2} |"))


def test_a_run_is_compared_with_those_before_it_that_do_the_same_work():
    links = chain([on_gpu("a", 4), on_cpu("b", 8), on_gpu("c", 6), on_cpu("d", 6), on_gpu("e", 7)])
    assert [link.work for link in links] == [0, 1, 0, 1, 0]
    steps = {link.name: link.step_ns for link in links}
    assert (steps["b"], steps["d"]) == (8 * US, 6 * US)
    first = [link.from_first and (link.from_first.base_ns, link.from_first.candidate_ns) for link in links]
    assert first == [None, None, (steps["a"], steps["c"]), (steps["b"], steps["d"]), (steps["a"], steps["e"])]
    before = [link.from_previous and link.from_previous.base_ns for link in links]
    assert before == [None, None, steps["a"], steps["b"], steps["c"]]
