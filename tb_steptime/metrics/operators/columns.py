"""Figures of the tables of ops and modules: the heads of their columns."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.text import Unit

COLUMNS = (
    Metric(
        "op_calls", "Calls", Unit.COUNT,
        "How often the op runs. An op whose only op inside has the same name is one call: one overload calls another.",
    ),
    Metric(
        "op_host_total", "Host, total", Unit.NS, "Time in the op on the CPU, with the ops inside it.",
        short="Host total",
    ),
    Metric(
        "op_host_self", "Host, self", Unit.NS,
        "Time in the op on the CPU without the ops and runtime calls inside it, as in key_averages() and in the "
        "PyTorch Profiler tab.", short="Host self",
    ),
    Metric(
        "op_runtime", "Runtime calls", Unit.NS,
        "Time in calls of the CUDA or HIP runtime that the op makes itself: launches, copies, waits.",
    ),
    Metric(
        "op_device_total", "Device, total", Unit.NS,
        "Lengths of the kernels, copies and memory sets that the op, and the ops inside it, launch.",
        short="GPU total",
    ),
    Metric(
        "op_device_self", "Device, self", Unit.NS,
        "The same without the ops inside it. The rows, and what no op launched, sum to all work of the GPUs.",
        short="GPU self",
    ),
    Metric("op_launches", "Launches", Unit.COUNT, "Kernels, copies and memory sets that it launches in all."),
    Metric(
        "op_idle", "GPU idle before", Unit.NS,
        "How long a GPU had nothing to do until a kernel, copy or memory set that is launched here began: where a wait "
        "ends, which is not always what causes it. Waits for batches, and what is not judged, are left out.",
        short="GPU idle",
    ),
    Metric(
        "op_tensor_share", "Tensor cores", Unit.FRACTION,
        "Share of its kernel time on tensor cores (AMD: matrix cores). A range, where some kernels do not tell.",
    ),
    Metric(
        "op_allocated", "Allocated, total", Unit.BYTES,
        "Memory that the op, and the ops inside it, allocate on the GPU, freed or not; on the CPU where no GPU's "
        "memory was recorded.", short="Allocated",
    ),
    Metric(
        "op_allocated_self", "Allocated, self", Unit.BYTES, "The same without the ops inside it.",
        short="Allocated self",
    ),
    Metric(
        "module_allocated", "Allocated, total", Unit.BYTES,
        "Memory that the module, and the modules inside it, allocate on the GPU in the forward pass, freed or not; on "
        "the CPU where no GPU's memory was recorded.", short="Allocated",
    ),
    Metric(
        "module_allocated_self", "Allocated, self", Unit.BYTES, "The same without the modules inside it.",
        short="Allocated self",
    ),
    Metric(
        "module_backward_allocated", "Backward, allocated", Unit.BYTES,
        "Memory that the nodes of the backward pass which ops of the module made allocate, freed or not: gradients and "
        "what is computed on the way. The outermost modules, forward and backward, and what is allocated outside any "
        "module sum to all recorded allocations of the steps.", short="Allocated backward",
    ),
    Metric("module_occurrences", "Calls", Unit.COUNT, "How often modules of this row are called."),
    Metric(
        "module_python", "Python", Unit.NS, "Time of the module's own on the CPU in which no op runs: Python code.",
    ),
    Metric(
        "module_backward_host", "Backward, host", Unit.NS,
        "Time of the nodes of the backward pass that ops of the module made, on the CPU.", short="Host backward",
    ),
    Metric(
        "module_backward_device", "Backward, device", Unit.NS,
        "Lengths of the kernels, copies and memory sets that these nodes launch.", short="GPU backward",
    ),
    Metric(
        "module_share", "Of the step", Unit.FRACTION,
        "Device time of forward and backward as a share of the steps; without a GPU, time on the CPU. GPU work that "
        "runs at the same time counts twice.",
    ),
    Metric(
        "module_each", "Each", Unit.NS,
        "Mean of a call of the forward pass: on the GPU, or on the CPU where it launches nothing.",
    ),
    Metric("module_slowest", "Slowest", Unit.NS, "The same of the slowest of the modules that are folded here."),
)  # fmt: skip
