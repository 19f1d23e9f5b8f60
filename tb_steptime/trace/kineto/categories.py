"""Event category -> Kind, in every spelling that Kineto has written, of all years and device makers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tb_steptime.text.patterns import expression
from tb_steptime.trace.table import Kind

#: Kind number of rows that are not events of the program with a duration: the one span of the profiler itself per file,
#: and instants.
LEFT_OUT = 255

#: Category of instants, although the Python exporter of PyTorch 2.13 and 2.14 writes them with a duration.
INSTANT = "cpu_instant_event"

#: Categories in lower case: 2021 wrote "Kernel", 2022 "kernel".
_KINDS = {
    "cpu_op": Kind.CPU_OP,
    "operator": Kind.CPU_OP,
    "user_annotation": Kind.USER,
    "python_function": Kind.PYTHON,
    "runtime": Kind.RUNTIME,
    "cuda_runtime": Kind.RUNTIME,
    "driver": Kind.DRIVER,
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "mtia_ccp_events": Kind.KERNEL,
    "memcpy": Kind.MEMCPY,
    "memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.GPU_USER,
    "cuda_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
    "graph_event_node": Kind.MARK,
    "graph_host_node": Kind.MARK,
    "trace": LEFT_OUT,
    INSTANT: LEFT_OUT,
}
#: Endings of categories that each device maker prefixes with its own word: cuda_, hip_, gpu_, mtia_, xpu_, hpu_,
#: privateuse1_.
_KINDS_BY_ENDING = {
    "_runtime": Kind.RUNTIME,
    "_driver": Kind.DRIVER,
    "_kernel": Kind.KERNEL,
    "_memcpy": Kind.MEMCPY,
    "_memset": Kind.MEMSET,
    "_sync": Kind.SYNC,
    "_user_annotation": Kind.GPU_USER,
}

#: MTIA has one category for all device activities; those whose names match this move memory.
_MTIA_COPY = expression(r"(?<![a-z])dma(?![a-z])|memcpy", re.IGNORECASE)

#: Prefix of a kernel's name under which Intel's scope profiler repeats the kernel with its measured metrics.
METRICS_OF_KERNEL = "metrics: "

#: Device makers' words whose devices PyTorch does not call GPUs, and PyTorch's name for them.
_ACCELERATORS = {"mtia": "MTIA", "xpu": "XPU", "hpu": "HPU", "gcu": "GCU", "npu": "NPU", "musa": "MUSA"}

#: Host-side marks, recognised by name: in 2021 they had the category of an op.
_MARKS = (
    "ProfilerStep#",
    "enumerate(DataLoader)#",
    "enumerate(DataPipe)#",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
)


def kind_of(category: object, name: str) -> int:
    """The Kind of an event, or LEFT_OUT if it is not an event of the program."""
    word = str(category).strip().lower()
    kind = _KINDS.get(word)
    if kind is None:
        kind = next((kind for ending, kind in _KINDS_BY_ENDING.items() if word.endswith(ending)), Kind.OTHER)
    if kind == Kind.CPU_OP and name.startswith(_MARKS):
        return Kind.USER
    if kind == Kind.KERNEL and name.startswith(METRICS_OF_KERNEL):
        return Kind.MARK
    return Kind.MEMCPY if word == "mtia_ccp_events" and _MTIA_COPY.search(name) else kind


def accelerator_of(categories: Iterable[object]) -> str:
    """PyTorch's name for the devices whose makers' words occur in these categories; "GPU" if none occurs.

    >>> accelerator_of(["cpu_op", "xpu_runtime"])
    'XPU'
    """
    words = {str(category).strip().lower().partition("_")[0] for category in categories}
    return next((name for word, name in _ACCELERATORS.items() if word in words), "GPU")
