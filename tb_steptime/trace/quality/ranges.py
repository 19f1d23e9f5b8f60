"""The time ranges in which a finding occurs."""

from __future__ import annotations

import numpy as np

from tb_steptime.text.notes import MOST_RANGES
from tb_steptime.trace.table import Int64


def longest(start: Int64, end: Int64) -> tuple[tuple[int, int], ...]:
    """The longest of these time ranges first, up to MOST_RANGES."""
    order = np.argsort(start - end, kind="stable")[:MOST_RANGES]
    return tuple(zip(start[order].tolist(), end[order].tolist(), strict=True))
