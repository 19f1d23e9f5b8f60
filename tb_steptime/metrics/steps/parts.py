"""The step-time breakdown: every instant of a step belongs to one part, and the parts add up to the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.base import Figure, Metric, PartMeaning, mean_figure
from tb_steptime.metrics.excluded_time.steady_step import excess_by_kind
from tb_steptime.metrics.gpu.utilization import (
    activity_intervals,
    collective_kernels,
    collective_names,
    computing_intervals,
    computing_kernels,
    has_device_activity,
    kernel_intervals,
)
from tb_steptime.metrics.idle.reasons import EXCLUDED, IDLE_MEANINGS, REASONS, IdleNs
from tb_steptime.metrics.idle.sums import idle_sums
from tb_steptime.metrics.means import slow, slow_after_first, whole_mean, whole_means
from tb_steptime.metrics.phases.assignment import host_time_ns
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE, PhaseId
from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.text import Unit
from tb_steptime.trace.host_ranges import host_ranges, is_host_range, loader_intervals, union_where
from tb_steptime.trace.intervals import Intervals, partition
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import Step, find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, median


class Parts(msgspec.Struct, frozen=True):
    """The ns of each part, in the order in which a stacked chart shows them. They add up to the step."""

    kernel: int
    communication: int
    memcpy: int
    memset: int
    data_loader: int
    runtime: int
    cpu_exec: int
    other: int

    @property
    def total_ns(self) -> int:
        return sum(msgspec.structs.astuple(self))

    @property
    def works_ns(self) -> int:
        """The time in which the device works."""
        return self.kernel + self.communication + self.memcpy + self.memset


PART_MEANINGS = (
    PartMeaning("kernel", "Kernel", "At least one computing kernel runs on a GPU.", "kernel", False, True),
    PartMeaning("communication", "Communication",
                "A collective's kernel (of NCCL, RCCL, DeepEP and the like) runs and no computing kernel does. "
                "Without a GPU: a collective call runs.",
                "comm", False, True),
    PartMeaning("memcpy", "Memcpy", "A GPU copies memory and no kernel runs.", "copy", False, True),
    PartMeaning("memset", "Memset", "A GPU sets memory and does nothing else.", "copy", True, True),
    PartMeaning("data_loader", "Data loading",
                "No GPU works and the main process waits for its DataLoader.", "data", False, False),
    PartMeaning("runtime", "Runtime",
                "No GPU works and the host is inside a CUDA or HIP call, such as a launch or a synchronize.",
                "runtime", False, False),
    PartMeaning("cpu_exec", "CPU exec", "No GPU works and the host runs a PyTorch operator or a named range.",
                "cpu", False, False),
    PartMeaning("other", "Other", "None of these is recorded: mostly Python outside any operator.",
                "other", False, False),
)  # fmt: skip

#: Order of precedence if several parts cover an instant. torch-tb-profiler has the same order except that it counts the
#: kernels of collectives as Kernel. Kernel + Communication here is therefore its Kernel.
PRIORITY = ("kernel", "communication", "memcpy", "memset", "runtime", "data_loader", "cpu_exec")

STEP_TIME = Metric(
    "step_time", "Step time", Unit.NS,
    "From the end of the previous step to the end of the last GPU work that this step launched.",
)  # fmt: skip
HOST_STEP_TIME = Metric(
    "host_step_time", "Host step time", Unit.NS,
    "Length of the step's mark on the CPU, from one prof.step() call to the next.",
)  # fmt: skip

PART_METRICS = tuple(
    Metric(f"{part.id}_time", f"{part.label} time", Unit.NS, part.meaning, colour=part.colour)
    for part in PART_MEANINGS
)  # fmt: skip


def step_time(trace: Trace) -> Figure:
    return mean_figure(find_steps(trace).duration_ns)


def host_step_time(trace: Trace) -> Figure:
    return mean_figure(np.array([step.host_ns for step in find_steps(trace).steps], np.int64))


def part_time(part: str) -> Callable[[Trace], Figure]:
    """Returns the function that measures the part's own metric."""

    def measured(trace: Trace) -> Figure:
        return mean_figure(np.array([getattr(row, part) for row in step_breakdown(trace)], np.int64))

    return measured


@shared
def step_breakdown(trace: Trace) -> tuple[Parts, ...]:
    """Returns the parts of each step, which add up to the step."""
    steps = find_steps(trace)
    lengths = {part: steps.overlap_ns(each) for part, each in part_intervals(trace).items()}
    return tuple(Parts(**{part: int(each[i]) for part, each in lengths.items()}) for i in range(len(steps.steps)))


def part_intervals(trace: Trace) -> Mapping[str, Intervals]:
    """Returns the time ranges of each part in the steps. They are disjoint and together cover all steps. An instant
    belongs to the first part that covers it.

    cpu_exec  aaaaaaaa
    kernel        kkkkkk   ->  cpu_exec 4, kernel 6
    """
    steps = find_steps(trace)
    layers = _layers(trace)
    shared = partition(steps.intervals, [layers[part] for part in PRIORITY])
    return dict(zip([*PRIORITY, "other"], shared, strict=True))


def between_ops_ns(trace: Trace, left_out: Intervals | None = None) -> int:
    """Returns the part of `cpu_exec` in the mean step in which only named ranges are open, which is Python between
    ops. left_out: when no time counts."""
    steps = find_steps(trace)
    ranges = part_intervals(trace)["cpu_exec"] - union_where(trace, trace.events.kind == Kind.CPU_OP)
    ranges = ranges if left_out is None else ranges - left_out
    return int(steps.overlap_ns(ranges).sum()) // len(steps.steps)


def mean_parts(rows: tuple[Parts, ...], total_ns: int) -> Parts:
    """Returns the mean of each part in whole ns, rounded so that the parts add up to total_ns."""
    sums = np.array([msgspec.structs.astuple(row) for row in rows], np.int64).sum(axis=0)
    return Parts(*whole_means(sums, len(rows), total_ns))


def mean_duration_ns(rows: tuple[Parts, ...]) -> int:
    """Returns the length of the mean step in whole ns. Halves are rounded up."""
    return whole_mean(sum(row.total_ns for row in rows), len(rows))


def _layers(trace: Trace) -> dict[str, Intervals]:
    events = trace.events
    rows = {
        "kernel": computing_kernels(trace),
        "communication": collective_kernels(trace),
        "memcpy": events.rows(Kind.MEMCPY),
        "memset": events.rows(Kind.MEMSET),
        "runtime": events.rows(*CALL_KINDS),
    }
    layers = {part: Intervals.of_events(events, of_part) for part, of_part in rows.items()}
    layers |= {"data_loader": loader_intervals(trace), "cpu_exec": host_ranges(trace)}
    if not has_device_activity(trace):
        layers["communication"] = union_where(trace, is_host_range(trace) & collective_names(trace)[trace.events.name])
    return layers


# The steps of one device, and their mean, as sums in the finest resolution that any chart needs.
#
# step     |kkkkkkk|cc|m|............................|
#           works         idle, by site and reason
#
# The aggregates of a step add up to the step, and those of the mean step to the mean step, in whole ns. Every table,
# bar and card is a sum of them, so they all agree.


class Works(msgspec.Struct, frozen=True):
    """How long the device works, in ns. An instant belongs to the first that applies: kernels, collectives, copies and
    memsets."""

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

    def of(self, steps: Bool) -> StepAggregates:
        """Returns the aggregates of these steps alone."""
        return StepAggregates(self.works[steps], self.idle[steps], self.bubble[steps])

    @property
    def mean(self) -> StepAggregates:
        """The mean step, whose aggregates add up to the rounded mean length used everywhere. Bubbles are rounded down,
        so that they stay parts of their aggregates."""
        steps, sites, reasons = self.idle.shape
        sums = np.concatenate((self.works.sum(axis=0), self.idle.sum(axis=0).reshape(-1)))
        aggregates = np.array(whole_means(sums, steps), np.int64)
        works, idle = aggregates[:3], aggregates[3:].reshape(1, sites, reasons)
        return StepAggregates(works[np.newaxis], idle, self.bubble.sum(axis=0, keepdims=True) // steps)

    @property
    def step_ns(self) -> int:
        """The length of the first step. For a mean this is the mean step."""
        return int(self.works[0].sum() + self.idle[0].sum())

    def works_of(self, step: int) -> Works:
        return Works(*self.works[step].tolist())

    @property
    def idle_of_steps(self) -> list[IdleNs]:
        return [IdleNs(*row) for row in self.idle.sum(axis=1).tolist()]

    def idle_of(self, step: int) -> IdleNs:
        return IdleNs(*self.idle[step].sum(axis=0).tolist())

    def bubble_ns(self, step: int) -> int:
        return int(self.bubble[step].sum())

    def of_reason(self, step: int, reason: str, phase: int) -> int:
        return int(self.idle[step, phase == SITE_PHASE, REASONS.index(reason)].sum())


@shared
def step_aggregates(trace: Trace, device: int) -> StepAggregates:
    sums = idle_sums(trace)[device]
    steps = find_steps(trace)
    works = np.stack([steps.overlap_ns(kind) for kind in kinds_of_work(trace, device)], axis=1)
    return StepAggregates(works, sums.ns, sums.bubble_ns.sum(axis=2))


def mean_host_ns(trace: Trace) -> dict[str, int]:
    """Returns the mean step by host phase. The values add up to the step."""
    rows = host_time_ns(trace)
    return dict(zip(PHASES, whole_means(rows.sum(axis=0), len(rows)), strict=True))


def kinds_of_work(trace: Trace, device: int) -> tuple[Intervals, Intervals, Intervals]:
    """Returns when the device computes, when only a collective runs, and when only a copy or memset runs. The intervals
    are disjoint and not limited to the steps."""
    compute = computing_intervals(trace, device)
    kernels = kernel_intervals(trace, device)
    memory = activity_intervals(trace, device, Kind.MEMCPY, Kind.MEMSET)
    return compute, kernels - compute if compute is not kernels else Intervals.empty(), memory - kernels


def interrupted_exchange_ns(trace: Trace, device: int) -> Int64:
    """Returns for each step how long only collectives run that take far longer than similar ones, for example because
    another rank comes late once."""
    interrupted = excess_by_kind(trace, device)[ExcessKind.INTERRUPTED]
    return find_steps(trace).overlap_ns(interrupted & kinds_of_work(trace, device)[1])


# The mean step as one bar, with work before waits, and its segments that are longer in slow steps.
#
# |kernel|communication|memory|  data loading, blocking, allocator, CPU by phase, nothing recorded, latency, gaps  |
#  works                       waits

#: Phases with a segment of CPU work of their own. The rest share one.
_CPU_PHASES: tuple[PhaseId, ...] = ("forward", "backward", "optimizer")

#: Labels and colours of parts and reasons. A segment is one of them, or several.
_MEANINGS = {each.id: each for each in (*IDLE_MEANINGS, *PART_MEANINGS)}

#: A segment has grown if it accounts for this share of a slow step's extra time.
GROWN_FRACTION = 0.05


class Segment(msgspec.Struct, frozen=True):
    """A part of the mean step as the view draws it: one field of `Parts`, or one or several of `IdleNs`. The segments
    add up to the mean step.

    works    whether the device works
    reasons  if it does not, the reasons in IdleNs for which it is idle
    """

    id: str
    label: str
    ns: int
    colour: str
    hatched: bool
    works: bool
    reasons: tuple[str, ...] = ()


class GrownPart(msgspec.Struct, frozen=True):
    """A segment of the step, and how much longer it is than usual."""

    id: str
    label: str
    excess_ns: int


class Grown(msgspec.Struct, frozen=True):
    """A slow step, and what is longer in it than in the median of the others, with the largest difference first.
    `excess_ns` is the step time above that median."""

    step: str
    start_ns: int
    end_ns: int
    excess_ns: int
    grown: list[GrownPart]


def segments(aggregates: StepAggregates, step: int, labels: Mapping[PhaseId, str]) -> list[Segment]:
    """Returns the segments of a step in the order of every chart, including empty ones. The labels are those of the
    phases."""
    works, idle = aggregates.works_of(step), aggregates.idle_of(step)
    cpu = {phase: aggregates.of_reason(step, "cpu_work", PHASES.index(phase)) for phase in _CPU_PHASES}
    return [
        _part("kernel", works.kernel),
        _part("communication", works.communication),
        replace(_part("memcpy", works.memory), id="memory", label="Memory"),
        *(_wait(reason, getattr(idle, reason)) for reason in ("data_loading", "blocking_call", "allocator")),
        *(_cpu(phase, labels[phase], ns) for phase, ns in cpu.items()),
        _cpu("other", labels["other"], idle.cpu_work - sum(cpu.values())),
        *_gaps(idle),
    ]


def _gaps(idle: IdleNs) -> list[Segment]:
    gap = _wait("dependency", idle.queued + idle.dependency)
    return [
        _wait("nothing_recorded", idle.nothing_recorded),
        _wait("launch_latency", idle.launch_latency),
        replace(gap, id="gap", label="Gap, dependency", reasons=("queued", "dependency")),
        *(
            _wait(reason, getattr(idle, reason))
            for reason in ("collective_wait", "unrecorded_work", "unknown", "tail", *EXCLUDED)
        ),
    ]


def _part(id: str, ns: int) -> Segment:
    """Returns a part of the step in which the device works or, for a job without one, the host."""
    meaning = _MEANINGS[id]
    return Segment(id, meaning.label, ns, meaning.colour, meaning.hatched, True)


def _wait(reason: str, ns: int) -> Segment:
    """Returns the time in which the device is idle for this reason."""
    meaning = _MEANINGS[reason]
    return Segment(reason, meaning.label, ns, meaning.colour, meaning.hatched, False, (reason,))


def _cpu(phase: str, label: str, ns: int) -> Segment:
    return replace(_wait("cpu_work", ns), id=f"cpu_{phase}", label=f"CPU, {label.lower()}")


def slow_steps(
    steps: tuple[Step, ...], lengths: Int64, aggregates: StepAggregates, labels: Mapping[PhaseId, str]
) -> list[Grown]:
    """Returns the steps after the first that are outliers above the rest by judged length, the longest first. The
    labels are those of the phases."""
    return _slow_of(steps, lengths, lambda row: segments(aggregates, row, labels))


def slow_steps_of_host(steps: tuple[Step, ...], lengths: Int64, parts: tuple[Parts, ...]) -> list[Grown]:
    """Returns the slow steps of a job without GPU activity."""
    return _slow_of(steps, lengths, lambda row: _host_segments(parts[row]))


def _host_segments(parts: Parts) -> list[Segment]:
    return [
        _wait("data_loading", parts.data_loader),
        _part("communication", parts.communication),
        _part("cpu_exec", parts.cpu_exec + parts.runtime),
        _wait("nothing_recorded", parts.other),
    ]


def _slow_of(steps: tuple[Step, ...], lengths: Int64, segments_of: Callable[[int], list[Segment]]) -> list[Grown]:
    """Returns the slow steps, and what is longer in each. `segments_of` returns the segments of a step, by its
    place."""
    rows = np.flatnonzero(slow_after_first(lengths)).tolist()
    rows.sort(key=lambda row: -lengths[row])
    if not rows:
        return []
    others = np.flatnonzero(~slow(lengths)).tolist()
    alike = zip(*(segments_of(row) for row in others), strict=True)
    usual = [round(median([each.ns for each in group])) for group in alike]
    usual_ns = median(lengths[others])
    return [_grown(steps[row], int(lengths[row] - usual_ns), segments_of(row), usual) for row in rows]


def _grown(step: Step, excess_ns: int, own: list[Segment], usual: list[int]) -> Grown:
    """Returns what is longer in a step.

    own    its segments
    usual  the median of each segment in the other steps
    """
    parts = [
        GrownPart(each.id, each.label, each.ns - ns)
        for each, ns in zip(own, usual, strict=True)
        if each.id not in EXCLUDED
    ]
    parts = [part for part in parts if part.excess_ns >= max(1, GROWN_FRACTION * excess_ns)]
    parts.sort(key=lambda part: -part.excess_ns)
    return Grown(step.name, step.start_ns, step.end_ns, excess_ns, parts)
