"""Event category -> Kind, in the spelling of every era and device maker that Kineto has written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tb_steptime.text.patterns import expression
from tb_steptime.trace.table import Kind

#: No event of the program that lasts: the span of the profiler itself, one per file, and instants.
LEFT_OUT = 255

#: What is called so is an instant, though the exporter in Python of PyTorch 2.13 and 2.14 writes it with a duration.
INSTANT = "cpu_instant_event"

#: In lower case: 2021 wrote "Kernel", 2022 "kernel".
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
#: What device makers put their own word before: cuda_, hip_, gpu_, mtia_, xpu_, hpu_, privateuse1_.
_KINDS_BY_ENDING = {
    "_runtime": Kind.RUNTIME,
    "_driver": Kind.DRIVER,
    "_kernel": Kind.KERNEL,
    "_memcpy": Kind.MEMCPY,
    "_memset": Kind.MEMSET,
    "_sync": Kind.SYNC,
    "_user_annotation": Kind.GPU_USER,
}

#: MTIA has one category for all that its devices do; these of its names move memory.
_MTIA_COPY = expression(r"(?<![a-z])dma(?![a-z])|memcpy", re.IGNORECASE)

#: Intel's scope profiler writes each kernel once more, with what it measured, as a kernel of this name.
METRICS_OF_KERNEL = "metrics: "

#: Makers whose devices PyTorch calls by another name than GPU, by their own word.
_ACCELERATORS = {"mtia": "MTIA", "xpu": "XPU", "hpu": "HPU", "gcu": "GCU", "npu": "NPU", "musa": "MUSA"}

#: Host-side marks by their names: in 2021 they had the category of an op.
_MARKS = (
    "ProfilerStep#",
    "enumerate(DataLoader)#",
    "enumerate(DataPipe)#",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
)


def kind_of(category: object, name: str) -> int:
    """A Kind, or LEFT_OUT for what is no event of the program."""
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
    """What PyTorch calls the devices whose makers' words these categories have; "GPU" where they have none.

    >>> accelerator_of(["cpu_op", "xpu_runtime"])
    'XPU'
    """
    words = {str(category).strip().lower().partition("_")[0] for category in categories}
    return next((name for word, name in _ACCELERATORS.items() if word in words), "GPU")
