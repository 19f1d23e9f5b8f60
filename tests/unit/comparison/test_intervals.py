"""Is a difference of means more than noise? Intervals against declared truths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.comparison import intervals
from tb_steptime.comparison.intervals import Change, change_between, change_of_mean, student

SEEDS = range(100)


def steps(seed: int, count: int, mean: float, spread: float) -> np.ndarray:
    """Steps as in real recordings: most are alike, some are much longer."""
    return mean + np.random.default_rng(seed).exponential(spread, count) - spread


@pytest.mark.parametrize("count", [3, 6, 20, 60])
def test_the_interval_holds_the_true_change_in_at_least_90_of_100_recordings(count):
    held = 0
    for seed in SEEDS:
        found = change_of_mean(steps(seed, count, 100, 8), steps(1000 + seed, count, 95, 8))
        held += found.low <= -5 <= found.high
    assert held >= 90


def test_what_is_alike_is_never_5_percent_slower_by_its_whole_interval():
    def gate(seed):
        base, candidate = steps(seed, 12, 100, 4), steps(1000 + seed, 12, 100, 4)
        return change_of_mean(base, candidate).low > 0.05 * base.mean()

    assert not any(map(gate, SEEDS))


def test_steps_that_alternate_are_no_noise():
    """With three workers every third step waits. Taken in whole periods, the mean is certain."""
    base, candidate = np.tile([10, 10, 40], 8), np.tile([10, 10, 34], 8)
    loose, known = change_of_mean(base, candidate), change_of_mean(base, candidate, period=3)
    assert not loose.distinguishable
    assert (known.change, known.low, known.high, known.distinguishable) == (-2, -2, -2, True)


def test_sides_without_a_common_step_time_differ_however_long_single_steps_are():
    """Three of five steps record a graph again. Means of five such steps may be anything."""
    base, candidate = np.array([213.0, 213, 2.4, 213, 2.4]), np.array([1.2, 1.6, 1.2, 1.2, 1.3])
    faster, slower = change_of_mean(base, candidate), change_of_mean(candidate, base)
    assert (faster.high, slower.low) == (pytest.approx(-0.8), pytest.approx(0.8))
    assert faster.distinguishable and slower.distinguishable
    assert not change_of_mean(base, candidate, by_order=False).distinguishable
    assert not change_of_mean(base[:3], candidate[:3]).distinguishable, "2 of 20 ways have one side above the other"
    assert not change_of_mean(base, np.append(candidate, 2.5)).distinguishable, "not all steps are shorter"


@pytest.mark.parametrize("count", [4, 5, 8, 20])
def test_the_order_of_steps_that_are_alike_seldom_shows_a_difference(count):
    """Steps of which three tenths take ten times as long."""

    def side(seed):
        draws = np.random.default_rng(seed)
        return np.where(draws.random(count) < 0.3, 10, 1) * (1 + 0.01 * draws.standard_normal(count))

    differ = [
        sum(change_of_mean(side(seed), side(10_000 + seed), by_order=by_order).distinguishable for seed in range(400))
        for by_order in (True, False)
    ]
    assert 0 <= differ[0] - differ[1] <= 0.05 * 400


def test_a_single_step_says_nothing_of_noise():
    assert change_of_mean(np.array([10]), np.array([7, 8, 9])) == Change(10, 8)


def test_steps_without_any_spread_are_certain():
    assert change_of_mean(np.full(4, 7), np.full(5, 9)) == Change(7, 9, 2, 2, True)


def test_many_steps_have_the_interval_that_drawing_them_one_by_one_gives(monkeypatch):
    base, candidate = steps(1, 600, 100, 8), steps(2, 600, 99, 8)
    quick = change_of_mean(base, candidate)
    monkeypatch.setattr(intervals, "MANY", 1_000)
    drawn = change_of_mean(base, candidate)
    assert (quick.low, quick.high) == pytest.approx((drawn.low, drawn.high), abs=0.1 * (drawn.high - drawn.low))


def test_how_many_steps_would_show_it():
    base, candidate = steps(1, 10, 100, 10), steps(2, 10, 103, 10)
    found = change_of_mean(base, candidate)
    assert not found.distinguishable
    assert found.enough_steps > 10
    assert change_of_mean(base, base.copy()).enough_steps is None, "no number of steps shows a change of 0"


@pytest.mark.parametrize("count", [5, 20])
def test_as_many_steps_as_there_are_are_never_called_enough(count):
    """The interval is longer to one side where single steps are very long."""
    found = [
        change_of_mean(60 + 20 * np.random.default_rng(seed).pareto(2, count), steps(1000 + seed, count, 85, 5))
        for seed in SEEDS
    ]
    unclear = [each.enough_steps for each in found if not each.distinguishable]
    assert len(unclear) > 50
    assert [enough for enough in unclear if enough is not None and enough <= count] == []


@given(
    st.lists(st.integers(1, 10**9), min_size=2, max_size=40),
    st.lists(st.integers(1, 10**9), min_size=2, max_size=40),
)
def test_exchanged_sides_have_the_opposite_change(base, candidate):
    one = change_of_mean(np.array(base), np.array(candidate))
    other = change_of_mean(np.array(candidate), np.array(base))
    assert one.change == pytest.approx(-other.change)
    assert one.low <= one.high
    assert one == change_of_mean(np.array(base), np.array(candidate)), "the same each time"


def test_quantiles_of_student_as_tables_have_them():
    table = {1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042}
    assert {freedom: student(freedom) for freedom in table} == pytest.approx(table, rel=0.02)
    narrower = {1: 6.314, 2: 2.920, 4: 2.132, 30: 1.697}
    assert {freedom: student(freedom, 0.9) for freedom in narrower} == pytest.approx(narrower, rel=0.02)


def runs(seed: int, mean: float, number: int = 3) -> list[np.ndarray]:
    """Recordings of ten steps that vary by 1 % from step to step and by 1 % from run to run."""
    draws = np.random.default_rng(seed)
    return [draws.normal(mean * (1 + 0.01 * draws.normal()), 0.01 * mean, 10) for _ in range(number)]


def test_of_100_unchanged_pairs_at_most_one_is_5_percent_slower_by_its_whole_interval():
    failed = sum(change_between(runs(seed, 100), runs(1000 + seed, 100)).low > 5 for seed in SEEDS)
    assert failed <= 1


def test_ten_percent_are_seen_in_90_of_100_with_three_recordings_a_side():
    failed = sum(change_between(runs(seed, 100), runs(1000 + seed, 110)).low > 5 for seed in SEEDS)
    assert failed >= 90


def one_value(*means: float) -> list[np.ndarray]:
    return [np.array([mean]) for mean in means]


def test_runs_that_differ_widen_what_their_steps_say():
    """The steps of a run are equal, and the runs differ by 10 %: Student's t with two degrees of freedom applies."""
    base, candidate = ([np.full(9, mean) for mean in means] for means in ((95.0, 105.0), (100.0, 100.0)))
    found = change_between(base, candidate)
    off = np.exp(student(2) * np.sqrt(2 * 0.05**2 / 2 / 2))
    half = 100 * np.hypot(1 - 1 / off, off - 1)
    assert (found.change, found.low, found.high) == pytest.approx((0, -half, half))
    assert change_between(base[:1], candidate[:1]) == change_of_mean(base[0], candidate[0])


def test_recordings_with_one_value_each_are_compared_by_how_they_differ():
    """They differ by so little that a factor is an amount."""
    found = change_between(one_value(99.9, 100.0, 100.1), one_value(110.0, 110.0, 110.0))
    half = student(4) * np.sqrt(2 * 0.001**2 / 4 * (100**2 / 3 + 110**2 / 3))
    assert (found.change, found.low, found.high) == pytest.approx((10, 10 - half, 10 + half), rel=1e-3)


def test_runs_that_differ_by_a_factor_still_show_a_change_by_a_larger_one():
    """As amounts, noise of more than half a mean would let no candidate be longer, however long it took."""
    found = change_between(one_value(100, 210), one_value(1400, 2500))
    assert found.low > 0.05 * found.base and found.distinguishable
    back = change_between(one_value(1400, 2500), one_value(100, 210))
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))
    assert not change_between(one_value(100, 210), one_value(140, 250)).distinguishable


def test_a_side_without_any_of_it_has_an_interval():
    found = change_between(one_value(3, 4), one_value(0, 0))
    assert (found.change, found.distinguishable) == (-3.5, True)
    assert found.low < -3.5 < found.high < 0


@pytest.mark.parametrize("spread", [0.1, 0.5])
def test_of_unchanged_pairs_whose_runs_differ_much_few_are_slower_by_the_whole_interval(spread):
    """A gate counts one end of the interval of 90 %."""
    draws = np.random.default_rng(0)
    pairs = [[one_value(*100 * np.exp(spread * draws.normal(size=3))) for _ in range(2)] for _ in range(100)]
    assert sum(change_between(*pair, level=0.9).low > 0 for pair in pairs) <= 0.07 * 100


@pytest.mark.parametrize("number", [2, 3, 5])
def test_the_mean_of_a_few_recordings_is_above_its_true_value_by_its_interval_in_one_of_twenty(number):
    draws = np.random.default_rng(0)
    above = 0
    for _ in range(400):
        side = one_value(*draws.normal(100, 2, number))
        mean = [np.full_like(values, np.mean(side)) for values in side]
        found = change_between(mean, side, level=0.9, base_is_exact=True)
        above += found.candidate + found.low > 100
    assert 0.02 * 400 <= above <= 0.08 * 400
