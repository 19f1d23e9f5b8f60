"""Events by their names, each of which is asked about once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in


def rows_named(trace: Trace, kinds: Sequence[Kind], wanted: Callable[[str], bool]) -> Int64:
    """Rows of these kinds whose name is wanted, in time order."""
    rows = trace.events.rows(*kinds)
    return rows[named_in(trace, rows, wanted)[trace.events.name[rows]]]


def named_in(trace: Trace, rows: Int64, wanted: Callable[[str], bool]) -> Bool:
    """For each string of the table: is it the name of one of these rows, and wanted? Each is asked once."""
    result = np.zeros(len(trace.strings), bool)
    names = distinct_in(trace.events.name[rows])
    result[names] = [wanted(trace.strings[name]) for name in names.tolist()]
    return result
