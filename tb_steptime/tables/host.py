"""The tables of the host: copies, named ranges, ops on the CPU, calls that wait for a GPU; heads of other tables."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.host.annotations import RangeRow
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.host.cpu_ops import CpuOpRow
from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.metrics.idle.host_stalls import Pause
from tb_steptime.metrics.steps.host_pace import SiteRow
from tb_steptime.tables.base import Column, Surface, Table, head
from tb_steptime.text import Unit

_TAB, _ROWS, _AGENT = Surface.TAB, Surface.ROWS, Surface.AGENT

COPIES: Table[CopyRow] = Table(
    "copies",
    "One row for each way of copies between host and GPU, per step.",
    CopyRow,
    (
        Column("direction", "Direction", Unit.TEXT, "From where to where, as the trace says it: HtoD.", on=_ROWS),
        Column("source", "From", Unit.TEXT, "Kind of memory: Pageable, Pinned or Device.", on=_ROWS),
        Column("target", "To", Unit.TEXT, "Kind of memory likewise.", on=_ROWS),
        Column(
            "pageable", "Pageable", Unit.TEXT,
            "Pageable memory cannot be copied while the host goes on: the call stages it first.", on=_TAB | _ROWS,
            figure="pageable_copy",
        ),
        Column("count", "Copies", Unit.NUMBER, "Copies in a step.", on=_ROWS),
        Column("total_ns", "Total", Unit.NS, "Time of the copies.", on=_ROWS),
        Column("bytes", "Bytes", Unit.BYTES, "Bytes in a step.", on=_ROWS),
        Column(
            "bytes_per_second", "Rate", Unit.BYTES_PER_SECOND,
            "Bytes / time of the copies themselves.", on=_TAB | _ROWS, figure="copy_rate",
        ),
        Column(
            "hidden_ns", "Hidden", Unit.NS,
            "Time of the copies in which a kernel of the same GPU runs as well.",
            on=_TAB | _ROWS, figure="copy_hidden_ns",
        ),
        Column(
            "blocked_ns", "Blocked", Unit.NS,
            "Time in which the copies, and synchronizes that wait for them, block the host.",
            on=_TAB | _ROWS, figure="copy_blocked_ns",
        ),
        Column("op", "Op", Unit.TEXT, "The outermost op, or the range, that makes most of them.", on=_ROWS),
    ),
)  # fmt: skip

SITES: Table[SiteRow] = Table(
    "launch sites",
    "From where work is launched, per step.",
    SiteRow,
    (
        head("bound", "Verdict", Unit.TEXT, "What limits the phase.", "site_bound"),
        head(
            "idle", "GPU idle", Unit.NS,
            "Time in which the GPU was idle until work launched from here started. Click a row to see its longest gap "
            "in the timeline.", "site_idle_ns",
        ),
    ),
)  # fmt: skip

RANGES: Table[RangeRow] = Table(
    "ranges",
    "Named ranges of the host, per step.",
    RangeRow,
    (
        head("count", "Count", Unit.NUMBER, "How often the range begins within the steps.", "range_count"),
        head("host_ns", "Host", Unit.NS, "Time in which the range is open, on all threads.", "range_host_ns"),
        head(
            "self_ns", "Self", Unit.NS,
            "Time in which it is open without the ranges inside it, on all threads.", "range_self_ns",
        ),
        head("device_ns", "GPU works", Unit.NS, "Time in which work launched inside it runs.", "range_device_ns"),
        head("idle_ns", "GPU idle", Unit.NS, "Idle time before work launched inside it.", "range_idle_ns"),
    ),
)  # fmt: skip

CPU_OPS: Table[CpuOpRow] = Table(
    "ops on the CPU",
    "Ops on the CPU with most time of their own, per step.",
    CpuOpRow,
    (
        head(
            "self_ns", "Own time", Unit.NS,
            "Time in the op without the ops inside it and without one-time work, on all threads.", "cpu_op_self_ns",
        ),
        head(
            "share", "Share", Unit.FRACTION,
            "Own time as a share of the mean step without one-time work. An op that runs on several threads at once "
            "can take more than 100 %.", "cpu_op_share",
        ),
        head(
            "dtype", "Input", Unit.TEXT,
            "Type of the op's first input, recorded with record_shapes=True.", "cpu_op_dtype",
        ),
        head(
            "allocated_bytes", "Allocated", Unit.BYTES,
            "Memory that the op itself allocates on the CPU, freed or not; recorded with profile_memory=True.",
            "cpu_op_allocated",
        ),
    ),
)  # fmt: skip

PAUSES: Table[Pause] = Table(
    "pauses",
    "Pauses of the host with one cause.",
    Pause,
    (
        head("count", "Count", Unit.COUNT, "How many pauses there are.", "pause_count"),
        head("total_ns", "Total", Unit.NS, "How long they are together.", "pause_total_ns"),
    ),
)  # fmt: skip

BLOCKING: Table[BlockingRow] = Table(
    "blocking calls",
    "Calls that are alike, per step, those that cost most first.",
    BlockingRow,
    (
        Column("call", "Call", Unit.TEXT, "The call of the runtime.", on=_ROWS | _AGENT),
        Column("op", "Op", Unit.TEXT, "The innermost op around it.", on=_ROWS | _AGENT),
        Column(
            "source", "Made by", Unit.TEXT,
            "The source line or module that makes the call. In the backward pass: that of the forward op to which the "
            "call belongs.", figure="blocking_source",
        ),
        Column("phase", "Phase", Unit.TEXT, "The phase of the step that makes it.", on=_ROWS | _AGENT),
        Column("count", "Calls", Unit.NUMBER, "Calls in a step.", on=_ROWS | _AGENT, names={_AGENT: "calls"}),
        Column("blocked_ns", "Blocked", Unit.NS, "Time in which the call blocks the host."),
        Column(
            "bubble_ns", "GPU idle", Unit.NS,
            "Time in which the GPU is idle because of the call: from when it has no work left to the start of the "
            "next work that is launched after the call.",
        ),
    ),
)  # fmt: skip

COLUMNS: tuple[Metric, ...] = (
    *BLOCKING.heads,
    *SITES.heads,
    *COPIES.heads,
    *RANGES.heads,
    *CPU_OPS.heads,
    *PAUSES.heads,
    Metric("phase_share", "Share", Unit.FRACTION, "Share of the mean step."),
    Metric("idle_by_step", "Step", Unit.TEXT, "Idle time of each step."),
    Metric(
        "idle_by_phase", "Phase", Unit.TEXT,
        "Idle time of the mean step, by the phase that launched the work that ended it.",
    ),
)  # fmt: skip
