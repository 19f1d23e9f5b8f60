"""The kind of job, determined once for each recording; views show it, and rules check it.

Training is recognised by events that only training has, and inference by the amount of forward work without any of
these.

training    aten::linear  aten::linear  |AddmmBackward0|  |Optimizer.step#SGD.step|
inference   aten::linear  aten::linear  aten::linear  aten::linear  ...                 at least MANY of them
unknown     aten::linear  aten::sum                                     the backward pass may lie outside

The server that runs an inference is recognised by the names of its code. What a script would change is one of its
options.

frame    vllm/worker/gpu_model_runner.py(1514): execute_model        vLLM
op       vllm::unified_attention_with_output                         vLLM
range    execute_context_0(0)_generation_16(16)                      vLLM
frame    /sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(740): run_batch     SGLang, which runs kernels
range    step[DECODE bs=16]                                          SGLang                of vLLM, too
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names, devices_with_activity, has_device_activity
from tb_steptime.metrics.kernel_names.work_kinds import (
    BACKWARD_KERNEL,
    COMPILED_KERNEL,
    LAYER_KERNEL,
    LAYER_OP,
    is_collective,
    is_collective_call,
)
from tb_steptime.metrics.phases.assignment import optimizer_class, site_of
from tb_steptime.metrics.phases.gradients import differentiates_gradients, transformed_gradients
from tb_steptime.metrics.phases.left_as_is import NOT_TAKEN as NOT_TAKEN
from tb_steptime.metrics.phases.left_as_is import LeftAsIs, left_as_is
from tb_steptime.metrics.phases.no_grad import NoGrad, without_gradients
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.metrics.phases.threads import engine_nodes
from tb_steptime.text.patterns import expression
from tb_steptime.trace.compute_capability import Vendor as Vendor
from tb_steptime.trace.compute_capability import has_triton, vendor_of
from tb_steptime.trace.host_ranges import compiling
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.kernel_labels import annotated
from tb_steptime.trace.model import Trace, find_launches, named_in, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import GRAPH_CALL, graph_calls, graph_kernels
from tb_steptime.trace.quality import ASKS, accelerator, may_hide_device, unseen_device
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Int64, Kind, distinct_in, is_in


class JobEvidence(msgspec.Struct, frozen=True):
    """Events that indicate the kind of job. count: number of such events. name: that of the first one, "" if names are
    irrelevant."""

    code: str
    count: int
    name: str = ""


def named_evidence(
    code: str, trace: Trace, kinds: Sequence[Kind], matches: Callable[[str], object]
) -> list[JobEvidence]:
    """Returns evidence from the names of events of these kinds; none if no name matches."""
    rows = rows_named(trace, kinds, matches)
    return [JobEvidence(code, len(rows), trace.name_of(rows[0]))] if len(rows) else []


# Device activities show GPU or CPU, runtime calls the GPU's vendor, and collectives one rank or many.

DeviceKind = Literal["gpu", "cpu", "unknown"]
Ranks = Literal["one", "many", "unknown"]

#: Ops and marks that run only on a GPU. If the trace has them but no GPU activities, these were not recorded. torch
#: also calls `cudnn_is_acceptable` for tensors on the CPU.
_GPU_OP = expression(
    r"[emnr]ccl:|aten::(_?cudnn_(?!is_acceptable)|miopen_|_flash_attention_forward|_efficient_attention|_fused_(adam|adamw|sgd)_?cuda)"
)
#: Ops that run only on a CPU.
_CPU_OP = expression(r"aten::(_?mkldnn_|mkl_|_scaled_dot_product_flash_attention_for_cpu)|mkldnn::|mkl::")


class ComputeDevice(msgspec.Struct, frozen=True):
    """The device on which the job computes, and the vendor of its GPU, which is None if there is no GPU or the vendor
    is unknown."""

    device: DeviceKind
    vendor: Vendor | None
    evidence: list[JobEvidence]


def where_it_runs(trace: Trace) -> ComputeDevice:
    """Returns the device on which the job computes. It is the GPU if one worked or was called to work. It is the CPU if
    no GPU is listed, if only calls were recorded that query a GPU, or if ops show it. Otherwise it is unknown."""
    evidence = _gpu_evidence(trace)
    if evidence:
        return ComputeDevice("gpu", _vendor(trace), evidence)
    on_cpu = named_evidence("cpu_ops", trace, (Kind.CPU_OP,), _CPU_OP.match) or _cpu_memory(trace)
    # PyTorch 1.8 and older ROCm list no properties of GPUs, but label their rows.
    launches_nothing = not (trace.devices or trace.job.labels_gpus) or len(trace.events.rows(*CALL_KINDS)) > 0
    if on_cpu or (launches_nothing and len(trace.events.rows(Kind.CPU_OP)) and not may_hide_device(trace)):
        return ComputeDevice("cpu", None, on_cpu)
    return ComputeDevice("unknown", None, [])


def idle_gpu(trace: Trace) -> str | None:
    """Returns the name of the first GPU that the file lists although the job computes on the CPU, as all of its
    allocations show. It is None if allocations do not show that, because a file also lists a GPU whose work was not
    recorded."""
    if where_it_runs(trace).device != "cpu" or not _cpu_memory(trace):
        return None
    return next((device.name for device in trace.devices.values() if device.name), None)


def _cpu_memory(trace: Trace) -> list[JobEvidence]:
    """Returns the allocations of the CPU as evidence, if memory was recorded and no other device has any."""
    allocations = int((trace.memory.bytes > 0).sum())
    return [JobEvidence("cpu_memory", allocations)] if allocations and not trace.memory.device_type.any() else []


def _gpu_evidence(trace: Trace) -> list[JobEvidence]:
    if has_device_activity(trace):
        return [JobEvidence("device_activities", len(trace.events.rows(*DEVICE_KINDS)))]
    calls = named_evidence("runtime_calls", trace, CALL_KINDS, lambda name: not ASKS.match(name))
    ops = named_evidence("gpu_ops", trace, (Kind.CPU_OP, Kind.USER), _GPU_OP.match)
    unseen = None if calls or ops else unseen_device(trace)
    return calls or ops or ([JobEvidence("unseen_device", unseen.count, unseen.name)] if unseen else [])


def _vendor(trace: Trace) -> Vendor | None:
    """Returns the vendor, according to the name of the first GPU, or else to the calls of its runtime."""
    name = next((device.name for device in trace.devices.values() if device.name), "")
    calls = named_evidence("runtime_calls", trace, CALL_KINDS, lambda name: True)
    call = calls[0].name if calls else ""
    if name:
        return vendor_of(name)
    return "amd" if call.startswith("hip") else "nvidia" if call.startswith("cu") else None


#: Functions of torch.nn.DataParallel, which copies a model to all GPUs of its process with NCCL's kernels.
_REPLICATES = expression(r"(Broadcast(Backward)?|ReduceAddCoalesced)$")


def _by_one_thread(trace: Trace) -> list[JobEvidence]:
    """Returns broadcasts on several devices that one thread launches, by which `nn.DataParallel` copies a model without
    gradients and without any recorded function of autograd. A rank has one device, and in a file of several ranks each
    has threads of its own."""
    rows = rows_named(trace, (Kind.KERNEL,), lambda name: is_collective(name) and "Broadcast" in name)
    call = find_launches(trace).calls_of(rows)
    rows, thread = rows[call >= 0], trace.events.thread[call[call >= 0]]
    devices = (trace.events.device[rows[thread == number]] for number in distinct_in(thread).tolist())
    several = any(len(distinct_in(device)) > 1 for device in devices)
    return [JobEvidence("one_thread", len(rows), trace.name_of(rows[0]))] if several else []


def ranks_of(trace: Trace) -> tuple[Ranks, list[JobEvidence]]:
    """Returns whether the job has one rank or many, and the evidence. The file's number of ranks decides. Without it,
    there are many if collectives run, except those of `nn.DataParallel`, and one if none does; a rank with a number
    belongs to many."""
    job = trace.job
    if job.world_size is not None:
        return ("many" if job.world_size > 1 else "one"), [JobEvidence("world_size", job.world_size)]
    kernels = named_evidence("collectives", trace, (Kind.KERNEL,), is_collective)
    calls = named_evidence("collectives", trace, (Kind.CPU_OP, Kind.USER), is_collective_call)
    if kernels and not calls and job.rank is None:
        replicas = named_evidence("replicas", trace, (Kind.CPU_OP,), _REPLICATES.match) or _by_one_thread(trace)
        if replicas:
            return "one", replicas
    others = [*kernels, *calls]
    if others or job.rank:
        return "many", others[:1]
    return ("one" if job.rank is None else "unknown"), []


# The launches of kernels show whether a job is eager, compiled or in graphs; without kernels, the places of CPU ops do.
#
# thread   |Torch-Compiled Region: 0/0|  aten::add   aten::mul   |cudaGraphLaunch|
# kernels          cc                       ee          ee           gggggggg

ExecutionId = Literal["eager", "compiled", "graphs", "mixed", "unknown"]

#: A way of launching with at least this share of the work is the job's. Otherwise the job is mixed.
LEADING_SHARE = 0.80

#: Minimum share of kernel time whose launch is known. With less, nothing is concluded about the rest.
KNOWN_SHARE = 0.50

#: If graphs have no recorded kernels, at least this many launches show that the job runs in graphs.
FEWEST_GRAPHS = 3

#: Ranges that torch.compile writes around its code, on the host.
_COMPILED_RANGE = expression(r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction(Backward)?$")


class Execution(msgspec.Struct, frozen=True):
    """How the work is launched. The shares are those of kernel time without collectives, or of CPU time in ops if there
    are no kernels; None if nothing ran. The rest up to 1 is eager."""

    id: ExecutionId
    compiled_share: float | None
    graph_share: float | None
    evidence: list[JobEvidence]


@shared
def compiled_ranges(trace: Trace) -> Int64:
    """Returns the rows of the host's ranges and ops in which compiled code runs, in time order."""
    return rows_named(trace, (Kind.CPU_OP, Kind.USER), _COMPILED_RANGE.match)


def execution_of(trace: Trace) -> Execution:
    """Returns the way in which most work is launched; unknown if nothing ran. If the kernels of graphs were not
    recorded, it is graphs, without shares."""
    if len(graphs_without_kernels(trace)) >= FEWEST_GRAPHS:
        return Execution("graphs", None, None, _evidence(trace))
    shares = _shares_of_kernels(trace) if len(trace.kernels) else _shares_of_ops(trace)
    if shares is None:
        return Execution("unknown", None, None, [])
    compiled, graphs = shares
    by_share: dict[ExecutionId, float] = {"compiled": compiled, "graphs": graphs, "eager": 1 - compiled - graphs}
    leading = max(by_share, key=lambda each: by_share[each])
    return Execution(leading if by_share[leading] >= LEADING_SHARE else "mixed", compiled, graphs, _evidence(trace))


def graphs_without_kernels(trace: Trace) -> Int64:
    """Returns the rows of graph launches if no kernel of any graph is in the trace; otherwise none."""
    calls = graph_calls(trace)
    return calls[:0] if is_in(find_launches(trace).call, calls).any() else calls


def _evidence(trace: Trace) -> list[JobEvidence]:
    host = (Kind.CPU_OP, Kind.USER)
    return [
        *named_evidence("graph_launches", trace, CALL_KINDS, GRAPH_CALL.search),
        *named_evidence("compiled_regions", trace, host, _COMPILED_RANGE.match),
        *named_evidence("compiled_kernels", trace, (Kind.KERNEL,), COMPILED_KERNEL.match),
    ]


def _shares_of_kernels(trace: Trace) -> tuple[float, float] | None:
    """Returns the shares of compiled code and of graphs in the time of computing kernels with known launches; None if
    these have less than half of the time of computing kernels. Without launches, only the few kernels with inductor's
    names would count."""
    events, rows = trace.events, trace.kernels.event
    by_name = named_in(trace, rows, COMPILED_KERNEL.match)
    call = find_launches(trace).calls_of(rows)
    graph = is_in(call, graph_calls(trace))
    compiled = ~graph & (by_name[events.name[rows]] | (innermost(trace, compiled_ranges(trace), call) >= 0))
    computes = ~collective_names(trace)[events.name[rows]]
    length = np.where(((call >= 0) | compiled) & computes, events.dur_ns[rows], 0)
    total = int(length.sum())
    if total < KNOWN_SHARE * int(events.dur_ns[rows[computes]].sum()) or not total:
        return None
    return int(length[compiled].sum()) / total, int(length[graph].sum()) / total


def _shares_of_ops(trace: Trace) -> tuple[float, float] | None:
    """Returns the share of compiled ranges in the time of ops and such ranges, without that of the compiler, and 0 for
    graphs; None without ops."""
    compiled = Intervals.of_events(trace.events, compiled_ranges(trace)) - compiling(trace)
    ops = (Intervals.of_events(trace.events, trace.events.rows(Kind.CPU_OP)) - compiling(trace)) | compiled
    return (compiled.total_ns / ops.total_ns, 0.0) if ops.total_ns else None


class JobKind(msgspec.Struct, frozen=True):
    """What a recording shows about its job. A field that it does not show is "unknown" or None.

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
    compiles        whether torch.compile can generate code for the GPUs; True if these are not known
    double_backward   whether autograd also differentiates gradients, which torch.compile does not support
    transforms      whether transforms of torch.func compute gradients
    no_grad         what a training runs without gradients
    sequence_layer   the layer of torch.nn that computes in one call what a loop over its cell does; None without a loop
    left_as_is      the kind of code that torch.compile does not compile: most of the forward pass, or FSDP's hooks
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
    compiles: bool = True
    double_backward: bool = False
    transforms: bool = False
    no_grad: NoGrad = NoGrad()
    sequence_layer: str | None = None
    left_as_is: LeftAsIs | None = None


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
        accelerator=accelerator(trace),
        ranks=ranks,
        rank=trace.job.rank,
        world_size=trace.job.world_size,
        evidence=(*trains, *execution.evidence, *where.evidence, *together),
        optimizer=optimizer_class(trace),
        server=next((each for each, names in _CODE.items() if purpose != "training" and _has(trace, names)), None),
        idle_gpu=idle_gpu(trace),
        compiles=where.vendor != "nvidia" or has_triton(devices_with_activity(trace), trace.devices),
        schedules_ahead=purpose != "training" and schedules_ahead(trace),
        double_backward=differentiates_gradients(trace),
        no_grad=without_gradients(trace),
        transforms=len(transformed_gradients(trace)) > 0,
        sequence_layer=sequence_layer(trace),
        left_as_is=left_as_is(trace),
    )


#: Cells compute one element of a sequence. cuDNN and MIOpen compute all of them in one call of the layer.
_CELL = expression(r"aten::(lstm|gru|rnn_tanh|rnn_relu)_cell$")
_LAYERS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
#: The ops between two cells of a loop over a given sequence, which take the next element.
_TAKES = expression(
    r"aten::(select|slice|narrow|unbind|split|chunk|squeeze|unsqueeze|view|reshape|t|transpose|permute)$"
)
#: Minimum share of the forward pass' launches in cells, and of the pairs of cells with nothing else between them. The
#: last cell is followed by the head or the loss.
_MOST_CELLS = 0.5


def sequence_layer(trace: Trace) -> str | None:
    """Returns the layer of torch.nn that computes what a loop over its cell does; None without such a loop. A similar
    pattern is a decoder whose next input depends on its last output, by attention or by choosing a token. It has other
    ops between its cells.

    op   [select][lstm_cell][select][lstm_cell][select][lstm_cell] ...       LSTM
    op   [lstm_cell][linear][argmax][embedding][lstm_cell] ...               none
    """
    cells = _cells(trace)
    if len(cells) < MANY:
        return None
    events, calls = trace.events, find_launches(trace).call
    calls = calls[calls >= 0]
    forward = calls[SITE_PHASE[site_of(trace, calls)] == PHASES.index("forward")]
    in_cells = innermost(trace, _cells, forward) >= 0
    others = rows_named(trace, (Kind.CPU_OP,), lambda name: not (_CELL.match(name) or _TAKES.match(name)))
    others = others[is_in(events.thread[others], distinct_in(events.thread[cells]))]
    others = others[innermost(trace, _cells, others) < 0]
    others = others[innermost(trace, _takes, others) < 0]
    begun = np.searchsorted(events.start_ns[others], events.start_ns[cells])
    if in_cells.sum() <= _MOST_CELLS * len(forward) or (np.diff(begun) == 0).mean() <= _MOST_CELLS:
        return None
    name = _CELL.match(trace.name_of(cells[0]))
    return _LAYERS[name[1]] if name else None


def _cells(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _CELL.match)


def _takes(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _TAKES.match)


Purpose = Literal["training", "inference", "unknown"]

#: torch's own mark, which shows training even if the recording ends before the first gradient.
_ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: Minimum number of layer calls without a gradient that shows inference. In training, a forward pass is followed by its
#: backward pass within one step. The few ops of an excerpt show nothing.
MANY = 10


def purpose_of(trace: Trace) -> tuple[Purpose, list[JobEvidence]]:
    """Returns the purpose and the evidence for it; unknown, without evidence, if there is too little."""
    trains = _training(trace)
    if trains:
        return "training", trains
    ops = named_evidence("layer_ops", trace, (Kind.CPU_OP,), LAYER_OP.match)
    kernels = named_evidence("layer_kernels", trace, (Kind.KERNEL,), LAYER_KERNEL.search)
    layers = max(ops, kernels, key=lambda layers: sum(layer.count for layer in layers))
    if sum(layer.count for layer in layers) >= MANY:
        return "inference", layers
    return "unknown", []


def _training(trace: Trace) -> list[JobEvidence]:
    nodes = _run(trace, engine_nodes(trace))
    autograd = [JobEvidence("autograd_nodes", len(nodes))] if len(nodes) else []
    steps = named_evidence("optimizer_steps", trace, (Kind.USER,), OPTIMIZER_STEP.match)
    if autograd or steps:
        return autograd + steps
    zeroed = named_evidence("optimizer_steps", trace, (Kind.USER,), _ZERO_GRAD.match)
    rows = _run(trace, rows_named(trace, (Kind.CPU_OP,), lambda name: name.endswith("_backward")))
    ops = [JobEvidence("backward_ops", len(rows), trace.name_of(rows[0]))] if len(rows) else []
    kernels = named_evidence("backward_kernels", trace, (Kind.KERNEL,), BACKWARD_KERNEL.search)
    return zeroed or ops or kernels


def _run(trace: Trace, rows: Int64) -> Int64:
    """Returns those of these ops that compute and are not only traced by a compiler."""
    start = trace.events.start_ns[rows]
    return rows[compiling(trace).overlap_ns(start, start + 1) == 0]


Server = Literal["vllm", "sglang"]

#: Names of each server's code. SGLang also runs kernels of vLLM, so it comes first, and kernels show neither.
_CODE: dict[Server, re.Pattern[str]] = {
    "sglang": expression(r"(?:.*/)?sglang/\S+\.py\(|sgl_kernel::|step\[[A-Z_]+ bs="),
    "vllm": expression(r"(?:.*/)?vllm/\S+\.py\(|vllm::|execute_(?:\d+_)?context_\d|gpu_model_runner: "),
}

#: Code that runs only if the next batch is scheduled while the device works: SGLang's overlap schedule, and vLLM's
#: asynchronous scheduling.
_AHEAD = expression(r"(?:.*/)?sglang/\S+\.py\(\d+\): event_loop_overlap|(?:.*/)?vllm/\S+/async_scheduler\.py\(")


def schedules_ahead(trace: Trace) -> bool:
    """Returns whether frames show that the server schedules the next batch while the device works."""
    return _has(trace, _AHEAD)


def _has(trace: Trace, names: re.Pattern[str]) -> bool:
    return len(rows_named(trace, (Kind.PYTHON, Kind.CPU_OP, Kind.USER), names.match)) > 0


# Part of the kernel time runs in graphs, and annotations name a part of that.

#: Minimum share of the graphs' kernel time that two recordings of one job agree in. They agree in nearly all of it
#: (99.8 % in a recorded training), and those of two models or two implementations of one model in less than a fifth.
#: Half is far from both.
LEAST_NAMED_FRACTION = 0.5
#: Graphs with less than this share of the kernel time are worth neither reading another trace nor mentioning.
LEAST_GRAPH_FRACTION = 0.1


class GraphTime(msgspec.Struct, frozen=True):
    """Kernel time of all devices over the whole recording, ns: that of kernels in graphs, that of the annotated ones
    among these, and that of all kernels."""

    graph_ns: int
    annotated_ns: int
    all_ns: int

    @property
    def is_much(self) -> bool:
        return self.graph_ns > 0 and self.graph_ns >= LEAST_GRAPH_FRACTION * self.all_ns


def graph_time(trace: Trace) -> GraphTime:
    graph, time = graph_kernels(trace), trace.events.dur_ns[trace.kernels.event]
    labels = annotated(trace)
    named = 0 if labels is None else int(time[graph & (labels.modules >= 0)].sum())
    return GraphTime(int(time[graph].sum()), named, int(time.sum()))
