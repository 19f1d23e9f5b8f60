"""The marks that torch.profiler writes around steps, on the thread that calls `prof.step()`: ProfilerStep#5."""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Int64, Kind

#: A number of more digits is none that a profiler counts to, nor one that a column holds.
STEP_MARK = re.compile(r"ProfilerStep\s*#\s*(\d{1,18})(?!\d)")


@shared()
def step_marks(trace: Trace) -> Int64:
    """Rows of the host-side step marks, in time order."""
    is_mark = np.array([STEP_MARK.match(name) is not None for name in trace.strings.strings], bool)
    rows = trace.events.rows(Kind.USER)
    return rows[is_mark[trace.events.name[rows]]] if len(rows) else rows


def mark_number(trace: Trace, row: int) -> int:
    """The number of the step that this mark is around."""
    match = STEP_MARK.match(trace.strings[int(trace.events.name[row])])
    assert match is not None
    return int(match.group(1))
