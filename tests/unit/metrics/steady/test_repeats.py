"""The excess of calls over the steady duration of their site."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.steady.excess import CallExcess, Likeness, judge
from tb_steptime.trace.table import Int64

US = 1_000


def _judged(length: Int64, step: Int64, sites: list[Int64]) -> CallExcess:
    """What is found where the work of all calls is the same."""
    columns = [site.__getitem__ for site in sites]
    return judge(length, step, columns, Likeness(np.ones(len(length), bool), np.zeros(len(length), bool)))


def _excess(length: list[int], step: list[int] | None = None) -> list[int]:
    """The excess of each call of one site, in us."""
    calls = np.array(length, np.int64) * US
    steps = np.zeros(len(calls), np.int64) if step is None else np.array(step, np.int64)
    return (_judged(calls, steps, [np.zeros(len(calls), np.int64)]).excess_ns // US).tolist()


def test_the_first_call_is_compared_with_the_later_ones() -> None:
    assert _excess([43_000, 5_000, 5_000], [0, 1, 2]) == [38_000, 0, 0]


def test_one_call_of_many_is_compared_with_the_others() -> None:
    assert _excess([10] * 20 + [2_441] + [10] * 20) == [0] * 20 + [2_431] + [0] * 20


def test_the_longest_call_of_each_step_is_work() -> None:
    step = [10, 10, 10, 500, 10, 10]
    assert _excess(step * 3, [0] * 6 + [1] * 6 + [2] * 6) == [0] * 18


def test_what_recurs_within_the_only_step_is_work() -> None:
    """Every sixth layer attends to all positions."""
    layers = [90, 90, 90, 90, 90, 1_400]
    assert _excess(layers * 4) == [0] * 24


def test_a_single_call_has_nothing_to_be_compared_with() -> None:
    assert _excess([9_000]) == [0]


@pytest.mark.parametrize("seed", range(30))
def test_healthy_calls_have_no_excess(seed: int) -> None:
    random = np.random.default_rng(seed)
    length = np.rint(200 * random.lognormal(0, 0.1, 500)).astype(int).tolist()
    assert _excess(length, np.repeat(np.arange(10), 50).tolist()) == [0] * 500


@pytest.mark.parametrize("seed", range(10))
def test_calls_are_judged_alike_however_many_are_looked_at_together(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    step = np.repeat(np.arange(10), 60)
    sites = [random.integers(0, most, len(step)) * 65_536 + random.integers(0, 3, len(step)) for most in (40, 12, 5)]
    sites[0] = np.unique(sites[0], return_inverse=True)[1].reshape(-1)
    length = np.rint(20 * US * random.lognormal(0, 2, len(step))).astype(np.int64)
    whole = _judged(length, step, sites)
    monkeypatch.setattr("tb_steptime.metrics.steady.excess._AT_ONCE", 7)
    parts = _judged(length, step, sites)
    assert whole.excess_ns.any()
    assert [each.tolist() for each in parts] == [each.tolist() for each in whole]
