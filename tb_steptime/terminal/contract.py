"""What `tb-steptime summarize --format json` prints: a contract with other programs, whose fields are never renamed.

Fractions are 0-1, null is "not measurable in this trace".
"""

from __future__ import annotations

import msgspec

from tb_steptime.insights.base import Confidence, Severity
from tb_steptime.metrics.host.cpu_ops import CpuOpRow
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.job import DeviceKind, ExecutionId, Purpose, Ranks, Vendor
from tb_steptime.metrics.steady.step import ExcessName, ExcessNs
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
    """A step, or the mean one, which has no name and no start. start_ns is relative to the span's origin_ns.

    gpu_busy_ns: any device works; devices: each by itself. before_recording_ns, once_ns, after_recording_ns,
    profiler_ns: of duration_ns, in no verdict and in no gain: the busiest device runs work that was launched before the
    recording; it is idle while the host does what comes once; it has no more work in this recording; it is idle while
    the profiler itself works. steady_ns: what is left of duration_ns without excess; excess_ns: by kind, which with
    steady_ns sum to it, but for unknown, which is not known to be excess.
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
    """text says what to do, the numbers that show it and the setting or code. gain_ns is per step now, at most, and
    gain_fraction its share of the step, which decides severity: from 0.05 on warning, from 0.15 on major. later_ns:
    what it gains once something else changed, null where that is no more. lowered_from: the severity of that gain where
    the card has a lower one, since its confidence is low; why_lowered says why. Both are null where it was not
    lowered."""

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
    """The one recommendation of several spans of a run. card: the id of the first card of most spans, null where most
    have none; saying: how many of spans have it. text: what it says, as the span with the median numbers has it, and
    how far the others differ. least_, most_: what these spans say; least_workers and most_workers are null where the
    card recommends no number of them. workers: the processes whose spans these are, where others of the run do
    different work; empty where all spans of the run are meant."""

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
    """What is wrong with the recording. count: rows, calls or marks that it touches; share: of what they are a part,
    null where it is none. repaired: mended in what is measured, the file stays as it is. affects: what rests on it
    (gpu_time, launches, host_time, steps, memory, recurrence), with the confidence that is left at most."""

    id: str
    text: str
    count: int | None
    share: float | None
    repaired: bool
    affects: list[Affected]
    trust: Trust


class VerdictReport(msgspec.Struct, frozen=True):
    """What holds the step up, and why that is so sure."""

    bound: Bound
    text: str
    confidence: Confidence


class JobReport(msgspec.Struct, frozen=True):
    """What kind of job was recorded: see the head of every view. text is that line, evidence what shows it.

    compiled_share, graph_share: of kernel time but collectives, of CPU jobs of the time in ops; the rest is eager.
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
    """Calls that are alike, per step: how often, how long the host is blocked, how long the device idles for it."""

    op: str | None
    outer_op: str | None
    phase: str
    call: str
    source: str | None
    count: float
    blocked_ns: int
    bubble_ns: int


class QueueDepthReport(msgspec.Struct, frozen=True):
    """Launches that wait for the device; null without a device."""

    mean: float | None
    max: int | None


class RecordedWorkerReport(msgspec.Struct, frozen=True):
    """A worker process; ns are means per batch, cpu_share is of the time in which it makes one, est. from
    looked_batches of them: the recorder samples the CPU time of some."""

    worker: int
    pid: int
    batches: int
    dataset_ns_mean: int
    collate_ns_mean: int
    cpu_share: float | None
    looked_batches: int


class RecordedReport(msgspec.Struct, frozen=True):
    """What a recorder measured of the batches that the steps received; cpu_share is est. from looked_batches."""

    batches: int
    dataset_ns_mean: int | None
    collate_ns_mean: int | None
    cpu_share: float | None
    looked_batches: int
    per_worker: list[RecordedWorkerReport]


class DataLoadingReport(msgspec.Struct, frozen=True):
    """Null is "not known", and why_unknown says why; but for period, null where waits have none.

    wait_ns_mean = exposed_ns_mean + hidden_ns_mean: of all loaders, per step. The rest is of the loader that is waited
    for most, whether or not it has workers or a recorder:

    iterator: its class. workers: 0 where the main process makes the batches. period: of long waits, in batches.
    production_ns: what one process needs for one batch. consumer_ns: what the steps take without its late batches, per
    batch: a step that takes several has several times as much. needed_workers: the fewest that keep up, at least 2 in
    place of none. predicted_step_ns: the whole step with 1, 2, ... workers in this loader, all other waits as they are,
    and at least what another recorded loader's workers need for the batches that the same step takes of it.

    Of a recorded loader that a thread reads of which the trace holds nothing, no wait is known: why_unknown says so;
    needed_workers are as many as make batches as fast as that thread takes them, null where the loader sets the pace.
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
    step of the peak, null outside of all. growth_bytes_per_step: from the end of the first step to that of the last;
    null with fewer than three steps. by_category: what is alive at the peak; sums to it; null where it is not known.
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
    """unprofiled_step_ns: the median step of the same job without the profiler, and profiled_times how many times as
    long a profiled one takes; null where the recorder did not time them, or they do not differ by more than steps do.
    """

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
