"""Host: why each GPU is idle, what the host did meanwhile, from where work is launched, and which calls block."""

from __future__ import annotations

import msgspec

from tb_steptime.analyses.base import Analysis
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.blocking import BlockingRow, CopyRow
from tb_steptime.metrics.device_levels import DeviceLevel
from tb_steptime.metrics.host_words import Answer, HostFigures, answer, titles
from tb_steptime.metrics.idle import IdleNs
from tb_steptime.metrics.launch_queue import BackPressure, QueueLevel
from tb_steptime.metrics.launching import LaunchFigures
from tb_steptime.metrics.pauses import Pause
from tb_steptime.metrics.phase_spans import PhaseSpan
from tb_steptime.metrics.ranges import RangeRow
from tb_steptime.metrics.several_devices import SeveralDevices
from tb_steptime.metrics.verdict import Bound
from tb_steptime.phrases import Phrase, phrase
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


class Stretch(msgspec.Struct, frozen=True):
    """Evidence: a stretch of time, relative to the span's origin, and the step in which it begins."""

    step: str
    start_ns: int
    end_ns: int


class HostStep(msgspec.Struct, frozen=True):
    """A step. idle_ns is that of the main device by reason: it sums to duration_ns less that device's busy time.

    phase_idle_ns: the same time by the phase that it is charged to (phase id -> ns). phase_host_ns: the step's own time
    by what the host was in (phase id -> ns; sums to duration_ns). phase_spans: when, in time order.
    """

    name: str
    start_ns: int
    end_ns: int
    idle_ns: IdleNs
    phase_idle_ns: dict[str, int]
    phase_host_ns: dict[str, int]
    queue_mean: float | None
    launches: int
    phase_spans: list[PhaseSpan] = []


class SiteRow(msgspec.Struct, frozen=True):
    """From where work is launched: a place within a phase, such as the buffer broadcast of the forward pass.

    All per step, means over the steps. device_ns: time in which work launched here runs (union over streams). idle_ns
    by reason: charged here because the activity that ended the gap was launched here; bubble_ns: what of it stands
    behind a blocking call (see BlockingRow). run_ahead_p50_ns, starved_share: None without launches. examples: the
    longest gaps.
    """

    site: str
    phase: str
    label: str
    launches: float
    starved_share: float | None
    run_ahead_p50_ns: int | None
    device_ns: int
    idle_ns: IdleNs
    bubble_ns: int
    examples: list[Stretch]


class PhaseRow(msgspec.Struct, frozen=True):
    """A phase of the step: the sum of its sites, and what the host spends in it. Means over the steps, per step.

    host_ns: sums over the phases to the step; idle_ns.total over the phases sums to the device's idle time.
    reasons: why `bound`.
    """

    phase: str
    label: str
    host_ns: int
    device_ns: int
    idle_ns: IdleNs
    bubble_ns: int
    launches: float
    run_ahead_p50_ns: int | None
    starved_share: float | None
    bound: Bound


class Piece(msgspec.Struct, frozen=True):
    """A stretch of the mean step as the view draws it; the pieces sum to the mean step. works: the device works."""

    id: str
    label: str
    ns: int
    colour: str
    hatched: bool
    works: bool


class DeviceIdle(msgspec.Struct, frozen=True):
    """One device. steps: its idle time by reason, per step; mean: mean over the steps; busy_ns per step."""

    device: int
    name: str
    busy_ns: list[int]
    steps: list[IdleNs]
    mean: IdleNs


class GrownPart(msgspec.Struct, frozen=True):
    """A part of the step or a reason to be idle, by its label, and how much longer it is than usual."""

    label: str
    excess_ns: int


class Grown(msgspec.Struct, frozen=True):
    """A slow step, and what is longer in it than in the median of the others, most first. excess_ns: step time above
    that median."""

    step: str
    start_ns: int
    end_ns: int
    excess_ns: int
    grown: list[GrownPart]


class HostResult(msgspec.Struct, frozen=True):
    """device: the one that is busy longest, whose figures stand for the span; None where nothing ran on a GPU, then
    `unknown` says so, and only steps, phases and ranges are told (of the host).

    pieces sum to mean_step_ns. queue: strips over [start_ns, end_ns), coarse to fine. blocking and copies: most bubble
    (time) first; more_blocking: how many rows were folded away. device_levels: what the device does, in the bins of the
    queue. titles by picture or table: queue, reasons, sites, blocking, blocking_remark, copies, devices, pauses, grown;
    those without anything to show are left out. answer: is the CPU the limit? bucket_copies: copies a step of gradients
    into the buckets of DistributedDataParallel. with_stack, step_marks: how the trace was recorded.
    """

    unknown: Phrase | None
    start_ns: int
    end_ns: int
    mean_step_ns: int
    device: int | None
    tiles: list[Series]
    steps: list[HostStep]
    pieces: list[Piece]
    bound: Bound
    phases: list[PhaseRow]
    sites: list[SiteRow]
    ranges: list[RangeRow]
    devices: list[DeviceIdle]
    launches: LaunchFigures | None
    back_pressure: BackPressure | None
    queue: list[QueueLevel]
    blocking: list[BlockingRow]
    more_blocking: int
    blocking_bubble_ns: int
    copies: list[CopyRow]
    several_devices: SeveralDevices | None
    pauses: list[Pause]
    grown: list[Grown]
    device_levels: list[DeviceLevel] = []
    titles: dict[str, Phrase] = {}
    answer: Answer | None = None
    bucket_copies: float = 0.0
    with_stack: bool = False
    step_marks: bool = True


NO_ACTIVITY = phrase("This trace has no GPU activity.")


def with_words(result: HostResult, idle: IdleNs, host_floor_ns: int | None) -> HostResult:
    """The result with its titles and the answer; idle: the main device's mean, whose sum and busy time are the step."""
    host = HostFigures(
        result.bound, result.mean_step_ns, idle, result.launches, result.back_pressure, host_floor_ns
    )  # fmt: skip
    told = titles(host, result)
    return msgspec.structs.replace(result, titles=told, answer=None if result.unknown else answer(host))


def analyse(trace: Trace) -> HostResult:
    low, high = find_steps(trace).window
    return HostResult(
        NO_ACTIVITY, low, high, 0, None, [], [], [], Bound.UNKNOWN, [], [], [], [], None, None, [], [], 0, 0, [],
        None, [], [],
    )  # fmt: skip


ANALYSIS = Analysis("host", "Host", HostResult, analyse)
