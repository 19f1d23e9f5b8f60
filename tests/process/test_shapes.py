"""Traces that no profiler writes: as many of anything as a hostile or broken file likes, at two sizes.

`python -m benchmarks.shapes` prints the same of sizes forty times as large.
"""

from __future__ import annotations

import pytest

from benchmarks.shapes import SHAPES, at_two_sizes

TIMES = 4
#: n log n of four times as much is less than six times, from a hundred on. Twice that is noise; squared it is sixteen.
MOST_TIMES_THE_SECONDS = 12
#: Of less than this the rest of the machine is more.
LEAST_SECONDS = 0.05
MOST_BYTES = 1_000_000
#: What has the longest names, the most steps or GPUs that are shown.
MOST_BYTES_OF_ALL = 4_500_000


def bound(name: str) -> int:
    return MOST_BYTES_OF_ALL if name in ("long names", "steps", "devices") else MOST_BYTES


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_grows_faster_than_n_log_n_and_no_page_without_a_bound(name):
    before, after = at_two_sizes(name, max(10, SHAPES[name][1] // 40), TIMES, tries=1)
    assert after.seconds < MOST_TIMES_THE_SECONDS * max(before.seconds, LEAST_SECONDS)
    assert after.bytes < bound(name)
