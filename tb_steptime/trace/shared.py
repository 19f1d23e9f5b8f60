"""Shared measurements: results that several others need, computed once for a trace, with their dependencies declared.

    @shared(step_marks, find_launches)
    def find_steps(trace: Trace) -> Steps: ...

    @shared(find_launches)
    def busy_intervals(trace: Trace, device: int) -> Intervals: ...

What it needs   The decorator lists every shared measurement that the function uses, directly or in the plain functions
                that it calls. They are defined before it, so no two can need each other.
                tests/project/test_shared_measurements.py compares the lists with the code, and prints those to correct.
How long        A result is kept in `Trace.memo`, for as long as the trace: a few seconds in a process that reads one
                trace, or the time that a page of the timeline is computed.
When to share   Where two callers need the result, or one asks for it many times, and computing it again costs more than
                its memory. A trace of 1 GB has to be analysed in 320 MB: a column of int64 for each of its 2.4 million
                events is 19 MB. So share tables of names, intervals and sums; not columns that one caller uses.
What it may be  A pure function of its arguments. The result is the same object each time, and must not be changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from tb_steptime.trace.model import Trace

P = ParamSpec("P")
T = TypeVar("T")


class Shared(Generic[P, T]):
    """A measurement of a trace whose result is kept for each distinct set of its other arguments, such as a device."""

    def __init__(self, measure: Callable[Concatenate[Trace, P], T], needs: tuple[Shared[..., Any], ...]) -> None:
        functools.update_wrapper(self, measure)
        self.measure = measure
        self.needs = needs

    def __call__(self, trace: Trace, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (self.measure, args, *kwargs.items())
        if key not in trace.memo:
            trace.memo[key] = _kept(trace, self.measure(trace, *args, **kwargs))
        result: T = trace.memo[key]
        return result

    def __repr__(self) -> str:
        return f"{self.measure.__module__}.{self.measure.__qualname__}"


def _kept(trace: Trace, result: T) -> T:
    """Of a large trace on disk, and what was read for it leaves the memory."""
    if trace.on_disk is None:
        return result
    kept = trace.on_disk.keep(result)
    trace.let_go()
    return kept


def shared(*needs: Shared[..., Any]) -> Callable[[Callable[Concatenate[Trace, P], T]], Shared[P, T]]:
    """Share the results of a measurement that needs these."""
    return lambda measure: Shared(measure, needs)
