"""What a library only tries: which activities these are, and when a device runs nothing else."""

from __future__ import annotations

import random

import pytest

from tb_steptime.metrics.excluded_time.ranges import judged_ns, one_time_rows
from tb_steptime.metrics.excluded_time.steady_step import steady_ns
from tb_steptime.metrics.steady.trials import trial_intervals, trials
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

CELLS = [random.Random(seed).randrange(20_000, 9_000_000) for seed in range(4)]


def drawn(first: str, others: str = "k..", cell_ns: int = 1_000_000, op: str = "c") -> Trace:
    """Four steps with one call of an op; the first one launches what `first` shows, the others what `others` shows."""
    calls = "".join(f"{each}.." for each in (first, others, others, others))
    ops = "".join(f"{op * len(each)}.." for each in (first, others, others, others))
    steps = "".join(f"{place}" * (len(each) + 2) for place, each in enumerate((first, others, others, others)))
    return timeline(
        f"""
        step     | {steps} |
        op       | {ops} |
        runtime  | {calls} |
        kernel 7 | .{calls} |""",
        cell_ns=cell_ns,
        names={"c": "aten::cudnn_convolution"},
    )


def tried(trace: Trace) -> list[str]:
    return [trace.name_of(row) for row in trials(trace).event.tolist()]


@pytest.mark.parametrize("cell_ns", CELLS)
def test_what_only_a_first_call_launches_is_tried(cell_ns: int):
    """The algorithm that is chosen, k, is tried too; it stays. The device also waits between trials."""
    trace = drawn("a..b.k", cell_ns=cell_ns)
    assert tried(trace) == ["a", "b"]
    assert [trace.name_of(row) for row in trials(trace).op.tolist()] == ["aten::cudnn_convolution"] * 2
    assert trial_intervals(trace, 0).total_ns == 4 * cell_ns
    assert judged_ns(trace, 0).tolist() == steady_ns(trace, 0).tolist() == [5 * cell_ns] * 4


@pytest.mark.parametrize(
    ("first", "others", "found"),
    [
        ("abk", "k..", ["a", "b"]),
        ("ak.", "k..", []),
        ("abklm", "klm", []),
        ("abdefgklm", "klm", ["a", "b", "d", "e", "f", "g"]),
        ("kak", "k..", ["a"]),
        ("abd", "k..", []),
    ],
    ids=[
        "three times as many",
        "twice as many",
        "two more",
        "three times as many of more",
        "chosen and tried",
        "other",
    ],
)
def test_a_first_call_launches_three_times_as_much(first: str, others: str, found: list[str]):
    assert tried(drawn(first, others, op="o")) == found


def test_a_later_call_that_launches_as_much_shows_that_the_number_depends_on_the_data():
    trace = timeline("""
        step     | 000000111112222233333 |
        op       | cccccccccccccccccc... |
        op       | pppp..pp...pppp.pp... |
        runtime  | abk...k....dek..k.... |
        kernel 7 | .abk...k....dek..k... |""")  # fmt: skip
    assert tried(trace) == []


def test_with_fewer_than_two_later_calls_nothing_is_known():
    trace = timeline("""
        step     | 000000111111 |
        op       | pppp..pp.... |
        runtime  | abk...k..... |
        kernel 7 | .abk...k.... |""")  # fmt: skip
    assert tried(trace) == []


def test_in_one_step_the_first_call_is_compared_with_later_ones():
    trace = timeline("""
        step     | 000000000000 |
        op       | pppp.pp.pp.. |
        runtime  | abk..k..k... |
        kernel 7 | .abk..k..k.. |""")  # fmt: skip
    assert tried(trace) == ["a", "b"]


def timed(first: str, others: str, cell_ns: int = 1_000_000) -> Trace:
    """A first step that launches a kernel in other code, several times, and then does what three later steps do."""
    steps = (first + others, others, others, others)
    return timeline(
        f"""
        step     | {"".join(f"{place}" * len(each) for place, each in enumerate(steps))} |
        op       | {"".join("." * (len(each) - len(others)) + "..pp...." for each in steps)} |
        runtime  | {"".join(steps)} |
        kernel 7 | .{"".join(steps).replace("e", ".")[:-1]} |""",
        cell_ns=cell_ns,
        names={"p": "aten::add"},
        calls={"e": "cudaEventRecord"},
    )


@pytest.mark.parametrize("cell_ns", CELLS)
def test_what_a_long_first_step_times_is_tried(cell_ns: int):
    """Triton's autotuner records an event before and after each of its launches; later steps launch the same kernel in
    other code."""
    trace = timed("..e.t.e." * 4, ".t..k...", cell_ns)
    assert tried(trace) == ["t"] * 4
    assert judged_ns(trace, 0).tolist() == [8 * cell_ns] * 4


@pytest.mark.parametrize(("times", "found"), [(3, 3), (1, 0)])
def test_a_first_step_that_is_not_far_longer_times_nothing(times: int, found: int):
    """Of the first step, 8 cells are what later steps do; the other code has to take twice as long as a later step."""
    assert len(tried(timed("..e.t.e." * times, ".t..k..."))) == found


def test_the_cost_is_that_of_the_op():
    trace = drawn("a..b.k")
    (row,) = one_time_rows(trace, 0)
    assert (row.cause, row.op, row.total_ns) == ("first_call", "aten::cudnn_convolution", 3_000_000)
    assert steady_ns(trace, 0).tolist() == [5_000_000] * 4
