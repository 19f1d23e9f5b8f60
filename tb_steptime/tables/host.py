"""Figures of the host's tables: the heads of their columns. The unit of a rate or a share is its own."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    # where work is launched
    Metric("site_bound", "Verdict", Unit.TEXT, "What limits the phase."),
    Metric(
        "site_idle_ns", "GPU idle", Unit.NS,
        "Time in which the GPU was idle until work launched from here started. Click a row to see its longest gap "
        "in the timeline.",
    ),
    # copies
    Metric("copy_rate", "Rate", Unit.BYTES_PER_SECOND, "Over the time of the copies themselves."),
    Metric("copy_hidden_ns", "Hidden", Unit.NS, "Time in which a kernel runs too."),
    Metric("copy_blocked_ns", "Blocked", Unit.NS, "Time in which the call of the copy blocks the host."),
    Metric(
        "pageable_copy", "Pageable", Unit.TEXT,
        "Pageable memory cannot be copied while the host goes on: the call stages it first.",
    ),
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
