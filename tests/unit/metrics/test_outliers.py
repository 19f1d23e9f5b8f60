"""Which steps stand out: by more than their spread explains, and by at least a tenth of the median."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.means import slow


@pytest.mark.parametrize(
    ("lengths", "found"),
    [
        ([100, 101, 100, 99, 100, 150], [5]),
        ([100, 100, 100, 100, 100, 109], []),  # beyond what the spread explains, but by less than a tenth
        ([100, 100, 100, 100, 100, 110], [5]),
        ([60, 80, 100, 120, 140, 160], []),  # steps differ this much anyway
        ([100, 100, 100, 50, 100, 100], []),  # a fast step
        ([100, 100, 150], []),  # with three steps it is not known what is usual
    ],
)
def test_slow_ones_stand_out_and_are_longer_by_a_tenth(lengths: list[int], found: list[int]):
    assert np.flatnonzero(slow(np.array(lengths))).tolist() == found
