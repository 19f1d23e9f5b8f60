"""The steps of one device, and their mean, as sums in the finest resolution that any picture needs.

step     |kkkkkkk|cc|m|............................|
          works         idle, by site and reason

The aggregates of a step sum to the step, those of the mean step to the mean step, in whole ns. Every table, bar and
card is a sum of them, so that all agree.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import activity_intervals, computing_intervals, kernel_intervals
from tb_steptime.metrics.idle.reasons import REASONS, IdleNs
from tb_steptime.metrics.idle.sums import idle_sums
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, host_time_ns
from tb_steptime.metrics.whole_means import whole_means
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind


class Works(msgspec.Struct, frozen=True):
    """When the device works, ns; an instant belongs to the first: kernels, collectives, copies and sets."""

    kernel: int
    communication: int
    memory: int

    @property
    def total_ns(self) -> int:
        return self.kernel + self.communication + self.memory


class StepAggregates(msgspec.Struct, frozen=True, eq=False):
    """Times of steps, or of the mean step alone, in ns.

    works    [step, 3], when the device works
    idle     [step, site, reason], when it is idle
    bubble   [step, site], the part of the idle time that blocking calls cause
    """

    works: Int64
    idle: Int64
    bubble: Int64

    def of(self, wanted: Bool) -> StepAggregates:
        """The wanted steps alone."""
        return StepAggregates(self.works[wanted], self.idle[wanted], self.bubble[wanted])

    @property
    def mean(self) -> StepAggregates:
        """The mean step, whose aggregates sum to the rounded mean length used everywhere; bubbles are rounded down, so
        that they stay parts of their aggregates."""
        steps, sites, reasons = self.idle.shape
        sums = np.concatenate((self.works.sum(axis=0), self.idle.sum(axis=0).reshape(-1)))
        aggregates = np.array(whole_means(sums, steps), np.int64)
        works, idle = aggregates[:3], aggregates[3:].reshape(1, sites, reasons)
        return StepAggregates(works[np.newaxis], idle, self.bubble.sum(axis=0, keepdims=True) // steps)

    @property
    def step_ns(self) -> int:
        """Length of the first step, which for a mean is the mean step."""
        return int(self.works[0].sum() + self.idle[0].sum())

    def works_of(self, step: int) -> Works:
        return Works(*self.works[step].tolist())

    @property
    def idle_of_steps(self) -> list[IdleNs]:
        return [IdleNs(*row) for row in self.idle.sum(axis=1).tolist()]

    def idle_of(self, step: int) -> IdleNs:
        return IdleNs(*self.idle[step].sum(axis=0).tolist())

    def site_idle(self, step: int, site: int) -> IdleNs:
        return IdleNs(*self.idle[step, site].tolist())

    def phase_idle(self, step: int, phase: int) -> IdleNs:
        return IdleNs(*self.idle[step, phase == SITE_PHASE].sum(axis=0).tolist())

    def bubble_ns(self, step: int) -> int:
        return int(self.bubble[step].sum())

    def phase_bubble_ns(self, step: int, phase: int) -> int:
        return int(self.bubble[step, phase == SITE_PHASE].sum())

    def of_reason(self, step: int, reason: str, phase: int) -> int:
        return int(self.idle[step, phase == SITE_PHASE, REASONS.index(reason)].sum())


@shared
def step_aggregates(trace: Trace, device: int) -> StepAggregates:
    sums = idle_sums(trace)[device]
    return StepAggregates(_works(trace, device), sums.ns, sums.bubble_ns.sum(axis=2))


def mean_host_ns(trace: Trace) -> dict[str, int]:
    """The mean step by host phase; sums to the step."""
    rows = host_time_ns(trace)
    return dict(zip(PHASES, whole_means(rows.sum(axis=0), len(rows)), strict=True))


def _works(trace: Trace, device: int) -> Int64:
    steps = find_steps(trace)
    return np.stack([steps.overlap_ns(kind) for kind in kinds_of_work(trace, device)], axis=1)


def kinds_of_work(trace: Trace, device: int) -> tuple[Intervals, Intervals, Intervals]:
    """When the device computes; when only a collective runs; and when it copies or sets and no kernel runs. Disjoint,
    over the whole recording."""
    compute, kernels = computing_intervals(trace, device), kernel_intervals(trace, device)
    memory = activity_intervals(trace, device, Kind.MEMCPY, Kind.MEMSET)
    return compute, kernels - compute if compute is not kernels else Intervals.empty(), memory - kernels
