"""Selects events by name, testing each distinct name once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in


def rows_named(trace: Trace, kinds: Sequence[Kind], wanted: Callable[[str], object]) -> Int64:
    """Rows of these kinds whose name passes `wanted`, in time order. wanted: returns something true for such a name, as
    the match of an expression is."""
    there = np.flatnonzero(trace.events.names_by_kind[list(kinds)].any(axis=0))
    result = _wanted(trace, there, wanted)
    if not result.any():  # most names that are searched for occur in few traces
        return np.empty(0, np.int64)
    rows = trace.events.rows(*kinds)
    return rows[result.take(trace.events.name.take(rows))]


def named_in(trace: Trace, rows: Int64, wanted: Callable[[str], object]) -> Bool:
    """For each string of the table: is it the name of one of these rows, and does it pass `wanted`? Each is tested
    once."""
    return _wanted(trace, distinct_in(trace.events.name.take(rows)), wanted)


def are_named(trace: Trace, rows: Int32 | Int64, wanted: Callable[[str], object]) -> Bool:
    """For each of these rows: does its name pass `wanted`? Each distinct name is tested once."""
    names = trace.events.name.take(rows)
    return np.asarray(_wanted(trace, distinct_in(names), wanted).take(names), bool)


def _wanted(trace: Trace, names: Int64, wanted: Callable[[str], object]) -> Bool:
    result = np.zeros(len(trace.strings), bool)
    result[names] = [bool(wanted(trace.strings[name])) for name in names.tolist()]
    return result
