"""Event category -> Kind, in every spelling that Kineto has written, of all years and device makers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tb_steptime.text.patterns import expression
from tb_steptime.trace.table import Kind

#: Kind number of rows that are not events of the program with a duration: the one span of the profiler itself per file,
#: and instants.
LEFT_OUT = 255

#: Category of the row "PyTorch Profiler (0)", the one span of the profiler itself in each export: `handleTraceSpan` in
#: Kineto's output_json.cpp.
_WINDOW = "trace"

#: Category of instants, although the Python exporter of PyTorch 2.13 and 2.14 writes them with a duration.
INSTANT = "cpu_instant_event"

#: MTIA has one category for all device activities; those whose names match this move memory. Cambricon's PrivateUse1
#: gives it to waits of a queue for an event.
_MTIA = "mtia_ccp_events"
_MTIA_KINDS = (
    (expression(r"(?<![a-z])dma(?![a-z])|memcpy", re.IGNORECASE), Kind.MEMCPY),
    (expression(r"notifier", re.IGNORECASE), Kind.SYNC),
)

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
    _MTIA: Kind.KERNEL,
    "memcpy": Kind.MEMCPY,
    "memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.GPU_USER,
    "cuda_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
    "graph_event_node": Kind.MARK,
    "graph_host_node": Kind.MARK,
    _WINDOW: LEFT_OUT,
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
    "_notifier": Kind.SYNC,  # Cambricon's event on a queue
    "_user_annotation": Kind.GPU_USER,
}

#: Prefix of a kernel's name under which Intel's scope profiler repeats the kernel with its measured metrics.
METRICS_OF_KERNEL = "metrics: "

#: Device makers' words whose devices PyTorch does not call GPUs, and PyTorch's name for them.
_ACCELERATORS = {"mtia": "MTIA", "xpu": "XPU", "hpu": "HPU", "gcu": "GCU", "npu": "NPU", "musa": "MUSA", "mlu": "MLU"}

#: The process of ops in exports of the autograd profiler: EventList.export_chrome_trace in PyTorch's
#: autograd/profiler_util.py, and the older writer in C++. They give no event a category.
_OPS_PROCESS = "cpu functions"
#: Categories of names in that process that are no ops. What ran on the device is there too, on no stream.
_BY_NAME = {
    "runtime": expression(r"(?:cuda|cu|hip)[A-Z]\w+$"),
    "python_function": expression(r"<built-in |nn\.Module: |.+\.py\(\d+\): "),
    "": expression(r"void |Mem(?:cpy|set) |[\w:]+<.*\)$"),
}
#: What these exports write for each kernel of an op, with the maker's word; PyTorch 2 leaves out the kernels.
_ARROW = re.compile(rb'"cat": *"(cpu_to_\w+)"')

#: Categories in profiles of ONNX Runtime, which gives kernels the category that PyTorch gave them in 2021: "Kernel".
_OF_ONNX_RUNTIME = {"Session", "Node"}

#: Host-side marks, recognised by name: in 2021 they had the category of an op.
_MARKS = ("ProfilerStep#", "enumerate(DataLoader)#", "enumerate(DataPipe)#", "Optimizer.step#", "Optimizer.zero_grad#")


def kind_of(category: object, name: str) -> int:
    """Returns the Kind of an event, or LEFT_OUT if it is not an event of the program."""
    word = str(category).strip().lower()
    kind = _KINDS.get(word)
    if kind is None:
        kind = next((kind for ending, kind in _KINDS_BY_ENDING.items() if word.endswith(ending)), Kind.OTHER)
    if kind == Kind.CPU_OP and name.startswith(_MARKS):
        return Kind.USER
    if kind == Kind.KERNEL and name.startswith(METRICS_OF_KERNEL):
        return Kind.MARK
    return kind if word != _MTIA else next((found for names, found in _MTIA_KINDS if names.search(name)), kind)


def is_window(category: object) -> bool:
    """Returns whether the row says from when to when the profiler recorded: Kineto writes one for each export."""
    return str(category).strip().lower() == _WINDOW


def category_of(category: object, name: str, process: object) -> object:
    """Returns the category of an event, also in exports of the autograd profiler, which write none.

    >>> category_of(None, "aten::mm", "CPU functions"), category_of(None, "aten::mm", 7)
    ('cpu_op', None)
    """
    if category is not None or not isinstance(process, str) or process.lower() != _OPS_PROCESS:
        return category
    return next((found_category for found_category, names in _BY_NAME.items() if names.match(name)), "cpu_op") or None


def are_foreign(kinds: Iterable[int], categories: Iterable[object]) -> bool:
    """Returns whether no event with these kinds and categories comes from torch.profiler.

    >>> are_foreign([Kind.KERNEL, Kind.OTHER], ["Session", "Node", "Kernel"]), are_foreign([Kind.KERNEL], ["Kernel"])
    (True, False)
    """
    known = set(kinds) - {Kind.OTHER, LEFT_OUT}
    return not known or (known == {Kind.KERNEL} and set(categories) >= _OF_ONNX_RUNTIME)


def arrows_to_devices(text: bytes) -> set[str]:
    """Returns the categories of the arrows from ops to their kernels, in text of an export of the autograd profiler."""
    return {category.decode() for category in _ARROW.findall(text)}


def leaves_kernels_out(categories: Iterable[object]) -> bool:
    """Returns whether arrows lead from ops to kernels. An export of the autograd profiler has no rows for these
    kernels."""
    return any(str(category).startswith("cpu_to_") for category in categories)


def accelerator_of(categories: Iterable[object]) -> str:
    """Returns PyTorch's name for the devices whose makers' words occur in these categories. The name is "GPU" if none
    occurs, or only that of MTIA beside PrivateUse1, the backend of makers without a word of their own.

    >>> accelerator_of(["cpu_op", "xpu_runtime"])
    'XPU'
    """
    makers = {str(category).strip().lower().removeprefix("cpu_to_").partition("_")[0] for category in categories}
    makers -= {"mtia"} if "privateuse1" in makers else set()
    return next((name for word, name in _ACCELERATORS.items() if word in makers), "GPU")
