"""The parts of every analysis. An analysis is a pure function of a Trace; its result type is its view's contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from tb_steptime.metrics.base import Series as Series
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace

R = TypeVar("R", bound=msgspec.Struct)

#: Reason in place of every figure of an analysis that failed on this trace.
NOT_COMPUTED = Reason("not_computed")


class TimelineStep(msgspec.Struct, frozen=True):
    """A step's name and its window, relative to the span's origin."""

    name: str
    start_ns: int
    end_ns: int


class Analysis(msgspec.Struct, Generic[R], frozen=True):
    """An analysis. id: the view's name in routes, summary files and the URL. title: its name in the list of views.
    nothing: the result without values, for an analysis that failed."""

    id: str
    title: str
    result: type[R]
    analyse: Callable[[Trace], R]
    nothing: R
