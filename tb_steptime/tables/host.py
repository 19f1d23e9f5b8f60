"""The tables of the host: copies, named ranges, ops on the CPU, and the heads of the others."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit

_TAB, _ROWS = Surface.TAB, Surface.ROWS

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
            "bytes_per_second", "Rate", Unit.BYTES_PER_SECOND, "Over the time of the copies themselves.",
            on=_TAB | _ROWS, figure="copy_rate",
        ),
        Column(
            "hidden_ns", "Hidden", Unit.NS, "Time in which a kernel runs too.", on=_TAB | _ROWS,
            figure="copy_hidden_ns",
        ),
        Column(
            "blocked_ns", "Blocked", Unit.NS, "Time in which the call of the copy blocks the host.", on=_TAB | _ROWS,
            figure="copy_blocked_ns",
        ),
        Column("op", "Op", Unit.TEXT, "The outermost op, or the range, that makes most of them.", on=_ROWS),
    ),
)  # fmt: skip

COLUMNS = (
    # where work is launched
    Metric("site_bound", "Verdict", Unit.TEXT, "What limits the phase."),
    Metric(
        "site_idle_ns", "GPU idle", Unit.NS,
        "Time in which the GPU was idle until work launched from here started. Click a row to see its longest gap "
        "in the timeline.",
    ),
    *COPIES.heads,
    # named ranges
    Metric("range_count", "Count", Unit.NUMBER, "How often the range begins within the steps."),
    Metric("range_host_ns", "Host", Unit.NS, "Time in which the range is open, on all threads."),
    Metric("range_self_ns", "Self", Unit.NS, "Time in which it is open without the ranges inside it, on all threads."),
    Metric("range_device_ns", "GPU works", Unit.NS, "Time in which work launched inside it runs."),
    Metric("range_idle_ns", "GPU idle", Unit.NS, "Idle time before work launched inside it."),
    # ops on the CPU
    Metric("cpu_op_self_ns", "Own time", Unit.NS, "Time in the op without the ops inside it, on all threads."),
    Metric(
        "cpu_op_share", "Share", Unit.FRACTION,
        "Own time as a share of the mean step. An op that runs on several threads at once can take more than 100 %.",
    ),
    Metric("cpu_op_dtype", "Input", Unit.TEXT, "Type of the op's first input, recorded with record_shapes=True."),
    Metric(
        "cpu_op_allocated", "Allocated", Unit.BYTES,
        "Memory that the op itself allocates on the CPU, freed or not; recorded with profile_memory=True.",
    ),
    # pauses and phases
    Metric("pause_count", "Count", Unit.COUNT, "How many pauses there are."),
    Metric("pause_total_ns", "Total", Unit.NS, "How long they are together."),
    Metric("phase_share", "Share", Unit.FRACTION, "Share of the mean step."),
    Metric("idle_by_step", "Step", Unit.TEXT, "Idle time of each step."),
    Metric(
        "idle_by_phase", "Phase", Unit.TEXT,
        "Idle time of the mean step, by the phase that launched the work that ended it.",
    ),
)  # fmt: skip
