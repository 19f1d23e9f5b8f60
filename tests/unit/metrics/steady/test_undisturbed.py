"""The host time of a step that other processes do not lengthen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.steady.host import undisturbed_host_time
from tb_steptime.text import Reason
from tests.drawn.timeline import timeline

STEPS, US = 4, 1_000


def drawn(lengths):
    """Steps of the ops a and b, each after 1 us of Python; lengths: of a and b in each step, in us."""
    marks, ops = "", ""
    for number, (a, b) in enumerate(lengths):
        ops += "." + "a" * a + "." + "b" * b
        marks += str(number) * (a + b + 2)
    return timeline(f"step | {marks} |\nop | {ops} |")


def test_each_call_counts_as_the_second_fastest_of_its_site():
    found = undisturbed_host_time(drawn([(5, 3), (9, 2), (4, 2), (5, 8)]))
    assert (found.value, found.steps) == (9 * US, (9 * US,) * STEPS)


def test_a_call_that_is_alone_counts_as_it_is():
    one_more = timeline("""
        step | 00000001111111111222222222 |
        op   | .aaa.bb.aaa.bbccc.aaaaa.bb |""")
    assert undisturbed_host_time(one_more).steps == (7 * US, 10 * US, 7 * US)


@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=STEPS - 2, max_size=STEPS - 2),
    st.integers(0, STEPS - 1),
)
def test_delays_of_all_but_two_calls_of_each_site_change_nothing(quiet, delays, turn):
    lengths = [quiet] * 2 + [(quiet[0] + a, quiet[1] + b) for a, b in delays]
    found = undisturbed_host_time(drawn(lengths[turn:] + lengths[:turn]))
    assert found.value == (2 + sum(quiet)) * US


def test_waits_for_the_device_are_left_out():
    waiting = timeline(
        """
        step     | 000000000011111111112222222222 |
        runtime  | k.ssss....k.sssssss.k.s....... |
        kernel 7 | .qqqqq.....qqqqqqqq..qq....... |""",
        calls={"s": "cudaDeviceSynchronize"},
    )
    whole = undisturbed_host_time(waiting)
    assert whole.value is not None and whole.value < 10 * US


def test_it_is_not_known_without_events_of_the_host():
    assert undisturbed_host_time(timeline("kernel 7 | kkkk |")).reason == Reason("no_launch_calls")
