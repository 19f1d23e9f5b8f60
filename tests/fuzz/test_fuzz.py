"""Some cases of every kind in each run, many of them in `make test-all`."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests import PROJECT
from tests.fuzz import pftraces
from tests.fuzz.cases import outcome
from tests.fuzz.checks import finding

#: Where many are tried, from this number on: each draws its own mutation.
MANY = range(1_000, 1_000 + 4 * settings().max_examples)


def test_some_mutations_give_figures_or_a_clear_refusal():
    assert wrong(range(20)) == {}


@pytest.mark.parametrize(
    "name",
    [
        "copies_of_another_day.json",
        "impossible_values.json",
        "op_without_a_name.json",
        "optimizer_kernels_without_length.json",
        "times_lost.json",
    ],
)
def test_what_was_found_once_stays_mended(name):
    assert finding(PROJECT / "tests" / "traces" / name) is None


@pytest.mark.live
def test_many_mutations_give_figures_or_a_clear_refusal():
    assert wrong(MANY) == {}


def test_some_damaged_pftraces_give_figures_or_a_clear_refusal():
    assert {case: cause for case in range(20) if (cause := pftraces.outcome(case))} == {}


@pytest.mark.live
def test_many_damaged_pftraces_give_figures_or_a_clear_refusal():
    assert {case: cause for case in MANY[::2] if (cause := pftraces.outcome(case))} == {}


def wrong(cases: range) -> dict[int, str]:
    return {case: cause for case in cases if (cause := outcome(case))}
