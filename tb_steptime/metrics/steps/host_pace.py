"""How the host keeps the device busy: the places that launch work and their cost, the figures of the pace, and the
queue.

The cost of each place and phase consists of device time, idle time by reason, and run-ahead.

site    launches  starved  run-ahead   device   idle by reason
forward.model  289     79 %      13 us    12 ms    51 ms
phase = the sum of its sites, except that its device time is the union, as work of its sites may run at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.base import Evidence, Metric
from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.idle.bottleneck import Bound, Pace, judge
from tb_steptime.metrics.idle.host_floor import HOST_FLOOR
from tb_steptime.metrics.idle.long_gaps import paused_late_ns, split_late_ns
from tb_steptime.metrics.idle.reasons import HOST_BOUND, REASONS, IdleNs
from tb_steptime.metrics.idle.sums import longest_gaps
from tb_steptime.metrics.launches.queue import QueueLevel
from tb_steptime.metrics.launches.run_ahead import (
    QUEUE_MEAN,
    RUN_AHEAD,
    STARVED_SHARE,
    LaunchedFrom,
    LaunchFigures,
    by_phase,
    by_site,
)
from tb_steptime.metrics.phases.assignment import activity_sites, phase_labels
from tb_steptime.metrics.phases.sites import PHASE_LABELS, SITE_PHASE, SITES, PhaseId
from tb_steptime.metrics.steps.parts import StepAggregates, kinds_of_work
from tb_steptime.text import Unit
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Int64, UInt8, distinct_in, median

# Figures that show whether the CPU limits the step. They belong to the main device and are means over the steps.

IDLE_SHARE = Metric(
    "gpu_idle_share", "GPU idle", Unit.FRACTION, "Share of the step in which the GPU does nothing."
)  # fmt: skip
GPU_BUSY_TIME = Metric(
    "gpu_busy_time", "GPU busy", Unit.NS,
    "Time of the step in which the GPU runs kernels, copies or memory sets.", colour="kernel",
)  # fmt: skip
QUEUE_PEAK = Metric(
    "queue_peak", "Queue, peak", Unit.COUNT,
    "The most launches that wait for the GPU at once. The launch queue of CUDA holds 1024.", colour="runtime",
)  # fmt: skip
FULL_QUEUE_TIME = Metric(
    "full_queue_time", "Queue full", Unit.NS,
    "Time of the step in launch calls that wait because the launch queue is full. The CPU seems busy, but only "
    "waits for the GPU.", colour="runtime",
)  # fmt: skip

#: In the order in which they are shown.
HOST_FIGURES = (
    IDLE_SHARE, GPU_BUSY_TIME, HOST_FLOOR, QUEUE_MEAN, QUEUE_PEAK, STARVED_SHARE, RUN_AHEAD, FULL_QUEUE_TIME,
)  # fmt: skip


def host_figures(
    step_ns: int, idle: IdleNs, host_floor_ns: float | None, launches: LaunchFigures, full_queue_ns: int
) -> dict[str, float]:
    """Returns the figures by metric id, in the order of HOST_FIGURES. Unknown ones are left out. `idle` is the idle
    time of the mean step."""
    values = (
        idle.total_ns / step_ns if step_ns else 0.0, step_ns - idle.total_ns, host_floor_ns, launches.queue_mean,
        launches.queue_max, launches.starved_share, launches.run_ahead_p50_ns, full_queue_ns,
    )  # fmt: skip
    shown = zip(HOST_FIGURES, values, strict=True)
    return {metric.id: value for metric, value in shown if value is not None}


#: Number of gaps of each site that are kept as evidence.
EXAMPLES = 5

#: Number of activities that are joined at once. A large trace has millions.
_AT_ONCE = 1 << 18

_NOTHING = LaunchedFrom(0.0, None, None)


class SiteRow(msgspec.Struct, frozen=True):
    """A place within a phase from which work is launched, such as the buffer broadcast of the forward pass. Values are
    means per step.

    launches           number of activities that are launched here
    calls              number of calls that launch them; all activities of a graph have one
    device_ns          time in which work that was launched here runs (union over streams)
    idle_ns            idle time, by reason, that ended with an activity launched here
    bubble_ns          the part of it that a blocking call causes (see BlockingRow)
    paused_ns          the part of it in which the host is late because it pauses (`paused_late_ns`)
    split_ns           the part of it in which the host is late while it launches little between two calls that wait
                       (`split_late_ns`)
    each_ns            median length of the activities launched here, without exchanges between ranks; None if there are
                       no others
    run_ahead_p50_ns, starved_share   None without launches
    examples           the longest gaps for which the host is late; if there are none, the longest for any reason
    """

    site: str
    phase: PhaseId
    label: str
    launches: float
    starved_share: float | None
    run_ahead_p50_ns: int | None
    device_ns: int
    idle_ns: IdleNs
    bubble_ns: int
    examples: list[Evidence]
    split_ns: int = 0
    each_ns: int | None = None
    paused_ns: int = 0
    calls: float = 0.0


class PhaseRow(msgspec.Struct, frozen=True):
    """A phase of the step: the sum of its sites, and what the host spends in it. Values are means per step.

    The phases' host_ns add up to the step, and their idle_ns.total to the device's idle time.
    """

    phase: PhaseId
    label: str
    host_ns: int
    device_ns: int = 0
    idle_ns: IdleNs = IdleNs()
    bubble_ns: int = 0
    launches: float = 0.0
    run_ahead_p50_ns: int | None = None
    starved_share: float | None = None
    bound: Bound = Bound.UNKNOWN


def site_rows(trace: Trace, device: int, mean: StepAggregates, steps: Steps | None = None) -> list[SiteRow]:
    """Returns the sites that launch anything or have attributed idle time, in the order of a step. `mean` belongs to
    these steps. If `steps` is None, it belongs to all."""
    launched = by_site(trace, device, steps)
    runs = _device_ns(trace, device, activity_sites(trace), len(SITES), steps or find_steps(trace))
    gaps, each = longest_gaps(trace, device, EXAMPLES, steps), _each_ns(trace, device)
    split = split_late_ns(trace, device, steps)
    paused = paused_late_ns(trace, device, steps)
    rows = []
    labels = {site.id: site.label for site in SITES}
    model = phase_labels(trace)["forward"]
    if model != PHASE_LABELS["forward"]:  # the trace shows no forward pass
        labels["forward.model"] = model
    for place, site in enumerate(SITES):
        idle = IdleNs(*mean.idle[0, place].tolist())
        own = launched.get(site.id, _NOTHING)
        if idle.total_ns or own.launches:
            rows.append(
                SiteRow(
                    site=site.id,
                    phase=site.phase,
                    label=labels[site.id],
                    launches=own.launches,
                    starved_share=own.starved_share,
                    run_ahead_p50_ns=own.run_ahead_p50_ns,
                    device_ns=runs[place],
                    idle_ns=idle,
                    bubble_ns=int(mean.bubble[0, place]),
                    examples=_examples(gaps, site.id),
                    split_ns=split[place],
                    each_ns=each.get(place),
                    paused_ns=paused[place],
                    calls=own.calls,
                )
            )
    return rows


def _each_ns(trace: Trace, device: int) -> dict[int, int]:
    """Returns the median length, by place in SITES, of the device's activities that are not exchanges between ranks."""
    events = trace.events
    activity = find_launches(trace).activity
    sites = activity_sites(trace)
    works = (events.device.take(activity) == device) & ~collective_names(trace)[events.name.take(activity)]
    return {
        place: int(median(events.dur_ns.take(activity[works & (sites == place)])))
        for place in distinct_in(sites[works]).tolist()
    }


def phase_rows(trace: Trace, device: int, mean: StepAggregates, host_ns: Mapping[str, int]) -> list[PhaseRow]:
    """Returns the phases with host time, launches or attributed idle time, in the order of a step."""
    launched = by_phase(trace, device)
    runs = _device_ns(trace, device, SITE_PHASE[activity_sites(trace)], len(PHASE_LABELS), find_steps(trace))
    rows = []
    for place, (phase, label) in enumerate(phase_labels(trace).items()):
        of_phase, sums = place == SITE_PHASE, launched.get(phase, _NOTHING)
        idle = IdleNs(*mean.idle[0, of_phase].sum(axis=0).tolist())
        bubble = int(mean.bubble[0, of_phase].sum())
        if idle.total_ns or sums.launches or host_ns[phase]:
            bound = judge(Pace(idle, bubble, runs[place], starved_share=sums.starved_share))
            rows.append(
                PhaseRow(
                    phase=phase,
                    label=label,
                    host_ns=host_ns[phase],
                    device_ns=runs[place],
                    idle_ns=idle,
                    bubble_ns=bubble,
                    launches=sums.launches,
                    run_ahead_p50_ns=sums.run_ahead_p50_ns,
                    starved_share=sums.starved_share,
                    bound=bound,
                )
            )
    return rows


def host_phase_rows(trace: Trace, host_ns: Mapping[str, int]) -> list[PhaseRow]:
    """Returns where the host's time goes, for a trace without device activity."""
    return [PhaseRow(phase, label, host_ns[phase]) for phase, label in phase_labels(trace).items() if host_ns[phase]]


def _device_ns(trace: Trace, device: int, group: UInt8, groups: int, steps: Steps) -> list[int]:
    """Returns the mean time per step in which work of each group runs, in ns."""
    events, activity = trace.events, find_launches(trace).activity
    busy_ns = []
    for number in range(groups):
        runs = Intervals.empty()
        for first in range(0, len(activity), _AT_ONCE):
            rows = activity[first : first + _AT_ONCE][group[first : first + _AT_ONCE] == number]
            rows = rows[events.device[rows] == device]
            runs = runs | Intervals.of_events(events, rows)
        busy_ns.append(int(steps.overlap_ns(runs).sum()) // len(steps.steps))
    return busy_ns


def _examples(gaps: Mapping[tuple[str, str], list[Evidence]], site: str) -> list[Evidence]:
    """Returns the longest gaps before late launches or, if there are none, the longest for any reason."""
    host_gaps = [gap for reason in HOST_BOUND for gap in gaps.get((site, reason), [])]
    examples = host_gaps or [gap for reason in REASONS for gap in gaps.get((site, reason), [])]
    examples.sort(key=lambda gap: (gap.start_ns - gap.end_ns, gap.start_ns))
    return examples[:EXAMPLES]


# The device beside its queue, in the same time bins. It shows its activity and how far the host is ahead of it.
#
# queue    |1 2 3 2 1 0 0 0 |0 1 1 0 ..|
# device   |kkkkkkkkkk      |  cc   kk |     compute, communication, copies: exact overlap, an instant counts once
# ahead    |   40 us        |   12 us  |     mean of the activities that start in the bin


class DeviceLevel(msgspec.Struct, frozen=True):
    """One resolution, with one entry per bin from the window's start on.

    kernel_permille         thousandths of the bin in which kernels compute
    communication_permille  thousandths in which collectives run and no kernel computes
    copy_permille           thousandths in which copies run and no kernel does
    run_ahead_ns            mean over the activities that start in the bin, None if none does
    """

    bin_ns: int
    kernel_permille: list[int]
    communication_permille: list[int]
    copy_permille: list[int]
    run_ahead_ns: list[int | None]


def device_levels(trace: Trace, device: int, queue: Sequence[QueueLevel]) -> list[DeviceLevel]:
    """Returns the device in the bins of each level of the queue, whose bins are multiples of the finest level's."""
    if not queue:
        return []
    low, high = find_steps(trace).window
    kinds = kinds_of_work(trace, device)
    finest_ns = queue[-1].bin_ns
    count, ahead = _run_ahead(trace, device, low, high, finest_ns)
    levels = []
    for bin_ns in (level.bin_ns for level in queue):
        starts = np.arange(low, high, bin_ns, dtype=np.int64)
        joined = np.arange(0, len(count), bin_ns // finest_ns)
        means = _means(np.add.reduceat(count, joined), np.add.reduceat(ahead, joined))
        ends = np.minimum(starts + bin_ns, high)
        kernel, communication, copy = [
            (1000 * kind.overlap_ns(starts, ends) // np.maximum(ends - starts, 1)).tolist() for kind in kinds
        ]
        levels.append(DeviceLevel(bin_ns, kernel, communication, copy, means))
    return levels


def _means(count: Int64, total_ns: Int64) -> list[int | None]:
    means = (total_ns // np.maximum(count, 1)).tolist()
    return [mean if has_values else None for mean, has_values in zip(means, (count > 0).tolist(), strict=True)]


def _run_ahead(trace: Trace, device: int, low: int, high: int, bin_ns: int) -> tuple[Int64, Int64]:
    """Returns for each bin the number of the device's activities that start in it, and the sum of their run-ahead in
    ns."""
    events, launches = trace.events, find_launches(trace)
    bins = -(-(high - low) // bin_ns)
    count, total = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    for first in range(0, len(launches.activity), _AT_ONCE):
        activity = launches.activity[first : first + _AT_ONCE]
        call = launches.call[first : first + _AT_ONCE]
        start = events.start_ns[activity]
        shown = (events.device[activity] == device) & (call >= 0) & (start >= low) & (start < high)
        place = (start[shown] - low) // bin_ns
        ahead = np.maximum(start[shown] - events.start_ns[call[shown]], 0)
        count += np.bincount(place, minlength=bins)
        total += exact_sums(place, ahead, bins)
    return count, total
