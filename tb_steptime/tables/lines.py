"""The table of lines of the user's code."""

from __future__ import annotations

from tb_steptime.metrics.operators.lines import CodeLine
from tb_steptime.tables.base import EVERYWHERE, Column, Surface, Table
from tb_steptime.text import Unit

_TEXT, _AGENT = Surface.TEXT, Surface.AGENT

LINES: Table[CodeLine] = Table(
    "source_lines",
    "Lines of your code, those before which a GPU is idle longest first, over all steps; what a line calls counts for "
    "the lines that are called.",
    CodeLine,
    (
        Column(
            "source", "Line", Unit.CODE,
            "File, line and function. Traces since 2022 name the line where a function begins, so its figures are of "
            "the whole function; those before name the line that ran.",
            on=EVERYWHERE & ~_TEXT, figure="line_source", names={_AGENT: "line"},
        ),
        Column("calls", "Calls", Unit.COUNT, "How often the function is called.", figure="line_calls"),
        Column(
            "idle_ns", "GPU idle before", Unit.NS,
            "How long a GPU had nothing to do until a kernel, copy or memory set that the line launches began. Waits "
            "for batches, and what is not judged, are left out.",
            figure="line_idle", short="GPU idle", names={_TEXT: "GPU idle"},
        ),
        Column(
            "device_ns", "Device", Unit.NS,
            "Lengths of the kernels, copies and memory sets that the line launches; of the backward pass those for "
            "what the line computed, where the trace tells that.",
            figure="line_device", short="GPU", names={_AGENT: "gpu_ms"},
        ),
        Column(
            "launches", "Launches", Unit.COUNT, "Kernels, copies and memory sets that it launches.",
            figure="line_launches",
        ),
        Column(
            "host_self_ns", "Host, self", Unit.NS,
            "Time of the thread that trains in this line, without other lines of your code that it calls; torch and "
            "Python below it count. All lines, and what no line is around, sum to the steps.",
            figure="line_host_self", short="Host self", names={_TEXT: "host self"},
        ),
        Column(
            "host_total_ns", "Host, total", Unit.NS, "The same with all that it calls.",
            figure="line_host_total", short="Host total", names={_TEXT: "host total"},
        ),
        Column(
            "allocated_bytes", "Allocated", Unit.BYTES,
            "Memory that the line allocates on the GPU, freed or not; on the CPU where no GPU's memory was recorded.",
            figure="line_allocated",
        ),
    ),
)  # fmt: skip
