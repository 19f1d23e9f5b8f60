"""What rules are given: the results of the analyses of one span, and short ways to ask them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import DeviceIdle, HostResult, JudgedHost, JudgedRows
from tb_steptime.analyses.memory import MemoryResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, KernelRow, TensorCoresResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.insights.severity import MAJOR_FRACTION, WARNING_FRACTION
from tb_steptime.metrics.communication.summary import Communication
from tb_steptime.metrics.excluded_time.ranges import FEW_STEPS as FEW_STEPS
from tb_steptime.metrics.excluded_time.ranges import are_counted, are_judged
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION, UNRECORDED_FRACTION, Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.job import NOT_TAKEN, JobKind
from tb_steptime.metrics.kernels.waste import LaunchWaste, Waste
from tb_steptime.metrics.means import whole_mean, whole_means
from tb_steptime.metrics.phases.forward_only import comparable
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.metrics.tensor_cores.usage import Split
from tb_steptime.replay.whatif import Gain, WhatIf
from tb_steptime.text import Finding, phrase
from tb_steptime.text.patterns import expression

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import GpuResult
    from tb_steptime.analyses.operators import OperatorsResult
    from tb_steptime.metrics.kernels.table import KernelGroup

#: Minimum share of the step for a card: smaller gains are noise.
WORTH_FRACTION = 0.01

#: Share of the recording from which on, if it is left out, the rest says little about later steps.
LITTLE_FRACTION = 0.5
LITTLE = phrase(
    "Most of this recording is one-time work, work from before it or the profiler's own, so later steps will differ."
)

UNRECORDED = phrase("For most of the step the GPU runs no recorded work although some is launched: find out why first.")

ONLY_LAUNCHES = phrase("CPU activity besides launch calls is not recorded: this may be one-time work of first calls.")

#: Share of the step in launch calls that wait for room in the full queue, from which on they explain a busy CPU.
FULL_QUEUE_FRACTION = 0.05

_ATTENTION = expression(r"(?i)attn|attention|fmha|flash")
_NO_WASTE = LaunchWaste(None, None, Waste(None, 0, 0, 0), Waste(None, 0, 0, 0))

#: The parts of a step that a replay can make free, by the names of `Sensitivity`.
Part = Literal["host", "device", "loader", "communication", "blocking"]

R = TypeVar("R", bound=msgspec.Struct)


class NotComputed(Exception):
    """The result of this view is asked for, and its analysis failed on this file."""


class Facts(msgspec.Struct, frozen=True, dict=True):
    """The results of one span, by view id; those that many rules ask have a name. gaps: views whose analysis failed,
    with the kind of error; what needs their results is not said."""

    results: Mapping[str, msgspec.Struct]
    gaps: Mapping[str, str] = msgspec.field(default_factory=dict)

    def has(self, view: str) -> bool:
        return view in self.results and view not in self.gaps

    def result(self, view: str, kind: type[R]) -> R:
        """Raises KeyError where that view was not measured, NotComputed where its analysis failed."""
        if view in self.gaps:
            raise NotComputed(view)
        result = self.results[view]
        assert isinstance(result, kind)
        return result

    @property
    def overview(self) -> OverviewResult:
        return self.result("overview", OverviewResult)

    @property
    def job(self) -> JobKind:
        """The kind of job: training or inference, eager or compiled, on which devices, in how many ranks."""
        return self.overview.job

    @property
    def trains(self) -> bool:
        return self.job.purpose == "training"

    @property
    def infers(self) -> bool:
        return self.job.purpose == "inference"

    @property
    def compiles_model(self) -> bool:
        """Whether torch.compile takes the model and its gradients, and has code for these devices."""
        return self.job.compiles and not (self.job.double_backward or self.job.left_as_is in NOT_TAKEN)

    @property
    def trends(self) -> TrendsResult:
        return self.result("trends", TrendsResult)

    @cached_property
    def data_loading(self) -> DataLoadingResult:
        """The Data loading view. Where steps are left out, its steps, their mean, causes and curve are those of the
        others, where these wait for a loader."""
        rows = self._judged_rows
        if rows is None or rows.waits is None or self.data_loading_as_recorded.mean is None:
            return self.data_loading_as_recorded
        waits = rows.waits
        return msgspec.structs.replace(
            self.data_loading_as_recorded, steps=waits.steps, mean=waits.mean, causes=waits.causes, curve=waits.curve
        )

    @property
    def data_loading_as_recorded(self) -> DataLoadingResult:
        return self.result("data_loading", DataLoadingResult)

    @property
    def tensor_cores(self) -> TensorCoresResult:
        return self.result("tensor_cores", TensorCoresResult)

    @cached_property
    def host(self) -> HostResult:
        """The Host view. Where steps are left out, its rows are means over the others, where it has these."""
        rows, recorded = self._judged_rows, self.host_as_recorded
        if rows is None:
            return recorded
        replaced = {*rows.__struct_fields__} & {*HostResult.__struct_fields__} - {"steps"}
        return msgspec.structs.replace(recorded, **{name: getattr(rows, name) for name in replaced})

    @property
    def host_as_recorded(self) -> HostResult:
        return self.result("host", HostResult)

    @property
    def _judged_rows(self) -> JudgedRows | JudgedHost | None:
        """Means over `judged_steps`; None where these are all steps."""
        return (self.host_as_recorded.judged or self.host_as_recorded.judged_host) if self.has("host") else None

    @property
    def host_parts_ns(self) -> Parts:
        """The parts of the mean step of a job without a device, mean over `judged_steps`."""
        judged = self.host_as_recorded.judged_host if self.has("host") else None
        return self.overview.mean_parts_ns if judged is None else judged.parts_ns

    @property
    def memory(self) -> MemoryResult:
        """The allocations. It has no devices where they were not recorded."""
        return self.result("memory", MemoryResult)

    @property
    def gpu(self) -> GpuResult | None:
        """None where it was left out, as the command line prints nothing of it, or could not be computed."""
        return cast("GpuResult", self.results["gpu"]) if self.has("gpu") else None

    @property
    def operators(self) -> OperatorsResult | None:
        """None where it was left out, like `gpu`."""
        return cast("OperatorsResult", self.results["operators"]) if self.has("operators") else None

    @cached_property
    def kernel_split(self) -> DeviceSplit | None:
        """The use of tensor cores by the kernels of the main device. Where steps are left out, its steps, its total and
        what it says of single kernels are those of the others; its tables are of all steps."""
        split = next((each for each in self.tensor_cores.devices if each.device == self.overview.device), None)
        rows = self.host_as_recorded.judged if self.has("host") else None
        if split is None or rows is None:
            return split
        steps = [split.steps[each] for each in rows.steps]
        sums = zip(*(msgspec.structs.astuple(each.split) for each in steps), strict=True)
        return msgspec.structs.replace(
            split,
            total=Split(*map(sum, sums)),
            steps=steps,
            obstacles=rows.obstacles,
            waste=rows.waste,
            rates=rows.rates,
        )

    @property
    def split_kernels(self) -> list[KernelRow]:
        """The main device's kernels by name, with how they use tensor cores; empty without a device."""
        return self.kernel_split.kernels if self.kernel_split else []

    @property
    def fuses_attention(self) -> bool:
        """Whether kernels of fused attention run, as their names say."""
        return any(_ATTENTION.search(row.short) for row in self.split_kernels)

    @property
    def waste(self) -> LaunchWaste:
        """Kernels of the main device that could be avoided or be shorter; without a device there are none."""
        return self.kernel_split.waste if self.kernel_split else _NO_WASTE

    @property
    def kernels(self) -> list[KernelGroup]:
        """The main device's kernels by name, those with most time first; empty where `gpu` is None."""
        devices = [each for each in self.gpu.devices if each.device == self.overview.device] if self.gpu else []
        return [row for each in devices for table in each.tables if table.by == "name" for row in table.rows]

    @cached_property
    def judged_steps(self) -> list[int]:
        """The places of the steps over which verdicts and cards average: those of which hardly anything is left out, as
        a wait for a batch does not show where work from before the recording runs. All of them if no step is whole. The
        first one is not among them where it `starts_longer`. Without a device, steps lack nothing but one-time work:
        all that are `comparable`."""
        steps = self.overview.steps
        if self.overview.device is None:
            averaged = comparable([each.judged_ns for each in steps], self.forward_only)
            return [place for place, is_averaged in enumerate(averaged.tolist()) if is_averaged]
        lengths = [each.duration_ns for each in steps], [each.judged_ns for each in steps]
        host_ns = [each.host_ns for each in steps]
        paced_by_device = self.has("host") and self.host_as_recorded.bound is Bound.GPU
        judged = are_judged(*lengths, host_ns, self.forward_only, paced_by_device=paced_by_device).tolist()
        return [place for place, is_judged in enumerate(judged) if is_judged]

    @property
    def forward_only(self) -> list[bool]:
        """Which steps run a forward pass alone, although others train."""
        return [step.forward_only for step in self.overview.steps]

    @cached_property
    def starts_longer(self) -> bool:
        """Whether the first step is whole, and left out because it is longer than every other one."""
        steps = self.overview.steps
        if self.overview.device is None or 0 in self.judged_steps:
            return False
        lengths = [each.duration_ns for each in steps], [each.judged_ns for each in steps]
        return bool(are_counted(*lengths, self.forward_only)[0])

    @cached_property
    def step_ns(self) -> int:
        """The mean of `judged_steps` without what is left out, such as one-time work and work from before them."""
        steps = self.overview.steps
        return whole_mean(sum(steps[each].judged_ns for each in self.judged_steps), len(self.judged_steps))

    @property
    def recorded_ns(self) -> int:
        """The mean of `judged_steps` with what is left out of them, as the host floor counts."""
        steps = self.overview.steps
        return whole_mean(sum(steps[each].duration_ns for each in self.judged_steps), len(self.judged_steps))

    @property
    def once_ns(self) -> int:
        """The one-time work of all steps together."""
        return sum(step.once_ns for step in self.overview.steps)

    @property
    def all_steps_ns(self) -> int:
        """The length of all recorded steps together."""
        return sum(step.duration_ns for step in self.overview.steps)

    @property
    def left_out_ns(self) -> int:
        """The time that is left out of all steps together."""
        return sum(step.duration_ns - step.judged_ns for step in self.overview.steps)

    @cached_property
    def plain_ns(self) -> int:
        """`step_ns` without the profiler; the same where no recorder has timed steps of both kinds. A host that runs
        ahead of its device ends its steps early, but no step is shorter than the device's work."""
        pace = self.overview.pace
        if pace is None or not pace.differ:
            return self.step_ns
        return max(round(self.step_ns / max(pace.times, 1.0)), self.busy_ns)

    @property
    def slowed(self) -> float:
        """How many times as long a step takes with the profiler as without it; 1 where no recorder has timed both."""
        return self.step_ns / self.plain_ns if self.plain_ns else 1.0

    @property
    def observed_ns(self) -> int:
        """What a step takes at least because something besides the profiler observes its ops; 0 if nothing does."""
        if self.has("host") and self.host_as_recorded.judged is not None:
            return self.host_as_recorded.judged.observed_ns
        observed = self.finding("ops_observed")
        share = observed.share if observed else None
        return round((share or 0) * self.all_steps_ns / max(1, len(self.overview.steps)))

    def has_finding(self, id: str) -> bool:
        return self.finding(id) is not None

    def finding(self, id: str) -> Finding | None:
        return next((each for each in self.overview.findings if each.id == id), None)

    @property
    def idle_is_unexplained(self) -> bool:
        """Whether nothing can be said about why the GPU is idle, because work and launches cannot be compared."""
        return any(each.trust == "none" and "launches" in each.affects for each in self.overview.findings)

    @property
    def unread_share(self) -> float | None:
        """The share of events of kinds that are not read, where it is so large that nothing can be said to be missing
        from the recording; else None."""
        unread = self.finding("mostly_unread")
        return unread.share if unread else None

    @property
    def busy_ns(self) -> int:
        """The part of `step_ns` in which the main device works; 0 without one."""
        return self.step_ns - self.idle.total_ns if self.idle is not None else 0

    @property
    def only_profiler_waits(self) -> bool:
        """The device waits for the host in recorded steps, and works for all of a step without the profiler."""
        waits = self.host.bound in (Bound.HOST, Bound.SYNC, Bound.MIXED)
        return waits and self.slowed > 1 and self.busy_ns >= (1 - IDLE_FRACTION) * self.plain_ns > 0

    @property
    def bound(self) -> Bound:
        """What limits a step when the job runs without the profiler."""
        if self.only_profiler_waits:
            return Bound.GPU
        return Bound.UNKNOWN if mostly_unrecorded(self) else self.host.bound

    @property
    def unrecorded_ns(self) -> int:
        """Returns how long a step launched work waits at least although nothing that is recorded runs on the main
        device, nor on another one of the process: a wait for another device lasts as long as its work."""
        if self.idle is None:
            return 0
        steps, others = self.judged_steps, [each for each in self.host.devices if each.device != self.host.device]
        others_ns = sum(each.busy_ns[step] for each in others for step in steps) // len(steps)
        return self.idle.unrecorded_work + max(self.idle.dependency - others_ns, 0)

    @cached_property
    def idle(self) -> IdleNs | None:
        """Returns the idle time of the span's main device by reason, as far as it is judged, mean over `judged_steps`;
        None without a device."""
        device = self._main_device
        if device is None or len(self.judged_steps) == len(self.overview.steps):
            return device.mean.judged if device else None
        rows = [msgspec.structs.astuple(device.steps[each]) for each in self.judged_steps]
        return IdleNs(*whole_means([sum(of_reason) for of_reason in zip(*rows, strict=True)], len(rows))).judged

    @property
    def idle_as_recorded(self) -> IdleNs | None:
        """Returns the same, mean over all steps, as the tables of the Host view count."""
        device = self._main_device
        return device.mean.judged if device else None

    @property
    def _main_device(self) -> DeviceIdle | None:
        host = self.host_as_recorded
        return next((each for each in host.devices if each.device == host.device), None)

    @property
    def communication(self) -> Communication | None:
        """What the step exchanges, mean over `judged_steps`; None if nothing is exchanged."""
        rows = self._judged_rows
        return self.overview.communication if rows is None else rows.communication

    @property
    def exchange_ns(self) -> int:
        """The time a step in which the main device only communicates, mean over `judged_steps`, ns."""
        if self.host_as_recorded.judged is not None:
            return self.host_as_recorded.judged.exchange_ns
        mean_ns = sum(segment.ns for segment in self.host_as_recorded.segments if segment.id == "communication")
        return min(mean_ns, self.busy_ns)  # part of it may be work from before the recording

    @property
    def replayed(self) -> WhatIf | None:
        """The replay of a step; None where the recording does not allow one that can be trusted."""
        what_if = self.host.whatif
        return what_if if what_if is not None and what_if.trusted else None

    def replayed_gain(self, change: str) -> Gain | None:
        """Returns what a change gains by a replay that can be trusted; None without one, or where it gains nothing."""
        replayed = self.replayed
        return None if replayed is None else next((each for each in replayed.changes if each.id == change), None)

    def at_most_ns(self, gain_ns: int, *parts: Part) -> int:
        """Returns the gain, or what the step would gain if one of these parts took no time, if that is less, because no
        remedy gains more. Without a replay that can be trusted, the gain is returned as it is."""
        replayed = self.replayed
        if replayed is None:
            return gain_ns
        left: int = min(getattr(replayed.sensitivity, part) for part in parts)
        return min(gain_ns, max(replayed.steady_step_ns - left, 0))

    def alone_ns(self, gain_ns: int, *, pauses: bool) -> int:
        """Returns what the step gains at most if the CPU or the loader of this rank alone needs so much less, or does
        not pause. Where exchanges set the pace, the rank may only wait longer for others, as a replay shows in which
        these arrive as recorded. Without one, the gain is returned as it is."""
        replayed = self.replayed
        if replayed is None or self.host.bound is not Bound.COMMUNICATION:
            return gain_ns
        most_ns = replayed.pauses_alone_ns if pauses else max(0, replayed.steady_step_ns - replayed.alone_ns)
        return gain_ns if most_ns is None else min(gain_ns, most_ns)

    @property
    def in_series(self) -> bool:
        """Whether the process drives several GPUs, and they work one after another."""
        return self.host.several_devices is not None and self.host.several_devices.in_series

    @property
    def replicates(self) -> bool:
        """Whether `nn.DataParallel` copies the model to the GPUs of this process, which exchange with each other."""
        return any(shown.code in ("replicas", "one_thread") for shown in self.job.evidence)

    @property
    def hands_over(self) -> bool:
        """Whether the GPUs of an inference work one after another: each has some layers of its model and waits for the
        results of the GPU before it, as `device_map="auto"` splits a model. In training they may have copies of it."""
        return self.in_series and self.infers

    @property
    def all_idle_ns(self) -> int:
        """The time a step in which no GPU of the process works, mean over the steps, where it drives several."""
        several = self.host.several_devices
        return max(0, self.step_ns - several.union_busy_ns) if several is not None else 0

    @cached_property
    def copying_ns(self) -> int:
        """The time a step in which the main device only copies between its memory and the host's, mean over
        `judged_steps`, ns; no longer than in half of them, since one that writes a checkpoint is no usual step."""
        copied = (row.total_ns - row.hidden_ns for row in self.host.copies if row.direction in ("HtoD", "DtoH"))
        steps_ns = [self.overview.steps[each].parts_ns.memcpy for each in self.judged_steps]
        return min(sum(copied), whole_mean(sum(steps_ns), len(steps_ns)), self.usual_copies_ns, self.step_ns)

    @property
    def usual_copies_ns(self) -> int:
        """The lower median over `judged_steps` of the time in which only copies run, ns."""
        steps_ns = sorted(self.overview.steps[each].parts_ns.memcpy for each in self.judged_steps)
        return steps_ns[(len(steps_ns) - 1) // 2] if steps_ns else 0

    @property
    def blocked_ns(self) -> int:
        """The time a step for which calls make the CPU wait, those of the allocator left out, ns."""
        return sum(row.blocked_ns for row in self.host.blocking if row.kind != "allocator")

    def kernels_worth_ns(self, gain_ns: int) -> int | None:
        """Returns what the step gains, by the replay, if devices work so much less. Kernels that the step does not wait
        for gain nothing. None without a replay that can be trusted."""
        replayed = self.replayed
        if replayed is None or not replayed.device_ns:
            return None
        left = replayed.with_less_work_ns(replayed.device_curve, min(gain_ns / replayed.device_ns, 1.0))
        return max(0, min(gain_ns, round(replayed.steady_step_ns - left)))

    def share(self, ns: float) -> float:
        """Returns a time as a share of the mean step without what is left out: as verdicts and cards count."""
        return ns / self.step_ns if self.step_ns else 0.0

    def worth(self, ns: int) -> int:
        """Returns the time, or 0 where it is too small a share of the step for a card."""
        return ns if self.share(ns) >= WORTH_FRACTION else 0

    def share_as_recorded(self, ns: float) -> float:
        """Returns a time as a share of the mean step with what is left out: as bars, tiles and the sidebar count."""
        whole = self.overview.mean_duration_ns
        return ns / whole if whole else 0.0

    def figure(self, metric: str) -> float | None:
        """Returns a metric of the catalogue that every step has, mean over `judged_steps`; None where it is not
        measurable."""
        series = next(series for series in self.trends.series if series.metric == metric)
        values = [series.steps[each] for each in self.judged_steps] if series.value is not None else []
        return sum(each or 0.0 for each in values) / len(values) if values else None

    def figure_as_recorded(self, metric: str) -> float | None:
        """Returns the span's value of any metric of the catalogue; None where it is not measurable."""
        return next(series.value for series in self.trends.series if series.metric == metric)


def waits_for_queue(facts: Facts) -> bool:
    """Returns whether the CPU is busy because it waits for room in the full launch queue."""
    return facts.host.full_queue_ns >= FULL_QUEUE_FRACTION * facts.step_ns > 0


def little_is_judged(facts: Facts) -> bool:
    """Returns whether half of what was recorded is left out, mostly one-time work, and not even a few steps are whole,
    nor two that take the same time: the rest is the first work of a process, too, and no step of the job."""
    if facts.left_out_ns < max(LITTLE_FRACTION * facts.all_steps_ns, 1):
        return False
    steps = facts.overview.steps
    whole = [step.duration_ns for step in steps if step.judged_ns > (1 - WARNING_FRACTION) * step.duration_ns]
    alike = len(whole) > 1 and max(whole) - min(whole) < MAJOR_FRACTION * max(whole)
    return len(whole) < FEW_STEPS and not alike


def mostly_unrecorded(facts: Facts) -> bool:
    """Returns whether a step mostly waits for work that is not recorded: what the rest gains alone says little."""
    return facts.share(facts.unrecorded_ns) >= UNRECORDED_FRACTION


def one_time_is_unknown(facts: Facts) -> bool:
    """Returns whether what the CPU does may come once: nothing shows first calls, and there are not even a few steps to
    compare."""
    return facts.host.cpu_unrecorded and len(facts.overview.steps) < FEW_STEPS
