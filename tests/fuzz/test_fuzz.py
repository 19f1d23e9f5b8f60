"""Some cases of every kind in each run, many of them in `make test-all`."""

from __future__ import annotations

import pytest

from tests.fuzz.cases import outcome


def test_some_mutations_give_figures_or_a_clear_refusal():
    assert wrong(range(40)) == {}


@pytest.mark.live
def test_many_mutations_give_figures_or_a_clear_refusal():
    assert wrong(range(1_000, 3_000)) == {}


def wrong(cases: range) -> dict[int, str]:
    return {case: cause for case in cases if (cause := outcome(case))}
