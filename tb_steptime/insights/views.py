"""What each view measured of one span: means over the steps that verdicts and cards average over, or as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult, JudgedHost, JudgedRows
from tb_steptime.analyses.memory import MemoryResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, KernelRow, TensorCoresResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.metrics.communication.summary import Communication
from tb_steptime.metrics.job.kind import JobKind
from tb_steptime.metrics.kernels.waste import LaunchWaste, Waste
from tb_steptime.metrics.phases.left_as_is import NOT_TAKEN
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.metrics.tensor_cores.usage import Split
from tb_steptime.text import Finding
from tb_steptime.text.patterns import expression

if TYPE_CHECKING:
    from tb_steptime.analyses.gpu import GpuResult
    from tb_steptime.analyses.operators import OperatorsResult
    from tb_steptime.metrics.kernels.table import KernelGroup

_ATTENTION = expression(r"(?i)attn|attention|fmha|flash")
_NO_WASTE = LaunchWaste(None, None, Waste(None, 0, 0, 0), Waste(None, 0, 0, 0))

R = TypeVar("R", bound=msgspec.Struct)


class NotComputed(Exception):
    """The result of this view is asked for, and its analysis failed on this file."""


class Views(msgspec.Struct, frozen=True, dict=True):
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
        split = next((device for device in self.tensor_cores.devices if device.device == self.overview.device), None)
        rows = self.host_as_recorded.judged if self.has("host") else None
        if split is None or rows is None:
            return split
        steps = [split.steps[place] for place in rows.steps]
        sums = zip(*(msgspec.structs.astuple(step.split) for step in steps), strict=True)
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
        devices = [device for device in self.gpu.devices if device.device == self.overview.device] if self.gpu else []
        return [row for device in devices for table in device.tables if table.by == "name" for row in table.rows]

    @property
    def forward_only(self) -> list[bool]:
        """Which steps run a forward pass alone, although others train."""
        return [step.forward_only for step in self.overview.steps]

    def has_finding(self, id: str) -> bool:
        return self.finding(id) is not None

    def finding(self, id: str) -> Finding | None:
        return next((finding for finding in self.overview.findings if finding.id == id), None)

    @property
    def idle_is_unexplained(self) -> bool:
        """Whether nothing can be said about why the GPU is idle, because work and launches cannot be compared."""
        return any(finding.trust == "none" and "launches" in finding.affects for finding in self.overview.findings)

    @property
    def unread_share(self) -> float | None:
        """The share of events of kinds that are not read, where it is so large that nothing can be said to be missing
        from the recording; else None."""
        unread = self.finding("mostly_unread")
        return unread.share if unread else None

    @property
    def communication(self) -> Communication | None:
        """What the step exchanges, mean over `judged_steps`; None if nothing is exchanged."""
        rows = self._judged_rows
        return self.overview.communication if rows is None else rows.communication

    @property
    def in_series(self) -> bool:
        """Whether the process drives several GPUs, and they work one after another."""
        return self.host.several_devices is not None and self.host.several_devices.in_series

    @property
    def replicates(self) -> bool:
        """Whether `nn.DataParallel` copies the model to the GPUs of this process, which exchange with each other."""
        return any(sign.code in ("replicas", "one_thread") for sign in self.job.evidence)

    @property
    def hands_over(self) -> bool:
        """Whether the GPUs of an inference work one after another: each has some layers of its model and waits for the
        results of the GPU before it, as `device_map="auto"` splits a model. In training they may have copies of it."""
        return self.in_series and self.infers

    @property
    def blocked_ns(self) -> int:
        """The time a step for which calls make the CPU wait, those of the allocator left out, ns."""
        return sum(row.blocked_ns for row in self.host.blocking if row.kind != "allocator")
