"""Overview: how long a step is and what it is spent on."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Series
from tb_steptime.metrics.step_time import Parts
from tb_steptime.phrases import Phrase


class StepRow(msgspec.Struct, frozen=True):
    """One step. parts_ns sums to duration_ns. start_ns is relative to the span's origin; slow: an outlier."""

    name: str
    start_ns: int
    duration_ns: int
    host_ns: int
    parts_ns: Parts
    slow: bool


class OverviewResult(msgspec.Struct, frozen=True):
    """mean_parts_ns sums to mean_duration_ns; works_ns (device parts) + waits_ns = mean_duration_ns.

    tiles come in the order in which they are shown; GPU figures are those of `device`.
    absent says why a part is a dash and not a length ("communication": no collective in this trace).
    """

    steps: list[StepRow]
    mean_duration_ns: int
    mean_host_ns: int
    mean_parts_ns: Parts
    works_ns: int
    waits_ns: int
    has_device: bool
    device: int | None
    tiles: list[Series]
    tile_remarks: dict[str, Phrase]
    absent: dict[str, Phrase]
    steps_title: Phrase
