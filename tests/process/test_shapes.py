"""Traces that no profiler writes: a hostile or broken file may have any number of anything. Each has two sizes here.

`python -m benchmarks.shapes` prints the same figures for sizes that are forty times as large.
"""

from __future__ import annotations

import pytest

from benchmarks.shapes import SHAPES, at_two_sizes

TIMES = 4
#: From a size of one hundred on, n log n grows less than sixfold when n grows fourfold. A limit of twice that allows
#: for noise; quadratic growth would be sixteenfold.
MOST_TIMES_THE_SECONDS = 12
#: Below this time, other activity of the machine dominates.
LEAST_SECONDS = 0.05
MOST_BYTES = 1_000_000
#: For the shapes with the longest names, or with the most steps or GPUs that are shown.
MOST_BYTES_OF_ALL = 4_500_000


def bound(name: str) -> int:
    return MOST_BYTES_OF_ALL if name in ("long names", "steps", "devices") else MOST_BYTES


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_grows_faster_than_n_log_n_and_no_page_without_a_bound(name):
    before, after = at_two_sizes(name, max(10, SHAPES[name][1] // 40), TIMES, tries=1)
    assert after.seconds < MOST_TIMES_THE_SECONDS * max(before.seconds, LEAST_SECONDS)
    assert after.bytes < bound(name)
