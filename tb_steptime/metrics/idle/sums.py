"""Sums of idle time: by step, place and reason, and by the activity that ended it; and its longest segments as
evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.base import Evidence, Figure, Metric, mean_figure
from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.metrics.idle.reasons import EXCLUDED, REASONS, devices_by_activity
from tb_steptime.metrics.phases.sites import SITES
from tb_steptime.text import Unit
from tb_steptime.trace.groups import add_nearby, exact_sums
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Int64, is_in

BUBBLE_TIME = Metric(
    "bubble_time", "Bubbles of blocking calls", Unit.NS,
    "Time in which the GPU is idle because a call made the host wait until the GPU was empty, up to the start of the "
    "next work.",
    colour="blocking",
)  # fmt: skip

_LOADING = REASONS.index("data_loading")
#: The reasons that are not attributed to a launch or a call.
_OF_NOBODY = [_LOADING, *(REASONS.index(reason) for reason in EXCLUDED)]
#: Reasons that are never caused by a blocking call.
_NO_BUBBLE = [*_OF_NOBODY, REASONS.index("unrecorded_work")]


class Idle(msgspec.Struct, frozen=True, eq=False):
    """One device's idle time by reason, ns per step."""

    per_step_ns: Mapping[str, Int64]

    def sum_ns(self, reasons: Sequence[str]) -> Int64:
        total: Int64 = np.sum([self.per_step_ns[reason] for reason in reasons], axis=0)
        return total


class IdleSums(msgspec.Struct, frozen=True, eq=False):
    """The idle time of one device, ns by [step, place in SITES, place in REASONS]. bubble_ns: the part that lies in
    bubbles behind blocking calls, which contain no data loading, unrecorded work or excluded time."""

    ns: Int64
    bubble_ns: Int64


@shared
def idle_sums(trace: Trace) -> Mapping[int, IdleSums]:
    """Returns the partition of each device by step, site and reason."""
    return {device: _sums(trace, device) for device in devices_by_activity(trace)}


@shared
def idle_partition(trace: Trace) -> Mapping[int, Idle]:
    """Returns the partition of each device that has any activity."""
    sums = {device: sums.ns.sum(axis=1) for device, sums in idle_sums(trace).items()}
    return {device: Idle({reason: ns[:, i] for i, reason in enumerate(REASONS)}) for device, ns in sums.items()}


def idle_of_activity(trace: Trace, device: int) -> Int64:
    """Returns for each row of `find_launches` the device's idle time that it ended, ns over all steps, without the
    loader's waits.

    The rest of the idle time is the loader's, the tail, and excluded time.
    """
    total = np.zeros(len(find_launches(trace).activity), np.int64)
    for segments in idle_segments(trace, device):
        charged = (segments.launch >= 0) & is_in(segments.reason, _OF_NOBODY, invert=True)
        add_nearby(total, segments.launch[charged], (segments.end - segments.start)[charged])
    return total


def longest_gaps(
    trace: Trace, device: int, count: int, steps: Steps | None = None
) -> dict[tuple[str, str], list[Evidence]]:
    """Returns the longest segments of each (site, reason) that has any, longest first, at most `count` of each. steps:
    None for all."""
    gaps_by_key: dict[int, list[tuple[int, int, int]]] = {}
    chosen = steps or find_steps(trace)
    for segments in idle_segments(trace, device):
        key = segments.site.astype(np.int64) * len(REASONS) + segments.reason
        order = np.lexsort((segments.start, segments.start - segments.end, key))
        order = order[chosen.holding(segments.start[order]) >= 0]
        rank = np.arange(len(order)) - np.searchsorted(key[order], key[order])
        for i in order[rank < count].tolist():
            gap = (int(segments.start[i] - segments.end[i]), int(segments.start[i]), int(segments.step[i]))
            gaps_by_key.setdefault(int(key[i]), []).append(gap)
    names = [step.name for step in find_steps(trace).steps]
    return {
        (SITES[key // len(REASONS)].id, REASONS[key % len(REASONS)]): [
            Evidence(names[step], start, start - negative) for negative, start, step in sorted(gap)[:count]
        ]
        for key, gap in sorted(gaps_by_key.items())
    }


def _sums(trace: Trace, device: int) -> IdleSums:
    shape = (len(find_steps(trace).steps), len(SITES), len(REASONS))
    size = int(np.prod(shape))
    totals = [np.zeros(size, np.int64) for _ in range(2)]
    behind = Intervals.union(*bubbles(trace, device)[:2])
    for segments in idle_segments(trace, device):
        place = np.ravel_multi_index((segments.step, segments.site, segments.reason), shape)
        in_bubble = behind.overlap_ns(segments.start, segments.end)
        in_bubble[is_in(segments.reason, _NO_BUBBLE)] = 0
        for total, ns in zip(totals, (segments.end - segments.start, in_bubble), strict=True):
            total += exact_sums(place, ns, size)
    return IdleSums(totals[0].reshape(shape), totals[1].reshape(shape))


def bubble_time(trace: Trace, device: int) -> Figure:
    return mean_figure(idle_sums(trace)[device].bubble_ns.sum(axis=(1, 2)))
