"""What every analysis is made of. An analysis is a pure function of a Trace; its result type is its view's contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from tb_steptime.phrases import Phrase
from tb_steptime.trace.model import Trace

R = TypeVar("R", bound=msgspec.Struct)


class Series(msgspec.Struct, frozen=True):
    """One metric over the steps of a span.

    value is the span's own figure (not always the mean of the steps); steps has one entry per step; None is "not
    measurable here" and then `reason` says why. device is None for figures of the whole process.
    """

    metric: str
    device: int | None
    value: float | None
    steps: list[float | None]
    reason: Phrase | None = None


@dataclass(frozen=True)
class Analysis(Generic[R]):
    """id is the view's name in routes, summary files and the URL; title is what the list of views says."""

    id: str
    title: str
    result: type[R]
    analyse: Callable[[Trace], R]
