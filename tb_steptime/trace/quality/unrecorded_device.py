"""Detects a device that the recording does not show: the host waits for it, launches on it, or has its tensors there.

arrows from ops to kernels                            exports of the autograd profiler leave the kernels out
calls of a runtime that launch, and no work of them   the GPU was to be recorded: another profiler had it, or as in WSL
                                                      its work is not shown to this one; or all of them were captured
                                                      into graphs, and none of these was launched
memory rows of another device than the CPU            the tensors live there
an op that would move more than any memory can        likewise: its call returned, and its work is not recorded
ops that only Metal has (MPS)                         the profiler records no work there, whatever is asked for
aten::linear that runs no product as an op of its own a device has a kernel for it: Metal does, CPU and CUDA do not
reading one number that takes milliseconds            the host waits for the device; on a CPU it takes microseconds

Such a host's ops take as long as it takes to submit work, or to wait for it: neither is CPU work.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.text import Finding, Quantity, count, fraction, ns, text
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, is_cut_short, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import RUNTIME, SYNC_CALL, SYNC_DEVICE_CALL
from tb_steptime.trace.quality.lost_launches import in_captures
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Int64, Kind, distinct_in, is_in

#: Ops that only tensors of Metal Performance Shaders have, by the dispatch keys in PyTorch's native_functions.yaml.
_METAL = expression(r"aten::(_?mps_|_\w+_for_mps$|_?\w*_mps$|lstm_mps_backward$|(linear|max_pool2d)_backward$)")
#: `linear` is made of other ops, a product among them, for every device of PyTorch but MPS, whose kernel allocates the
#: result and runs at most ops that give tensors another shape, or add a bias (native_functions.yaml;
#: native/mps/operations/Linear.mm).
_LINEAR = expression(r"aten::linear$")
_ALLOCATES = expression(r"aten::empty\w*$")
_PREPARES = expression(
    r"aten::(empty\w*|resize_|contiguous|clone|copy_|to|_to_copy|t|transpose|as_strided|reshape|_reshape_alias|view"
    r"|_unsafe_view|unsqueeze|squeeze|add_)$"
)
#: Ops of other libraries, which may have kernels of their own, also for the CPU.
_OF_LIBRARIES = expression(r"(?!aten::|torch::|autograd::|c10d|prims?::)\w+::")
_CPU = expression(r"aten::(_?mkldnn_|mkl_|_scaled_dot_product_flash_attention_for_cpu)|mkldnn::")
#: Op that reads one number of a tensor.
_READS = expression(r"aten::_local_scalar_dense$")
_AROUND_READS = expression(r"aten::(item|is_nonzero|_local_scalar_dense)$")
#: A read that takes at least this long waits for a device: on a CPU it takes a microsecond. The scheduler may interrupt
#: a thread, but not this often, and reads no more often than other ops.
WAIT_NS, LEAST_WAITS = 1_000_000, 3
#: Fewer reads wait if one takes so many times as long as every one of this many other ops, as in a recording of one
#: iteration. No scheduler interrupts for so long just the op that takes the least.
STANDS_OUT, LEAST_OTHERS = 10, 100
#: From how many times as many long ones among reads as among other ops, reads wait. Ops of a device take some
#: microseconds to launch, and most do not wait.
MORE_WAITS = 3
#: Ops that read or write each element of their first input, and that no view, cache or laziness makes cheaper.
_TOUCHES = expression(
    r"aten::(pow|exp|log|sqrt|rsqrt|sin|cos|tanh|sigmoid|gelu|silu|relu|erf|sum|mean|var|softmax|mul|div|add|sub)_?$"
)
#: Bytes per second that no CPU memory reaches, for inputs of at least this size, which fit no cache.
MOST_RATE, LEAST_BYTES = 2e12, 2**28
TOO_MANY_BYTES = 2.0**50
_ITEM_BYTES = {"double": 8, "long": 8, "int": 4, "float": 4, "c10::half": 2, "c10::bfloat16": 2}
#: From this share of the recording on, waits say something about the device's work: each also takes some microseconds
#: when nothing runs.
LARGE_WAITS = 0.1
#: Numbers of torch's device types that are no unseen device: unknown, CPU, and meta, whose tensors have no memory.
_NO_DEVICE = {-1, 0, 14}
#: From this share of all rows on, rows of kinds that are not read may hold most of what happened.
LARGE_SHARE = 0.25
_DEVICE_TYPES = {1: "CUDA", 6: "HIP", 9: "XLA", 12: "XPU", 13: "MPS", 15: "HPU", 19: "MTIA"}

Sign = Literal["arrows", "launches", "captures", "memory", "rate", "mps", "linear", "waits"]


class UnseenDevice(msgspec.Struct, frozen=True):
    """Evidence that the job used a device which is not recorded.

    by           kind of the evidence
    count        number of events that show it
    name         the first op that shows it, or the type of the device
    longest_ns   length of the longest of these events, for calls that wait
    """

    by: Sign
    count: int
    name: str = ""
    longest_ns: int = 0


@shared
def unseen_device(trace: Trace) -> UnseenDevice | None:
    """Returns the unseen device, or None if the device's work is recorded, the file is cut before it, or nothing
    indicates a device."""
    if len(trace.events.rows(*DEVICE_KINDS)) or is_cut_short(trace.notes):
        return None
    for sign in (_arrows, _launches, _memory, _metal, _linear, _rates, _waits):
        unseen = sign(trace)
        if unseen:
            return unseen
    return None


def _arrows(trace: Trace) -> UnseenDevice | None:
    ops = trace.events.rows(Kind.CPU_OP)
    return UnseenDevice("arrows", len(ops), _name(trace, ops)) if trace.job.kernels_left_out else None


#: Calls that ask or wait and bring the device no work. The profiler itself makes such calls as it starts and stops.
ASKS = expression(rf"(cu|{RUNTIME})(\w*Get\w*|StreamIsCapturing)(_v\d+)?$|{SYNC_DEVICE_CALL.pattern}")
_OF_PROFILER = (*CALL_KINDS, Kind.OVERHEAD, Kind.PYTHON)
#: Frames of the profiler itself, which call stacks show as it starts and stops.
_PROFILER_FRAME = expression(r"(?:.*/)?torch/(?:autograd|profiler)/profiler\.py\(\d+\): ")
#: Frames that are open when the recording ends all end then, to this precision.
_SAME_NS = 1000


@shared
def holds_no_work(trace: Trace) -> bool:
    """Returns whether nothing is recorded but calls that bring the device no work, and the profiler's own work. Then
    another process computes, or none did while the profiler ran."""
    if len(trace.memory.bytes) or is_cut_short(trace.notes) or not is_in(trace.events.kind, _OF_PROFILER).all():
        return False
    calls = trace.events.rows(*CALL_KINDS)
    return len(calls) > 0 and bool(are_named(trace, calls, ASKS.match).all()) and _calls_only_profiler(trace)


def _calls_only_profiler(trace: Trace) -> bool:
    """Returns whether Python calls nothing but the profiler: each frame is one of its own or inside one, or is open
    before the first of them and after the last one.

    main   ######################       main has called the profiler, and waits in another thread; a frame between
    wait   ######################       start and stop, or without these, would be what the script does
    start    ppppp
    stop              pppppp
    """
    events, frames = trace.events, trace.events.rows(Kind.PYTHON)
    own = rows_named(trace, (Kind.PYTHON,), _PROFILER_FRAME.match)
    if not len(frames) or not len(own):
        return not len(frames)
    start, end = events.start_ns[frames], events.ends(frames)
    around = (start <= events.start_ns[own].min()) & (end >= events.ends(own).max() - _SAME_NS)
    return bool((around | (innermost(trace, own, frames) >= 0)).all())


#: Types of devices that PyTorch does not call GPUs, and whose work its profiler records.
_NO_GPUS = ("XPU", "HPU", "MTIA")


def accelerator(trace: Trace) -> str:
    """Returns PyTorch's name for the devices, by the events of their maker or, where none is recorded, by the memory
    there."""
    unseen = unseen_device(trace)
    of_memory = unseen is not None and unseen.by == "memory" and unseen.name in _NO_GPUS
    return unseen.name if unseen is not None and of_memory else trace.job.accelerator


_LAUNCHES = expression(r"Launch|Memcpy")


def _launches(trace: Trace) -> UnseenDevice | None:
    if may_hide_device(trace):
        return None  # the work may be in rows that are not read, as those of Gaudi (hpu_op)
    calls = rows_named(trace, CALL_KINDS, _LAUNCHES.search)
    captured = in_captures(trace, calls)
    run = calls[~captured]
    if not len(run) and len(calls):
        return UnseenDevice("captures", len(calls), _name(trace, calls))
    return UnseenDevice("launches", len(run), _name(trace, run)) if len(run) else None


def _memory(trace: Trace) -> UnseenDevice | None:
    kinds = trace.memory.device_type
    rows = np.flatnonzero(~is_in(kinds, list(_NO_DEVICE)))
    if not len(rows):
        return None
    kind = int(kinds[rows[0]])
    return UnseenDevice("mps" if kind == 13 else "memory", len(rows), _DEVICE_TYPES.get(kind, "GPU"))


def _metal(trace: Trace) -> UnseenDevice | None:
    rows = rows_named(trace, (Kind.CPU_OP,), _METAL.match)
    if not len(rows) or len(rows_named(trace, (Kind.CPU_OP,), _CPU.match)):
        return None
    return UnseenDevice("mps", len(rows), _name(trace, rows), _longest_wait(trace))


def _linear(trace: Trace) -> UnseenDevice | None:
    """Returns the device if no call of `linear` runs its product as an op of its own. Similar pattern: a filtered trace
    has no ops within others, and so none that allocates the result. Libraries may have a kernel for the CPU.

    CPU, CUDA   [aten::linear [t] [addmm   ] ]
    MPS         [aten::linear [empty]        ]
    """
    rows = _linear_rows(trace)
    others = rows_named(trace, (Kind.CPU_OP,), lambda name: _CPU.match(name) or _OF_LIBRARIES.match(name))
    if not len(rows) or len(others):
        return None
    inner = rows_named(trace, (Kind.CPU_OP,), lambda name: _LINEAR.match(name) is None)
    around = innermost(trace, _linear_rows, inner)
    inner, around = inner[around >= 0], around[around >= 0]
    allocating = distinct_in(around[are_named(trace, inner, _ALLOCATES.match)])
    own = len(allocating) == len(rows) and bool(are_named(trace, inner, _PREPARES.match).all())
    return UnseenDevice("linear", len(rows), _name(trace, rows), _longest_wait(trace)) if own else None


def _linear_rows(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _LINEAR.match)


def _rates(trace: Trace) -> UnseenDevice | None:
    events = trace.events
    if events.shapes is None or events.dtypes is None:
        return None
    rows = rows_named(trace, (Kind.CPU_OP,), _TOUCHES.match)
    rows = rows[(events.shapes[rows] >= 0) & (events.dtypes[rows] >= 0)]
    nbytes = _first_input_bytes(trace, rows)
    fast = rows[(nbytes >= LEAST_BYTES) & (nbytes > MOST_RATE * 1e-9 * np.maximum(events.dur_ns[rows], 1))]
    return UnseenDevice("rate", len(fast), _name(trace, fast)) if len(fast) else None


def _first_input_bytes(trace: Trace, rows: Int64) -> Int64:
    """Returns the bytes of each op's first input, or 0 if unknown. Each distinct text is parsed once."""
    shapes, dtypes = trace.events.shapes, trace.events.dtypes
    assert shapes is not None and dtypes is not None
    pairs, which = np.unique(np.stack((shapes[rows], dtypes[rows])), axis=1, return_inverse=True)
    sizes = [_bytes_of(trace.inputs[shape], trace.inputs[dtype]) for shape, dtype in pairs.T.tolist()]
    return np.array(sizes, np.int64)[which.reshape(-1)] if sizes else np.empty(0, np.int64)


def _bytes_of(shapes: str, dtypes: str) -> int:
    try:
        shape, dtype = msgspec.json.decode(shapes)[0], msgspec.json.decode(dtypes)[0]
        size = math.prod(float(each) for each in shape) * _ITEM_BYTES.get(dtype.lower(), 0)
        return int(size) if size <= TOO_MANY_BYTES else 0  # no such tensor exists: the shape is damaged
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return 0


def _waits(trace: Trace) -> UnseenDevice | None:
    """Returns the device if reads of one number wait for it. Similar pattern: a CPU job on a busy machine, whose
    scheduler interrupts reads as often as other ops, and only for a small part of the time, since most ops are no
    reads."""
    events, rows = trace.events, _long_reads(trace)
    if not len(rows):
        return None
    reads = rows_named(trace, (Kind.CPU_OP,), _READS.match)
    others = rows_named(trace, (Kind.CPU_OP,), lambda name: not _AROUND_READS.match(name))
    long_others = int((events.dur_ns[others] >= WAIT_NS).sum())
    as_others = len(rows) * len(others) < MORE_WAITS * long_others * len(reads)
    short = events.dur_ns[rows].sum() < LARGE_WAITS * (events.end_ns.max() - events.start_ns.min())
    few = len(rows) < LEAST_WAITS
    if (as_others and short) or (few and (short or not _stands_out(trace, others))):
        return None
    return UnseenDevice("waits", len(rows), _name(trace, rows), _longest_wait(trace))


def _stands_out(trace: Trace, others: Int64) -> bool:
    """Returns whether the longest read takes far longer than each of many other ops."""
    longest_ns = STANDS_OUT * int(trace.events.dur_ns[others].max(initial=0))
    return len(others) >= LEAST_OTHERS and _longest_wait(trace) >= longest_ns


def _long_reads(trace: Trace) -> Int64:
    rows = rows_named(trace, (Kind.CPU_OP,), _READS.match)
    return rows[trace.events.dur_ns[rows] >= WAIT_NS]


def _longest_wait(trace: Trace) -> int:
    return int(trace.events.dur_ns[_long_reads(trace)].max(initial=0))


def unread_share(trace: Trace) -> float:
    """Returns the share of all rows that are of kinds that are not read."""
    return len(trace.events.rows(Kind.OTHER)) / max(1, len(trace.events))


@shared
def may_hide_device(trace: Trace) -> bool:
    """Returns whether many rows are of kinds that are not read, in processes without any other row. Ascend's profiler,
    for one, writes the rows of its devices so. No other recorded device, and no op of a CPU's library, says where the
    job runs."""
    rows = trace.events.rows(Kind.OTHER)
    if unread_share(trace) < LARGE_SHARE or len(trace.events.rows(*DEVICE_KINDS)):
        return False
    if len(rows_named(trace, (Kind.CPU_OP,), _CPU.match)):
        return False
    read = np.flatnonzero(trace.events.kind != Kind.OTHER)
    processes = {trace.threads[thread].pid for thread in distinct_in(trace.events.thread[read]).tolist()}
    alone = [number for number, thread in enumerate(trace.threads) if thread.pid not in processes]
    return int(is_in(trace.events.thread[rows], alone).sum()) >= LARGE_SHARE * len(trace.events)


def unread_findings(trace: Trace) -> list[Finding]:
    """Returns a finding about rows of kinds that are not read, which no figure includes. If there are many, it is not
    known what else is missing, except for the kernels to which the autograd profiler draws arrows."""
    rows = trace.events.rows(Kind.OTHER)
    if not len(rows):
        return []
    number, share = np.bincount(trace.events.name[rows]), unread_share(trace)
    names = [trace.strings[name] for name in np.argsort(-number, kind="stable")[:2].tolist() if number[name]]
    values = {"count": count(len(rows)), "all": count(len(trace.events)), "share": fraction(share)}
    values["names"] = text(" and ".join(names))
    id = "mostly_unread" if share >= LARGE_SHARE and not trace.job.kernels_left_out else "rows_unread"
    if not may_hide_device(trace):
        return [Finding(id, "said", (), "high", len(rows), share, values)]
    return [Finding(id, "said", ("gpu_time", "launches", "host_time"), "none", len(rows), share, values)]


def _waits_behind(trace: Trace) -> Int64:
    """Returns the calls that wait for the device after the first launch. They show that work ran while it was
    recorded."""
    launches, waits = rows_named(trace, CALL_KINDS, _LAUNCHES.search), rows_named(trace, CALL_KINDS, SYNC_CALL.match)
    return waits[trace.events.start_ns[waits] > trace.events.start_ns[launches].min()]


def _launched_unseen(trace: Trace, unseen: UnseenDevice, values: dict[str, Quantity]) -> Finding:
    """Returns the finding about launches of which no work is recorded. The device works while a call waits for it, at
    least."""
    waits, events = _waits_behind(trace), trace.events
    waited_ns = Intervals.of_events(events, waits).total_ns
    waited = waited_ns / max(1, int(events.end_ns.max() - events.start_ns.min()))
    ran = "work_waited_for" if waited >= LARGE_WAITS else "work_ran_unrecorded"
    values |= {"share": fraction(1.0), "waited": ns(waited_ns), "waited_share": fraction(waited)}
    id = ran if len(waits) else "work_not_recorded"
    return Finding(id, "said", ("gpu_time", "launches"), "none", unseen.count, 1.0, values)


def _name(trace: Trace, rows: Int64) -> str:
    return trace.name_of(rows[0]) if len(rows) else ""


@shared
def could_not_start(trace: Trace) -> bool:
    """Returns whether the profiler was to record GPUs and could not, on a job that nothing shows to be one of the CPU.

    Kineto labels a process after each GPU, whatever is asked for and whether any works; but none of them if CUPTI did
    not start: then it logs "CUPTI initialization failed", and records the CPU alone (libkineto/src/init.cpp,
    CuptiActivityProfiler.cpp). The driver's list of the GPUs is in the file nevertheless.
    """
    if trace.job.labels_gpus is not False or not trace.devices or is_cut_short(trace.notes):
        return False
    if len(trace.events.rows(*DEVICE_KINDS, *CALL_KINDS)) or len(rows_named(trace, (Kind.CPU_OP,), _CPU.match)):
        return False
    return not len(trace.memory.bytes) or bool((~is_in(trace.memory.device_type, list(_NO_DEVICE))).any())


def device_findings(trace: Trace) -> list[Finding]:
    if holds_no_work(trace):
        calls = len(trace.events.rows(*CALL_KINDS))
        return [Finding("no_work", "said", ("steps",), "none", calls, None, {"count": count(calls)})]
    if could_not_start(trace):
        values = {"name": text(next(iter(trace.devices.values())).name or "a GPU")}
        return [Finding("profiler_not_started", "said", ("gpu_time", "launches"), "none", None, 1.0, values)]
    unseen = unseen_device(trace)
    if unseen is None:
        return []
    values = {"count": count(unseen.count), "name": text(unseen.name), "longest": ns(unseen.longest_ns or None)}
    if unseen.by == "launches":
        return [_launched_unseen(trace, unseen, values)]
    if unseen.by == "captures":
        return [Finding("only_captures", "said", ("gpu_time", "launches"), "none", unseen.count, 1.0, values)]
    id = "work_on_mps" if unseen.by == "mps" else f"device_unseen_by_{unseen.by}"
    return [Finding(id, "said", ("gpu_time", "launches", "host_time"), "none", unseen.count, None, values)]
