"""What limits a step.

The replay of a steady step shows it or, where that is not trusted, the idle time of the device and its exchanges;
without a device, what the host does for most of the step.
"""

from __future__ import annotations

from tb_steptime.metrics.communication.exposure import exposure
from tb_steptime.metrics.excluded_time.ranges import excluded_time, whole_steps
from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.metrics.idle.bottleneck import LEADING_FRACTION, Bound, CpuPace, Pace, judge, judge_cpu
from tb_steptime.metrics.idle.long_gaps import LongGaps
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.job.kind import job_kind
from tb_steptime.metrics.launches.run_ahead import LaunchFigures, launch_figures
from tb_steptime.metrics.steps.parts import (
    Parts,
    StepAggregates,
    between_ops_ns,
    interrupted_exchange_ns,
    part_intervals,
    step_aggregates,
)
from tb_steptime.replay.whatif import WhatIf, replayed_step
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import is_cpu_unrecorded
from tb_steptime.trace.steps import find_steps

#: Maximum size of a single value: a number, or the size of a result.
VALUE_BYTES = 8


def step_bound(trace: Trace, device: int, blocking: list[BlockingRow], gaps: list[LongGaps]) -> Bound:
    """Judges the bound by what a replayed step is sensitive to or, if the replay is not trusted, by the idle time of
    the device and its exchanges. Only what the device shows by itself is known of a recording without the CPU. Where
    results are read, the CPU sets the pace if it needs them for its own work."""
    replayed, are_whole = replayed_step(trace), whole_steps(trace, device)
    whole = step_aggregates(trace, device).of(are_whole).mean
    if replayed is not None and replayed.trusted:
        bound = Bound(replayed.pace)
    else:
        once_ns = interrupted_exchange_ns(trace, device)[are_whole]
        bound = _bound_of_device(whole, int(once_ns.sum()) // len(once_ns), launch_figures(trace, device))
    if is_cpu_unrecorded(trace) and bound not in (Bound.GPU, Bound.COMMUNICATION):
        return Bound.UNKNOWN
    if bound is not Bound.SYNC or not blocking or blocking[0].direction != "DtoH":
        return bound
    needs_them = _works_on_results(blocking[0], gaps, whole.idle_of(0)) or _is_rollout(trace, replayed)
    return Bound.HOST if needs_them else bound


def _works_on_results(read: BlockingRow, gaps: list[LongGaps], idle: IdleNs) -> bool:
    """Returns whether the job works on the results that it reads for most of the device's idle time. Without the wait
    it would have nothing to work on. A single value that is read, as for a log, is not what the CPU works on."""
    late_ns = sum(row.late_ns for row in gaps)
    return (read.bytes or 0) > VALUE_BYTES * read.count and late_ns >= LEADING_FRACTION * idle.judged.total_ns


def _is_rollout(trace: Trace, replayed: WhatIf | None) -> bool:
    """Returns whether the layers of a training mostly run in a rollout, and the CPU matters as much as the waits. The
    action or token that a pass returns is read before the next pass begins, so these waits stay. A validation of many
    batches looks like that, too."""
    if replayed is None or not job_kind(trace).no_grad.in_many_passes:
        return False
    return replayed.sensitivity.host <= replayed.sensitivity.blocking


def _bound_of_device(mean: StepAggregates, once_ns: int, launches: LaunchFigures) -> Bound:
    """Judges the bound by the device's idle time. once_ns: unjudged time, in which an exchange waits once."""
    works = mean.works_of(0)
    exchanges_ns, works_ns = max(works.communication - once_ns, 0), max(works.total_ns - once_ns, 0)
    return judge(Pace(mean.idle_of(0), mean.bubble_ns(0), works_ns, exchanges_ns, launches.starved_share))


def step_bound_on_cpu(trace: Trace) -> Bound:
    """Judges a recording without a device by what the host does for most of the step, without what is not judged."""
    steps, left_out = find_steps(trace), excluded_time(trace, None).total
    judged = {part: steps.overlap_ns(part_time - left_out).sum() for part, part_time in part_intervals(trace).items()}
    parts = Parts(**{part: int(ns) // len(steps.steps) for part, ns in judged.items()})
    exposed_ns = min(parts.communication, int(exposure(trace).exposed_ns.sum()) // len(steps.steps))
    between_ns, on_cpu = between_ops_ns(trace, left_out), job_kind(trace).device == "cpu"
    computes_ns = parts.cpu_exec + parts.runtime + parts.communication - exposed_ns - between_ns
    return judge_cpu(CpuPace(parts.data_loader, exposed_ns, computes_ns, parts.other + between_ns, on_cpu))
