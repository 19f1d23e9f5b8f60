"""The table of PyTorch ops."""

from __future__ import annotations

from tb_steptime.metrics.operators.table import OperatorRow
from tb_steptime.tables.base import EVERYWHERE, Column, Surface, Table
from tb_steptime.text import Unit

_TAB, _TEXT, _EXPORT, _AGENT = Surface.TAB, Surface.TEXT, Surface.EXPORT, Surface.AGENT

OPERATORS: Table[OperatorRow] = Table(
    "operators",
    "PyTorch ops by name, those with most time, over all steps; the others are one row without a name.",
    OperatorRow,
    (
        Column(
            "name", "Op", Unit.TEXT, "The op; empty: all others.", on=_EXPORT | _AGENT, names={_AGENT: "op"}
        ),
        Column("key", "By", Unit.TEXT, "What ops are grouped by beside their name.", on=_AGENT),
        Column(
            "calls", "Calls", Unit.COUNT,
            "How often the op runs. An op whose only op inside has the same name is one call: one overload calls "
            "another.", figure="op_calls",
        ),
        Column(
            "host_self_ns", "Host, self", Unit.NS,
            "Time in the op on the CPU without the ops and runtime calls inside it, as in key_averages() and in the "
            "PyTorch Profiler tab.", figure="op_host_self", short="Host self", names={_TEXT: "host self"},
        ),
        Column(
            "host_total_ns", "Host, total", Unit.NS, "Time in the op on the CPU, with the ops inside it.",
            figure="op_host_total", short="Host total", names={_TEXT: "host total"},
        ),
        Column(
            "runtime_ns", "Runtime calls", Unit.NS,
            "Time in calls of the CUDA or HIP runtime that the op makes itself: launches, copies, waits.",
            on=EVERYWHERE & ~_AGENT, figure="op_runtime", names={_TEXT: "runtime"},
        ),
        Column(
            "device_self_ns", "Device, self", Unit.NS,
            "The same without the ops inside it. The rows, and what no op launched, sum to all work of the GPUs.",
            figure="op_device_self", short="GPU self", names={_TEXT: "device self", _AGENT: "gpu_self_ms"},
        ),
        Column(
            "device_total_ns", "Device, total", Unit.NS,
            "Lengths of the kernels, copies and memory sets that the op, and the ops inside it, launch.",
            figure="op_device_total", short="GPU total", names={_TEXT: "device total", _AGENT: "gpu_total_ms"},
        ),
        Column(
            "launches", "Launches", Unit.COUNT, "Kernels, copies and memory sets that it launches in all.",
            figure="op_launches",
        ),
        Column(
            "idle_ns", "GPU idle before", Unit.NS,
            "How long a GPU had nothing to do until a kernel, copy or memory set that is launched here began: where a "
            "wait ends, which is not always what causes it. Waits for batches, and what is not judged, are left out.",
            figure="op_idle", short="GPU idle", names={_TEXT: "GPU idle"},
        ),
        Column(
            "tensor_share", "Tensor cores", Unit.FRACTION,
            "Share of its kernel time on tensor cores (AMD: matrix cores). A range, where some kernels do not tell.",
            on=_TAB, figure="op_tensor_share",
        ),
        Column(
            "allocated_bytes", "Allocated, total", Unit.BYTES,
            "Memory that the op, and the ops inside it, allocate on the GPU, freed or not; on the CPU where no GPU's "
            "memory was recorded.", figure="op_allocated", short="Allocated",
            names={_TEXT: "allocated", _AGENT: "allocated_total_mb"},
        ),
        Column(
            "allocated_self_bytes", "Allocated, self", Unit.BYTES, "The same without the ops inside it.",
            figure="op_allocated_self", short="Allocated self", on=EVERYWHERE & ~_TEXT,
        ),
    ),
)  # fmt: skip
