"""The step-time breakdown: every instant of a step goes to one part, and the parts sum to the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, PartMeaning, mean_figure
from tb_steptime.metrics.gpu.utilization import collective_names, has_device_activity
from tb_steptime.metrics.means import whole_mean, whole_means
from tb_steptime.text import Unit
from tb_steptime.trace.host_ranges import host_ranges, is_host_range, loader_intervals, union_where
from tb_steptime.trace.intervals import Intervals, partition
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Kind


class Parts(msgspec.Struct, frozen=True):
    """ns per part, in the order in which a stacked picture shows them; they sum to the step."""

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
        """What the device is busy with."""
        return self.kernel + self.communication + self.memcpy + self.memset


PART_MEANINGS = (
    PartMeaning("kernel", "Kernel", "At least one computing kernel runs on a GPU.", "kernel", False, True),
    PartMeaning("communication", "Communication",
                "A collective's kernel (NCCL, RCCL) runs and no computing kernel does. Without a GPU: a collective "
                "call runs.",
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

#: Order of precedence if several parts cover an instant. torch-tb-profiler has the same order except for collectives:
#: it counts their kernels as Kernel, so Kernel + Communication here is its Kernel.
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
    """The function that measures the part's own metric."""

    def measured(trace: Trace) -> Figure:
        return mean_figure(np.array([getattr(row, part) for row in step_breakdown(trace)], np.int64))

    return measured


@shared
def collective_kernels(trace: Trace) -> Intervals:
    """When a collective's kernel runs on any device of this process."""
    rows = trace.events.rows(Kind.KERNEL)
    return Intervals.of_events(trace.events, rows[collective_names(trace)[trace.events.name[rows]]])


@shared
def step_breakdown(trace: Trace) -> tuple[Parts, ...]:
    """The parts of each step; they sum to the step."""
    steps = find_steps(trace)
    lengths = {part: steps.overlap_ns(each) for part, each in part_intervals(trace).items()}
    return tuple(Parts(**{part: int(each[i]) for part, each in lengths.items()}) for i in range(len(steps.steps)))


def part_intervals(trace: Trace) -> Mapping[str, Intervals]:
    """The time ranges of each part in the steps: disjoint, and together all of the steps. An instant belongs to the
    first part that covers it.

    cpu_exec  aaaaaaaa
    kernel        kkkkkk   ->  cpu_exec 4, kernel 6
    """
    steps = find_steps(trace)
    layers = _layers(trace)
    shared = partition(steps.intervals, [layers[part] for part in PRIORITY])
    return dict(zip([*PRIORITY, "other"], shared, strict=True))


def between_ops_ns(trace: Trace) -> int:
    """Returns the part of `cpu_exec` in the mean step in which only named ranges are open: Python between ops."""
    steps = find_steps(trace)
    ranges = part_intervals(trace)["cpu_exec"] - union_where(trace, trace.events.kind == Kind.CPU_OP)
    return int(steps.overlap_ns(ranges).sum()) // len(steps.steps)


def mean_parts(rows: tuple[Parts, ...], total_ns: int) -> Parts:
    """The mean of each part in whole ns, rounded so that the parts sum to total_ns."""
    sums = np.array([msgspec.structs.astuple(row) for row in rows], np.int64).sum(axis=0)
    return Parts(*whole_means(sums, len(rows), total_ns))


def mean_duration_ns(rows: tuple[Parts, ...]) -> int:
    """The mean step in whole ns; halves are rounded up."""
    return whole_mean(sum(row.total_ns for row in rows), len(rows))


def _layers(trace: Trace) -> dict[str, Intervals]:
    events = trace.events
    kernels = events.rows(Kind.KERNEL)
    compute = kernels[~collective_names(trace)[events.name[kernels]]]
    on_device = has_device_activity(trace)
    return {
        "kernel": Intervals.of_events(trace.events, compute),
        "communication": collective_kernels(trace) if on_device else _collective_calls(trace),
        "memcpy": Intervals.of_events(trace.events, events.rows(Kind.MEMCPY)),
        "memset": Intervals.of_events(trace.events, events.rows(Kind.MEMSET)),
        "runtime": Intervals.of_events(trace.events, events.rows(*CALL_KINDS)),
        "data_loader": loader_intervals(trace),
        "cpu_exec": host_ranges(trace),
    }


def _collective_calls(trace: Trace) -> Intervals:
    """When the host is inside a collective."""
    return union_where(trace, is_host_range(trace) & collective_names(trace)[trace.events.name])
