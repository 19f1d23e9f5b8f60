"""Trends: every metric over the steps of a span, and strips of GPU figures within it."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Series
from tb_steptime.phrases import Phrase


class StepMark(msgspec.Struct, frozen=True):
    """Where a step lies in its span, relative to the span's origin."""

    name: str
    start_ns: int
    end_ns: int


class Strip(msgspec.Struct, frozen=True):
    """A figure in equal time bins of a span, by exact overlap: values are thousandths (0-1000), None where it has no
    meaning (occupancy where nothing runs)."""

    metric: str
    device: int | None
    start_ns: int
    bin_ns: int
    permille: list[int | None]


class SlowStep(msgspec.Struct, frozen=True):
    """A step whose modified z-score is over 3.5, and the part that grew most over the part's median."""

    name: str
    duration_ns: int
    over_median_ns: int
    grew: str
    grew_ns: int
    seen: Phrase | None


class TrendsResult(msgspec.Struct, frozen=True):
    """origin_ns: epoch time of the span's t = 0. series holds every metric of the catalogue, measurable or not."""

    origin_ns: int
    steps: list[StepMark]
    series: list[Series]
    strips: list[Strip]
    slow_steps: list[SlowStep]
