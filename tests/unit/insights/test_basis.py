"""What the mean step is a mean of: steps that change for good during the recording are of several kinds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_steptime.analyses.host import HostStep
from tb_steptime.insights.base import Confidence, Headline, Judgement
from tb_steptime.metrics.idle.reasons import IdleNs
from tests.drawn.host_result import US, host_result, judged


def headline(lengths: Sequence[int], left_out: Sequence[int] = (), allocator: Sequence[int] = ()) -> Headline:
    return of_steps(lengths, left_out, allocator).headlines["overview"]


def of_steps(lengths: Sequence[int], left_out: Sequence[int] = (), allocator: Sequence[int] = ()) -> Judgement:
    """Steps of these lengths, us, with so much left out, and so long in the allocator."""
    ends = [sum(lengths[: place + 1]) * US for place in range(len(lengths))]
    steps = [
        HostStep(
            name=str(place + 5),
            start_ns=ends[place] - length * US,
            end_ns=ends[place],
            idle_ns=IdleNs(allocator=allocator[place] * US if allocator else 0, cpu_work=US),
            left_out_ns=left_out[place] * US if left_out else 0,
        )
        for place, length in enumerate(lengths)
    ]
    return judged(host_result(steps=steps))


def values(found: Headline) -> dict[str, object]:
    return {} if found.basis is None else {key: each.value for key, each in found.basis.values.items()}


@pytest.mark.parametrize(
    ("allocator", "part"),
    [
        ([40, 44, 940, 950, 960], {"part": "Allocator", "more": 908 * US, "than": "more"}),
        ([40, 44, 400, 410, 420], {}),  # not even half of the difference
    ],
)
def test_steps_of_two_kinds_are_told_with_what_changed(allocator: list[int], part: dict[str, object]):
    found = headline([118, 116, 1_014, 1_068, 1_076], allocator=allocator)
    assert values(found) == {"step": "7", "before": 117 * US, "after": 1_068 * US} | part


def test_so_are_steps_that_become_shorter():
    found = headline([310, 320, 200, 190], allocator=[100, 110, 0, 0])
    two_kinds = {"step": "7", "before": 315 * US, "after": 195 * US}
    assert values(found) == two_kinds | {"part": "Allocator", "more": 105 * US, "than": "less"}


def test_each_of_several_kinds_is_listed():
    assert values(headline([310, 320, 90, 100, 600, 640, 600])) == {
        "ns0": 315 * US, "step1": "7", "ns1": 95 * US, "step2": "9", "ns2": 600 * US
    }  # fmt: skip


def test_a_kind_that_comes_again_is_listed_again():
    assert values(headline([100, 110, 105, 300, 310, 305, 100, 105, 104])) == {
        "ns0": 105 * US, "step1": "8", "ns1": 305 * US, "step2": "11", "ns2": 104 * US
    }  # fmt: skip


def test_many_kinds_are_counted():
    assert values(headline([10, 10, 20, 20, 40, 40, 80, 80, 160, 160])) == {"number": 5}


@pytest.mark.parametrize(
    ("idle", "confidence"),
    [([80, 80, 5, 5], Confidence.MEDIUM), ([80, 80, 400, 400], Confidence.HIGH), ([5, 5, 50, 50], Confidence.HIGH)],
    ids=["another limit", "idle in both", "busy in both"],
)
def test_a_verdict_on_steps_with_different_limits_is_about_no_step(idle: list[int], confidence: Confidence):
    assert of_steps([100, 100, 1_000, 1_000], allocator=idle).verdict.confidence is confidence


@pytest.mark.parametrize(
    ("lengths", "left_out"),
    [
        ([100, 100, 150, 150], ()),  # not more than 1.5 times as long
        ([100, 100, 100, 900], ()),  # the last step alone
        ([900, 100, 100, 100], ()),  # the first one alone
        ([100, 300, 100, 300, 100, 300], ()),  # in turn
        ([100, 100, 100, 300, 300, 100, 100, 100], ()),  # two, which may be chance
        ([100, 100, 100, 150, 150, 150, 100, 100, 100], ()),  # not more than 1.5 times as long
        ([100, 100, 100, 300, 300, 300] * 3, ()),  # in turn, again and again
        ([100, 130, 160, 190, 220, 250, 280], ()),  # little by little
        ([100, 300, 900, 300, 900], ()),  # the first one alone, and noise
        ([300, 300, 100, 100], (200, 200, 0, 0)),  # one-time work
        ([], ()),
    ],
)
def test_other_steps_are_not_of_two_kinds(lengths: list[int], left_out: tuple[int, ...]):
    assert values(headline(lengths, left_out)) == {}
