"""Copies by the kinds of memory of source and target and by their place of origin, by which two recordings are matched.

base        HtoD  Pageable -> Device   aten::to   forward    2 a step, 1.3 ms
candidate   HtoD  Pinned -> Device     aten::to   forward    2 a step, 0.3 ms     the same place, other memory
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.copy_directions import CopyDirection
from tb_steptime.metrics.host.copies import copied_bytes, copies_in_steps, copy_makers
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, activity_sites
from tb_steptime.metrics.phases.marks import PhaseId
from tb_steptime.trace.groups import Groups, known
from tb_steptime.trace.host_ranges import short_range
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64

#: Maximum number of places, those with the most time; the time of the others is short.
PLACES = 100


class CopyPlace(msgspec.Struct, frozen=True):
    """Copies of one way from one place, as in `CopyRow`; sums over the compared steps.

    op             the outermost op around the copies, or else the named range
    bytes          None if they are not recorded for all copies
    deviation_ns   standard deviation of their time per step; None if there is one step
    """

    direction: str
    source: str
    target: str
    op: str | None
    phase: PhaseId
    count: int
    total_ns: int
    bytes: int | None
    deviation_ns: float | None


def copy_places(trace: Trace, step_at: Callable[[Int64], Int64], steps: int) -> list[CopyPlace]:
    """The places of the copies that begin in one of the compared steps, most time first. step_at: gives the step of
    each instant, -1 for none."""
    rows, number, ways = copies_in_steps(trace)
    activity = find_launches(trace).activity[rows]
    step = step_at(trace.events.start_ns[activity])
    kept = step >= 0
    rows, number, activity, step = rows[kept], number[kept], activity[kept], step[kept]
    if not len(rows):
        return []
    maker, phase = copy_makers(trace, rows), SITE_PHASE[activity_sites(trace)[rows]]
    alike, nbytes, dur_ns = (
        Groups.of(number, maker, phase),
        copied_bytes(trace, activity),
        trace.events.dur_ns[activity],
    )
    figures = zip(alike.count().tolist(), alike.sum(dur_ns).tolist(), _known_sums(alike, nbytes),
                  map(known, alike.deviation(dur_ns, step, steps).tolist()), strict=True)  # fmt: skip
    found = [_place(trace, ways[number[row]], int(maker[row]), PHASES[int(phase[row])], of)
             for row, of in zip(alike.first.tolist(), figures, strict=True)]  # fmt: skip
    return sorted(found, key=lambda place: (-place.total_ns, place.direction, place.source, place.op or ""))[:PLACES]


def _known_sums(alike: Groups, nbytes: Int64) -> list[int | None]:
    unknown = alike.sum((nbytes < 0).astype(np.int64)).tolist()
    return [None if lacks else total for total, lacks in zip(alike.sum(nbytes).tolist(), unknown, strict=True)]


def _place(
    trace: Trace, way: CopyDirection, maker: int, phase: PhaseId, figures: tuple[int, int, int | None, float | None]
) -> CopyPlace:
    count, total_ns, nbytes, deviation_ns = figures
    op = short_range(trace.strings[maker]) if maker >= 0 else None
    return CopyPlace(way.direction, way.source, way.target, op, phase, count, total_ns, nbytes, deviation_ns)
