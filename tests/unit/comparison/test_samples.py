"""Table rows computed from means and spreads are those that all steps would give."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.comparison.intervals import Change, Sample, change_of_samples, pooled, status_of

SEEDS = range(100)


def sample(values) -> Sample:
    return Sample(len(values), float(np.mean(values)), float(np.std(values, ddof=1)))


def test_pooled_spans_are_the_sample_of_all_steps():
    draws = np.random.default_rng(0)
    spans = [draws.exponential(5, count) for count in (3, 7, 12)]
    found, whole = pooled(map(sample, spans)), sample(np.concatenate(spans))
    assert (found.steps, found.mean, found.deviation) == (22, pytest.approx(whole.mean), pytest.approx(whole.deviation))


def test_spans_of_one_step_have_no_spread_of_their_own():
    assert pooled([Sample(1, 4.0, None), Sample(1, 6.0, None)]).deviation == pytest.approx(2**0.5)
    assert pooled([Sample(1, 4.0, None)]) == Sample(1, 4.0, None)


@pytest.mark.parametrize("count", [3, 6, 30])
def test_the_interval_holds_the_true_change_in_at_least_90_of_100_recordings(count):
    held = 0
    for seed in SEEDS:
        draws = np.random.default_rng(seed)
        found = change_of_samples(sample(draws.normal(100, 5, count)), sample(draws.normal(97, 9, count)))
        held += found.low <= -3 <= found.high
    assert held >= 90


def test_a_single_step_has_no_interval():
    assert change_of_samples(Sample(1, 5.0, None), Sample(9, 7.0, 0.5)) == Change(5.0, 7.0)


@pytest.mark.parametrize(
    ("base", "candidate", "status"),
    [
        (Sample(9, 5_000, 100), Sample(9, 9_000, 100), "changed"),
        (Sample(9, 5_000, 100), Sample(9, 5_900, 100), "alike"),  # below a microsecond
        (Sample(9, 5_000, 9_000), Sample(9, 9_000, 9_000), "alike"),  # within noise
        (Sample(1, 500_000, None), Sample(1, 510_000, None), "alike"),  # nothing shows how much is noise
        (Sample(1, 500_000, None), Sample(1, 600_000, None), "changed"),
    ],
)
def test_what_counts_as_changed(base, candidate, status):
    assert status_of(change_of_samples(base, candidate)) == status
