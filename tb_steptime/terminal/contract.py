"""What `tb-steptime summarize --format json` prints: a contract with other programs, whose fields are never renamed.

Fractions are 0-1, null is "not measurable in this trace".
"""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Confidence, Severity
from tb_steptime.metrics.excluded_time.steady_step import ExcessName, ExcessNs
from tb_steptime.metrics.host.cpu_ops import CpuOpRow
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.job.device import DeviceKind, Ranks, Vendor
from tb_steptime.metrics.job.execution import ExecutionId
from tb_steptime.metrics.job.purpose import Purpose
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.tables.notes import NoteReport
from tb_steptime.text import Affected, Trust
from tb_steptime.trace.steps import StepsBy


class LoadingNs(msgspec.Struct, frozen=True):
    """wait = exposed + hidden; all null in a trace without loader events."""

    wait: int | None = None
    exposed: int | None = None
    hidden: int | None = None


class StepDeviceReport(msgspec.Struct, frozen=True):
    """A device within a step: gpu_busy_ns and the reasons in idle_ns sum to the step."""

    device: int
    gpu_busy_ns: int
    idle_ns: IdleNs


class StepReport(msgspec.Struct, frozen=True):
    """A step, or the mean step, which has no name and no start. start_ns is relative to the span's origin_ns.

    gpu_busy_ns: time in which any device works; devices: each device by itself. Four parts of duration_ns count in no
    verdict and no gain: before_recording_ns, in which the busiest device runs work that was launched before the
    recording; once_ns, in which it is idle while the host does one-time work; after_recording_ns, in which it has no
    more work in this recording; profiler_ns, in which it is idle while the profiler itself works. steady_ns:
    duration_ns without excess; excess_ns: the excess by kind. They sum to duration_ns, without unknown, which is not
    known to be excess.
    """

    name: str | None
    start_ns: int | None
    duration_ns: int
    host_ns: int
    parts_ns: Parts
    data_loading_ns: LoadingNs
    gpu_busy_ns: int | None
    slow: bool | None
    before_recording_ns: int
    once_ns: int
    after_recording_ns: int
    profiler_ns: int
    steady_ns: int
    excess_ns: ExcessNs
    devices: list[StepDeviceReport]


class TensorCoreReport(msgspec.Struct, frozen=True):
    """kernel_ns is the sum of the other four; the true share is between the two."""

    share_low: float | None
    share_high: float | None
    kernel_ns: int
    tensor_core_ns: int
    matmul_like_ns: int
    unknown_ns: int
    other_ns: int


class DeviceReport(msgspec.Struct, frozen=True):
    device: int
    name: str
    utilization: float | None
    est_sm_efficiency: float | None
    est_achieved_occupancy: float | None
    kineto_achieved_occupancy: float | None
    tensor_core: TensorCoreReport | None


class InsightReport(msgspec.Struct, frozen=True):
    """text: what to do, the numbers that show it, and the setting or code. gain_ns: the most that it gains per step
    now; gain_fraction: its share of the step, which decides the severity (warning from 0.05, major from 0.15).
    later_ns: the gain after something else has changed; null if it is not larger. lowered_from: the severity that the
    gain alone would give, if low confidence lowered it; why_lowered: the reason. Both are null otherwise."""

    id: str
    severity: Severity
    text: str
    gain_ns: int
    confidence: Confidence
    gain_fraction: float
    later_ns: int | None
    why_confidence: str
    lowered_from: Severity | None
    why_lowered: str | None


class RunReport(msgspec.Struct, frozen=True):
    """The recommendation for several spans of a run. card: id of the first card of most spans; null where most have
    none. saying: how many of the spans have it. text: what the card says, with the numbers of the median span, and how
    far the others differ. least_*, most_*: the range over these spans; least_workers and most_workers are null for a
    card that recommends no number of workers. workers: the processes of these spans, where other processes of the run
    do different work; empty where all spans of the run are meant."""

    run: str
    spans: int
    saying: int
    card: str | None
    text: str
    least_workers: int | None
    most_workers: int | None
    least_gain_ns: int
    most_gain_ns: int
    workers: list[str] = []


class FindingReport(msgspec.Struct, frozen=True):
    """A fault of the recording. count: how many rows, calls or marks it affects; share: of how many, as a fraction,
    null where there is no such number. repaired: whether the figures are corrected for it; the file stays as it is.
    affects: what depends on it (gpu_time, launches, host_time, steps, memory, recurrence). trust: the highest
    confidence that is left for these."""

    id: str
    text: str
    count: int | None
    share: float | None
    repaired: bool
    affects: list[Affected]
    trust: Trust


class VerdictReport(msgspec.Struct, frozen=True):
    """What limits the step, and how sure that is."""

    bound: Bound
    text: str
    confidence: Confidence


class JobReport(msgspec.Struct, frozen=True):
    """The kind of job that was recorded. text: the line at the head of every view; evidence: the facts that show it.

    compiled_share, graph_share: of the kernel time without collectives, or on the CPU of the time in ops; the rest is
    eager.
    """

    purpose: Purpose
    execution: ExecutionId
    compiled_share: float | None
    graph_share: float | None
    device: DeviceKind
    vendor: Vendor | None
    ranks: Ranks
    rank: int | None
    world_size: int | None
    text: str
    evidence: list[str]


class PhaseReport(msgspec.Struct, frozen=True):
    """A phase of the mean step: time of the host in it, time in which its work runs on the device, idle time of the
    device before its work, and how far ahead it was launched. Device figures are those of the busiest device."""

    phase: str
    host_ns: int
    device_ns: int
    idle_ns: int
    run_ahead_p50_ns: int | None
    starved_share: float | None
    bound: Bound


class BlockingCallReport(msgspec.Struct, frozen=True):
    """Similar calls, per step: their number, how long they block the host, and how long the device is idle because of
    them."""

    op: str | None
    outer_op: str | None
    phase: str
    call: str
    source: str | None
    count: float
    blocked_ns: int
    bubble_ns: int


class QueueDepthReport(msgspec.Struct, frozen=True):
    """Launches that wait for the device that is busy longest; null without a device."""

    mean: float | None
    max: int | None


class RecordedWorkerReport(msgspec.Struct, frozen=True):
    """A worker process. Times are means per batch. cpu_share: of the time in which it produces a batch, est. from
    looked_batches of them, because the recorder samples the CPU time of some batches."""

    worker: int
    pid: int
    batches: int
    dataset_ns_mean: int
    collate_ns_mean: int
    cpu_share: float | None
    looked_batches: int


class RecordedReport(msgspec.Struct, frozen=True):
    """What the recorder measured of the batches that the steps received. cpu_share: est. from looked_batches."""

    batches: int
    dataset_ns_mean: int | None
    collate_ns_mean: int | None
    cpu_share: float | None
    looked_batches: int
    per_worker: list[RecordedWorkerReport]


class DataLoadingReport(msgspec.Struct, frozen=True):
    """Null means "not known", and why_unknown says why; period is also null where the waits have no period.

    wait_ns_mean = exposed_ns_mean + hidden_ns_mean: of all loaders, per step. All other fields describe the loader with
    the longest total wait, with or without workers and recorder:

    iterator: its class. workers: 0 where the main process makes the batches. period: of long waits, in batches.
    production_ns: time that one process needs for one batch. consumer_ns: the step without its late batches, per batch:
    a step that takes several has several times as much. needed_workers: the smallest number that keeps up; at least 2
    where there are none now. predicted_step_ns: the whole step with 1, 2, ... workers in this loader. All other waits
    stay, and it is at least the time that the workers of another recorded loader need for the batches that the same
    step takes from it.

    No wait is known for a recorded loader that is read by a thread which the trace does not contain: why_unknown says
    so. needed_workers is then the number that makes batches as fast as that thread takes them, null where the loader
    sets the pace.
    """

    iterator: str | None = None
    workers: int | None = None
    wait_ns_mean: int | None = None
    exposed_ns_mean: int | None = None
    hidden_ns_mean: int | None = None
    period: int | None = None
    production_ns: int | None = None
    consumer_ns: int | None = None
    needed_workers: int | None = None
    predicted_step_ns: dict[str, int] | None = None
    why_unknown: str | None = None
    recorded: RecordedReport | None = None


class MemoryReport(msgspec.Struct, frozen=True):
    """A device whose memory was recorded; device is its number, null for the CPU, and name says which.

    peak_allocated_bytes: of the whole device, null where the file has no totals, as before PyTorch 1.11; at_step: the
    step of the peak, null where it is in no step. growth_bytes_per_step: from the end of the first step to that of the
    last; null with fewer than three steps. by_category: what is alive at the peak; sums to it; null where it is not
    known.
    """

    device: int | None
    name: str
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None
    at_step: str | None
    growth_bytes_per_step: float | None
    by_category: dict[str, int] | None


class ExcessReport(msgspec.Struct, frozen=True):
    """Time of the steps that is no part of the steady step, of one kind: once, interrupted, periodic, profiler, edge;
    or unknown, which stays a part of it. total_ns: over the steps; count: of calls. names: with most of it; null stands
    for Python code between ops."""

    kind: str
    total_ns: int
    count: int
    names: list[ExcessName]
    text: str


class SpanReport(msgspec.Struct, frozen=True):
    """unprofiled_step_ns: the median step of the same job without the profiler; profiled_times: how many times as long
    a profiled step takes. Null where the recorder did not time them, or where they differ no more than steps do among
    each other."""

    run: str
    worker: str
    span: int
    trace: str
    events: int
    trace_bytes: int
    json_bytes: int
    origin_ns: int
    rank: int | None
    simulated: str | None
    job: JobReport
    verdict: VerdictReport
    quality: list[FindingReport]
    steps_by: StepsBy
    steps: list[StepReport]
    mean: StepReport
    not_recorded_ns: int
    steady_step_ns: int | None
    excess: list[ExcessReport]
    unprofiled_step_ns: int | None
    profiled_times: float | None
    devices: list[DeviceReport]
    phases: list[PhaseReport]
    blocking_calls: list[BlockingCallReport]
    queue_depth: QueueDepthReport
    data_loading: DataLoadingReport
    cpu_ops: list[CpuOpRow]
    memory: list[MemoryReport] | None
    insights: list[InsightReport]
    notes: list[NoteReport]
