"""The kind of job, determined once for each recording; views show it, and rules check it.

Training is known by events that only training has, and inference by the amount of forward work without any of these.

training    aten::linear  aten::linear  |AddmmBackward0|  |Optimizer.step#SGD.step|
inference   aten::linear  aten::linear  aten::linear  aten::linear  ...                 at least MANY of them
unknown     aten::linear  aten::sum                                     the backward pass may lie outside

The server that runs an inference is known by the names of its code: what a script would change is one of its options.

frame    vllm/worker/gpu_model_runner.py(1514): execute_model        vLLM
op       vllm::unified_attention_with_output                         vLLM
range    execute_context_0(0)_generation_16(16)                      vLLM
frame    /sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(740): run_batch     SGLang, which runs kernels
range    step[DECODE bs=16]                                          SGLang                of vLLM, too
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.job.execution import ExecutionId, execution_of
from tb_steptime.metrics.job.machine import DeviceKind, Ranks, Vendor, idle_gpu, ranks_of, where_it_runs
from tb_steptime.metrics.kernel_names.work_kinds import BACKWARD_KERNEL, LAYER_KERNEL
from tb_steptime.metrics.phases.assignment import optimizer_class
from tb_steptime.metrics.phases.marks import engine_nodes
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, rows_named, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Bool, Int64, Kind


class JobKind(msgspec.Struct, frozen=True):
    """What a recording shows about its job; a field is "unknown" or None where it does not show it.

    purpose         "training" if there are gradients or an optimizer; "inference" if there are many layers and neither
    execution       how the job's work is launched; "mixed" if no single way launches four fifths of it
    compiled_share, graph_share   shares of the kernel time without collectives, or of the time in ops for jobs on a
                    CPU, that run in compiled code and in graphs; the rest is eager
    device, vendor  the device on which the job computes, and the maker of its GPU; "gpu" also if the work there is not
                    recorded
    accelerator     PyTorch's name for the devices: GPU, XPU, MTIA, HPU
    ranks           whether one process or many work together
    rank, world_size   the number of this process and the number of all processes, as the file states them
    optimizer       class of the optimizer with the most recorded steps, such as "AdamW"
    server          the server that runs an inference; None for a script
    schedules_ahead  whether frames show that the server schedules the next batch while the device works
    idle_gpu        name of a GPU that the file lists although all allocations are on the CPU
    evidence        events that show the values above, a few for each
    """

    purpose: Purpose = "unknown"
    execution: ExecutionId = "unknown"
    compiled_share: float | None = None
    graph_share: float | None = None
    device: DeviceKind = "unknown"
    vendor: Vendor | None = None
    accelerator: str = "GPU"
    ranks: Ranks = "unknown"
    rank: int | None = None
    world_size: int | None = None
    evidence: tuple[JobEvidence, ...] = ()
    optimizer: str | None = None
    server: Server | None = None
    schedules_ahead: bool = False
    idle_gpu: str | None = None


@shared
def job_kind(trace: Trace) -> JobKind:
    purpose, trains = purpose_of(trace)
    execution, where = execution_of(trace), where_it_runs(trace)
    ranks, together = ranks_of(trace)
    return JobKind(
        purpose=purpose,
        execution=execution.id,
        compiled_share=execution.compiled_share,
        graph_share=execution.graph_share,
        device=where.device,
        vendor=where.vendor,
        accelerator=trace.job.accelerator,
        ranks=ranks,
        rank=trace.job.rank,
        world_size=trace.job.world_size,
        evidence=(*trains, *execution.evidence, *where.evidence, *together),
        optimizer=optimizer_class(trace),
        server=server_of(trace) if purpose != "training" else None,
        idle_gpu=idle_gpu(trace),
        schedules_ahead=purpose != "training" and schedules_ahead(trace),
    )


Purpose = Literal["training", "inference", "unknown"]

#: torch's own mark, which shows training even if the recording ends before the first gradient.
_ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: Ops of which a model consists, one call per layer.
_LAYER_OP = expression(r"aten::(addmm|mm|bmm|baddbmm|convolution|embedding|layer_norm)$")
#: Minimum number of layer calls without a gradient that shows inference: in training a forward pass is followed by its
#: backward pass within one step. The few ops of an excerpt show nothing.
MANY = 10


def purpose_of(trace: Trace) -> tuple[Purpose, list[JobEvidence]]:
    """The purpose and the evidence for it; unknown, without evidence, if there is too little."""
    trains = _training(trace)
    if trains:
        return "training", trains
    layers = _layers(trace)
    if sum(each.count for each in layers) >= MANY:
        return "inference", layers
    return "unknown", []


def _training(trace: Trace) -> list[JobEvidence]:
    nodes = engine_nodes(trace)
    autograd = [JobEvidence("autograd_nodes", len(nodes))] if len(nodes) else []
    steps = named_evidence("optimizer_steps", trace, (Kind.USER,), OPTIMIZER_STEP.match)
    if autograd or steps:
        return autograd + steps
    zeroed = named_evidence("optimizer_steps", trace, (Kind.USER,), _ZERO_GRAD.match)
    ops = named_evidence("backward_ops", trace, (Kind.CPU_OP,), lambda name: name.endswith("_backward"))
    kernels = named_evidence("backward_kernels", trace, (Kind.KERNEL,), BACKWARD_KERNEL.search)
    return zeroed or ops or kernels


def _layers(trace: Trace) -> list[JobEvidence]:
    """Evidence of layer calls: by their ops or, if more ran in graphs than were called, by their kernels."""
    ops = named_evidence("layer_ops", trace, (Kind.CPU_OP,), _LAYER_OP.match)
    kernels = named_evidence("layer_kernels", trace, (Kind.KERNEL,), LAYER_KERNEL.search)
    return max(ops, kernels, key=lambda found: sum(each.count for each in found))


Server = Literal["vllm", "sglang"]

#: Kernels of vLLM run under SGLang, too, so SGLang comes first, and kernels show neither.
_CODE: dict[Server, re.Pattern[str]] = {
    "sglang": expression(r"(?:.*/)?sglang/\S+\.py\(|sgl_kernel::|step\[[A-Z_]+ bs="),
    "vllm": expression(r"(?:.*/)?vllm/\S+\.py\(|vllm::|execute_(?:\d+_)?context_\d|gpu_model_runner: "),
}


#: Code that runs only where the next batch is scheduled while the device works: SGLang's overlap schedule, and vLLM's
#: asynchronous scheduling.
_AHEAD = expression(r"(?:.*/)?sglang/\S+\.py\(\d+\): event_loop_overlap|(?:.*/)?vllm/\S+/async_scheduler\.py\(")


def server_of(trace: Trace) -> Server | None:
    """The server whose code is in the trace; None if no name of an event shows one."""
    return next((server for server, names in _CODE.items() if _has(trace, names)), None)


def schedules_ahead(trace: Trace) -> bool:
    """Whether the server is seen to schedule the next batch while the device works. Only frames show it."""
    return _has(trace, _AHEAD)


def _has(trace: Trace, names: re.Pattern[str]) -> bool:
    kinds = (Kind.PYTHON, Kind.CPU_OP, Kind.USER)
    return len(rows_named(trace, kinds, names.match)) > 0


#: Number of products whose inputs are listed. The first products of a step show the batch size; copies of a loader in
#: the same process do not.
FIRST_INPUTS = 5
_HALF = expression(r'^\["(c10::)?(Half|BFloat16)"')
_PRODUCT = expression(r"::(conv\w*|linear|addmm|bmm|baddbmm|mm|matmul|scaled_dot_product_attention)$")


class OpInputs(msgspec.Struct, frozen=True):
    """The recorded inputs of an op, as in the trace: '[[64,3,224,224],[64,3,7,7]]', '["float","float"]'."""

    op: str
    shapes: str
    dtypes: str


class Setup(msgspec.Struct, frozen=True):
    """The environment of a job and the options of its recording.

    runtime        CUDA or ROCm with its version; None if not recorded
    with_stack, with_shapes, with_memory   options of the profiler; each of them slows the host
    first_inputs   inputs of the first products and convolutions of a step; empty if no op has recorded inputs
    half_share     share of the calls of products and convolutions whose first input has 16 bits; None if no op has
                   recorded types
    """

    runtime: str | None = None
    with_stack: bool = False
    with_shapes: bool = False
    with_memory: bool = False
    first_inputs: list[OpInputs] = []
    half_share: float | None = None


def setup_of(trace: Trace, steps: Bool) -> Setup:
    """The setup of the job; first_inputs are those of the first of these steps."""
    return Setup(
        runtime=trace.job.runtime,
        with_stack=trace.job.with_stack,
        with_shapes=trace.events.shapes is not None,
        with_memory=trace.job.with_memory,
        first_inputs=_first_inputs(trace, int(np.argmax(steps))),
        half_share=_half_share(trace),
    )


def _half_share(trace: Trace) -> float | None:
    """Share of 16-bit products. Autocast casts within an op, so inner ops have the types that are really computed
    with."""
    dtypes = trace.events.dtypes
    if dtypes is None:
        return None
    ops = trace.events.rows(Kind.CPU_OP)
    ops = ops[are_named(trace, ops, _PRODUCT.search)]
    numbers, calls = np.unique(dtypes[ops[dtypes[ops] >= 0]], return_counts=True)
    half = [bool(_HALF.match(trace.inputs[int(number)])) for number in numbers]
    return float(calls[half].sum() / calls.sum()) if len(numbers) else None


def _first_inputs(trace: Trace, step: int) -> list[OpInputs]:
    events, window = trace.events, find_steps(trace).steps[step]
    if events.shapes is None or events.dtypes is None:
        return []
    ops = events.rows(Kind.CPU_OP)
    inside = (events.start_ns[ops] >= window.host_start_ns) & (events.start_ns[ops] < window.end_ns)
    products = ops[inside & (events.shapes[ops] >= 0) & (events.dtypes[ops] >= 0)]
    products = products[are_named(trace, products, _PRODUCT.search)]
    return [_inputs_of(trace, row) for row in _outermost(trace, products)]


def _inputs_of(trace: Trace, row: int) -> OpInputs:
    events = trace.events
    assert events.shapes is not None and events.dtypes is not None
    shapes, dtypes = trace.inputs[int(events.shapes[row])], trace.inputs[int(events.dtypes[row])]
    return OpInputs(trace.name_of(row), shapes, dtypes)


def _outermost(trace: Trace, ops: Int64) -> list[int]:
    """The first outermost ones of these ops, in time order: those that begin after the previous one has ended."""
    found: list[int] = []
    over_ns = 0
    for row, start_ns in zip(ops.tolist(), trace.events.start_ns[ops].tolist(), strict=True):
        if not found or start_ns >= over_ns:
            found.append(row)
            over_ns = start_ns + int(trace.events.dur_ns[row])
        if len(found) == FIRST_INPUTS:
            break
    return found
