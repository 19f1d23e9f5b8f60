"""When the host runs an op or a named range. Step marks and the loader's marks do not count as work."""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_names
from tb_steptime.trace.model import Trace
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in


def host_ranges(trace: Trace) -> Intervals:
    """When the host runs an op or a named range."""
    return union_where(trace, is_host_range(trace))


def is_host_range(trace: Trace) -> Bool:
    """Which events are ops or named ranges of the host. Step marks and the loader's marks do not count as work."""
    events = trace.events
    marks = loader_names(trace).copy()
    marks[events.name[step_marks(trace)]] = True
    mask: Bool = ((events.kind == Kind.CPU_OP) | (events.kind == Kind.USER)) & ~marks[events.name]
    return mask


#: Events joined at once. Most of a trace is host ops; the rows, starts and ends of all of them would be 60 MB for a
#: large one.
JOINED_AT_ONCE = 1 << 18


def union_where(trace: Trace, mask: Bool) -> Intervals:
    """When any event runs for which the mask is set."""
    return Intervals.joined(
        Intervals.of_events(trace.events, first + np.flatnonzero(mask[first : first + JOINED_AT_ONCE]))
        for first in range(0, len(mask), JOINED_AT_ONCE)
    )


_LOADER_MARKS = ("enumerate(DataLoader)#", "enumerate(DataPipe)#")
_OPTIMIZER_MARK = expression(r"^Optimizer\.(\w+)#.*$", re.DOTALL)


def user_ranges(trace: Trace) -> Int64:
    """Rows of the host's named ranges, without step marks, in time order."""
    return np.setdiff1d(trace.events.rows(Kind.USER), step_marks(trace), assume_unique=True)


def named_ranges(trace: Trace) -> dict[str, Intervals]:
    """When each named range of the host is open, by name. Step marks and the loader's ranges are left out."""
    events, rows = trace.events, user_ranges(trace)
    named: dict[str, Intervals] = {}
    for name in distinct_in(events.name[rows]).tolist():
        mine = rows[events.name[rows] == name]
        if not trace.strings[name].startswith(_LOADER_MARKS):
            named[trace.strings[name]] = Intervals.of_events(events, mine)
    return named


def short_range(name: str) -> str:
    """The word for a range. torch names an optimizer's range `Optimizer.zero_grad#SGD.zero_grad`. "step" alone would
    mean a training step, so the optimizer's step keeps its prefix.

    >>> short_range("Optimizer.zero_grad#SGD.zero_grad"), short_range("Optimizer.step#SGD.step")
    ('zero_grad', 'Optimizer.step')
    """
    word = _OPTIMIZER_MARK.sub(r"\1", name)
    return "Optimizer.step" if word == "step" != name else word
