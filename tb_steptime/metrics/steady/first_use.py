"""Work that a recording itself identifies as a first use: compiling, capturing, loading, setting up, and first
allocations.

range    [_compile.compile_inner (dynamo_timed)   ]          torch.compile's own marks; with call stacks its frames
op         ...... [defaults] .. [defaults] ...... [forward]  TorchScript compiles what is called, up to the next op
runtime  [cudaStreamBeginCapture] ... [cudaGraphInstantiate] from the one to the other on a thread
runtime  [cuModuleLoadData]                                  each kernel is loaded once
runtime  [cudaDeviceGetStreamPriorityRange, 29.9 s]  |  |    the first call creates the context
runtime  [cudaMalloc, 180 ms][cudaMalloc]                    so may the first allocation, before any work
runtime  [cudaMalloc][cudaMalloc]                            in the first of several steps only
op       [aten::empty, 2.2 ms]     []   []                   the first one, with no call in it
runtime  [cudaFree] in the first aten::mm, before it launches: its library makes a handle
runtime  [cudaLaunchKernel, 9 ms]  |  |                      the first of the only step, to an idle device

This applies only if the last work of that kind ends in the first half of the steps. Similar work that is not done once:
an allocation that is tried again because memory ran short, a recompilation in later steps, a graph that is captured for
each new shape, and a copy or launch that waits.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.host.blocking_calls import Blocks, blocking_calls
from tb_steptime.metrics.phases.threads import backward_passes, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes, has_first_node
from tb_steptime.trace.host_ranges import COMPILES, loading_calls
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, find_launches, recording_at, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import BEGINS_CAPTURE, RUNTIME
from tb_steptime.trace.quality.memory_calls import FREES, allocation_retries
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Int64, Kind, distinct, distinct_in, is_in

#: Marks of torch.compile since 2.0, and the functions of Dynamo, Inductor and Triton that compile.
COMPILATION = expression(
    rf"{COMPILES.pattern}|.*torch/_dynamo/convert_frame\.py\(\d+\): (_compile|compile_inner)$"
    r"|.*torch/_inductor/compile_fx\.py\(\d+\): compile_fx(_inner)?$|.*triton/compiler/compiler\.py\(\d+\): compile$"
)
#: Calls that end a capture, or make a graph from it.
CAPTURES = expression(rf"(cu|{RUNTIME})(StreamEndCapture|GraphInstantiate|GraphUpload)")

#: Calls that put something into the queue of the device, and that wait if it is full.
_QUEUES = expression(
    r"Launch|Memcpy|Memset|Memory|Prefetch|EventRecord|WaitEvent|EventQuery|StreamQuery|Callback|Write"
)
#: Ops that make a tensor and compute nothing.
_MAKES_TENSOR = frozenset({"aten::empty", "aten::empty_strided"})
#: Minimum length of a set-up call. A normal call takes microseconds, and the profiler may slow it to some hundreds of
#: them. The same holds for an op that computes nothing.
LONG_NS = 1_000_000
#: One-time work takes this many times as long as each later call.
TIMES_LONGER = 10
#: Minimum length of a call that creates a context. A process that creates one in the recording had no work before it.
CONTEXT_NS = 50_000_000
#: Ops that call cuBLAS, cuDNN or similar libraries. In five real recordings the first of them frees memory: for 2 and
#: 11 ms in `aten::mm` and `aten::addmm`, for 0.2 to 6 s in `aten::cudnn_convolution`.
_OF_LIBRARIES = expression(r"aten::(_?addmm\w*|mm|bmm|baddbmm|addmv|mv|\w*convolution\w*)$")
#: Maximum time for each node in which the engine finds the order of the nodes, before every pass: measured were 0.2 to
#: 0.5 us in graphs of a thousand nodes, and up to 2.9 us in those of 20,000 and 100,000.
_ORDERED_NS = 10_000
#: With fewer steps it is unknown whether memory allocated in the first step is allocated in every step.
LEAST_STEPS = 3


@shared
def first_uses(trace: Trace) -> tuple[tuple[int, Intervals], ...]:
    """Returns each thread with work of a first use, and when it does that work."""
    events = trace.events
    captured, begin_ns = _captures(trace)
    scripted, idle_ns, next_ns = _scripted(trace)
    loads = _while_warm(trace, loading_calls(trace))
    only = _first_uses_in_only_step(trace)
    rows = np.concatenate((compilations(trace), loads, set_up_calls(trace), _first_memory(trace), only))
    root, engine = backward_start(trace)
    thread = np.concatenate([events.thread[each] for each in (rows, captured, scripted, root)])
    start = np.concatenate((events.start_ns[rows], begin_ns, idle_ns, engine.start))
    end = np.concatenate((events.ends(rows), events.ends(captured), next_ns, engine.end))
    threads = distinct_in(thread).tolist()
    return tuple((each, Intervals.union(start[thread == each], end[thread == each])) for each in threads)


def compilations(trace: Trace) -> Int64:
    """Returns the rows of the marks of compilation, in time order, including nested ones."""
    kinds = (Kind.CPU_OP, Kind.USER, Kind.PYTHON)
    return _while_warm(trace, rows_named(trace, kinds, COMPILATION.match))


def _scripted(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """Returns the rows of the ops in which TorchScript computes the default arguments of a function that it compiles,
    and the start and end of the time around each in which its thread runs no other op, because it compiles. This
    happens once for each function."""
    events, ops = trace.events, trace.events.rows(Kind.CPU_OP)
    is_default = are_named(trace, ops, "defaults".__eq__)
    rows = _while_warm(trace, ops[is_default])
    start, end = events.start_ns[rows].copy(), events.ends(rows)
    for thread in distinct_in(events.thread[rows]).tolist():
        own = events.thread[rows] == thread
        others = ops[~is_default & (events.thread[ops] == thread)]
        begun, ended = events.start_ns[others], np.sort(events.ends(others))
        before, after = np.searchsorted(ended, start[own], side="right"), np.searchsorted(begun, end[own])
        start[own] = np.where(before > 0, np.append(0, ended)[before], start[own])
        end[own] = np.where(after < len(begun), np.append(begun, 0)[after], end[own])
    return rows, start, end


@shared
def backward_start(trace: Trace) -> tuple[Int64, Intervals]:
    """Returns the row of the op that makes the gradient of the loss in a process's first backward pass, and the time
    from its end to the pass's first node, if that is long: the engine of autograd starts its threads, and no Python
    runs. Both are empty if there is no such time.

    op    [aten::nll_loss 4] [aten::ones_like]...........................[NllLossBackward0 4] [LogSoftmaxBackward0 3]

    If nodes run on threads that are not recorded, the first one that is recorded is not that of the latest op.
    """
    events, created = trace.events, backward_nodes(trace)
    nothing = np.empty(0, np.int64), Intervals.empty()
    if not (created.forward >= 0).any() or not has_first_node(trace):
        return nothing
    nodes = np.flatnonzero(events.start_ns[created.event] < backward_passes(trace).end[0])
    if created.forward[nodes[0]] < created.forward[nodes].max():
        return nothing
    begins = events.start_ns[created.event[nodes[:1]]]
    rows = events.rows(Kind.CPU_OP, Kind.USER)
    rows = rows[is_in(events.thread[rows], training_threads(trace)) & (events.start_ns[rows] < begins)]
    root = rows[are_named(trace, rows, "aten::ones_like".__eq__)][-1:]
    is_next = events.start_ns[rows[-1:]] < events.ends(root)  # ops in it begin later than it does
    root = root[is_next & (begins - events.ends(root) >= max(LONG_NS, _ORDERED_NS * len(nodes)))]
    return root, Intervals(events.ends(root), begins[: len(root)])


def _captures(trace: Trace) -> tuple[Int64, Int64]:
    """Returns the rows of the calls that end a capture or make a graph of it, and when the capture of each began."""
    events = trace.events
    ends = _while_warm(trace, rows_named(trace, CALL_KINDS, CAPTURES.match))
    begins = rows_named(trace, CALL_KINDS, BEGINS_CAPTURE.match)
    start = events.start_ns[ends].copy()
    for thread in distinct(events.thread[ends]).tolist():
        on_thread = events.thread[ends] == thread
        begins_here = begins[events.thread[begins] == thread]
        place = np.searchsorted(begins_here, ends[on_thread]) - 1
        start[on_thread] = np.where(
            place >= 0, events.start_ns[begins_here[place]] if len(begins_here) else start[on_thread], start[on_thread]
        )
    return ends, start


def capture_intervals(trace: Trace) -> Intervals:
    """Returns the time from where each capture begins to the end of the calls that follow from it on its thread."""
    rows, begin_ns = _captures(trace)
    return Intervals.union(begin_ns, trace.events.ends(rows))


def _while_warm(trace: Trace, rows: Int64) -> Int64:
    """Returns these rows without those of recordings in which one of them ends in the second half of the steps, because
    such work recurs. A step begins on the device, so the host, which is ahead, may begin to compile for it in the step
    before."""
    start_ns, warm = find_steps(trace).start_ns, np.ones(len(rows), bool)
    recording, of_steps = recording_at(trace, trace.events.start_ns[rows]), recording_at(trace, start_ns)
    for each in distinct_in(recording).tolist():
        own = recording == each
        begun = int(np.searchsorted(start_ns[of_steps == each], trace.events.ends(rows[own]).max(), side="right"))
        warm[own] = begun <= -(-int((of_steps == each).sum()) // 2)
    return rows[warm]


@shared
def set_up_calls(trace: Trace) -> Int64:
    """Returns the rows of calls that set something up, in time order. Each is the first of its name and far longer than
    all later ones. Calls that launch, copy or wait do not count, and the first allocation only counts if it creates the
    context."""
    events, calls = trace.events, trace.events.rows(*CALL_KINDS)
    calls = calls[~are_named(trace, calls, _QUEUES.search)]
    calls = calls[is_in(calls, blocking_calls(trace).row, invert=True)]
    allocates = _context_of_memory(trace)
    if not len(calls):
        return allocates
    _, first, name = np.unique(events.name[calls], return_index=True, return_inverse=True)
    longest, later = np.zeros(len(first), np.int64), np.ones(len(calls), bool)
    later[first] = False
    np.maximum.at(longest, name[later], events.dur_ns[calls[later]])
    length = events.dur_ns[calls[first]]
    sets_up = calls[first[(length >= LONG_NS) & (length >= TIMES_LONGER * longest)]]
    return np.sort(np.concatenate((sets_up, allocates)))


def _context_of_memory(trace: Trace) -> Int64:
    """Returns the row of the first allocation if it creates the context. Then nothing was launched and no device worked
    before its end, it takes as long as a context does, and it takes far longer than all later ones. An allocation that
    waits for memory comes after work, and without the allocator's cache later ones are about as long."""
    events, rows = trace.events, blocking_calls(trace).of(Blocks.ALLOCATOR)
    rows = rows[~are_named(trace, rows, FREES.match)]
    length = events.dur_ns[rows]
    if not len(rows) or length[0] < max(CONTEXT_NS, TIMES_LONGER * int(length[1:].max(initial=0))):
        return rows[:0]
    work = np.concatenate((calls_that_launch(trace), events.rows(*DEVICE_KINDS)))
    return rows[:1] if (events.start_ns[work] >= events.ends(rows[:1])).all() else rows[:0]


@shared
def starts_up(trace: Trace) -> bool:
    """Returns whether the process begins to use its devices in the recording."""
    return bool((trace.events.dur_ns[set_up_calls(trace)] >= CONTEXT_NS).any())


def _first_uses_in_only_step(trace: Trace) -> Int64:
    """Returns the rows of first uses that later steps would show, if there is only one step."""
    if len(find_steps(trace).steps) > 1:
        return np.empty(0, np.int64)
    return np.concatenate((_first_tensor(trace), _handles(trace), _first_launch(trace)))


def _handles(trace: Trace) -> Int64:
    """Returns the rows of calls that free memory in the first op of a library, before the op launches anything. The
    library creates its handle there, once for each thread. PyTorch's allocator frees memory in an op only if it then
    tries to allocate again (`allocation_retries`). Without a cache, it also frees memory after what it has launched,
    and in later ops.

    op       [aten::mm                    ]   [aten::mm]
    runtime   [cudaMalloc][cudaFree]   [l]          [l]
    """
    events, rows = trace.events, blocking_calls(trace).of(Blocks.ALLOCATOR)
    rows = rows[are_named(trace, rows, FREES.match)]
    rows = rows[is_in(rows, allocation_retries(trace).rows, invert=True)]
    ops = rows_named(trace, (Kind.CPU_OP,), _OF_LIBRARIES.match)
    op = innermost(trace, ops, rows)
    rows, op = rows[op >= 0], op[op >= 0]
    if not len(rows):
        return rows
    firsts = ops[np.unique(np.stack((events.thread[ops], events.name[ops])), axis=1, return_index=True)[1]]
    before = events.start_ns[calls_that_launch(trace)]
    idle = np.searchsorted(before, events.start_ns[op]) == np.searchsorted(before, events.start_ns[rows])
    return rows if idle.all() and is_in(op, firsts).all() else rows[:0]


def _first_launch(trace: Trace) -> Int64:
    """Returns the row of the first call that launches a kernel, if it loads the kernel. Then it is far longer than all
    later ones, and its kernel begins on an idle device soon after it returns. If it waited for a full queue, which
    holds a thousand launches, its kernel would begin much later."""
    events, launches = trace.events, find_launches(trace)
    rows = calls_that_launch(trace, Kind.KERNEL)
    if len(rows) < 2 or events.dur_ns[rows[0]] < max(LONG_NS, TIMES_LONGER * events.dur_ns[rows[1:]].max()):
        return rows[:0]
    returned = events.ends(rows[:1])
    work = launches.activity.astype(np.int64)
    begun = (events.start_ns[work] < returned) & (launches.call != rows[0])
    delay = events.start_ns[work[launches.call == rows[0]]].min() - returned
    return rows[:1] if not begun.any() and (delay < LONG_NS).all() else rows[:0]


def _first_tensor(trace: Trace) -> Int64:
    """Returns the row of the first op that creates a tensor, if it is far longer than all later ones or the only one,
    and no call in it shows what takes the time. No later step takes so long for it."""
    events = trace.events
    rows = rows_named(trace, (Kind.CPU_OP,), _MAKES_TENSOR.__contains__)
    first, length = rows[:1], events.dur_ns[rows]
    if not len(rows) or length[0] < max(LONG_NS, TIMES_LONGER * length[1:].max(initial=0)):
        return rows[:0]
    calls = events.rows(*CALL_KINDS)
    calls = calls[events.thread[calls] == events.thread[first]]
    inside = (events.start_ns[calls] >= events.start_ns[first]) & (events.start_ns[calls] < events.ends(first))
    return rows[:0] if inside.any() else first


def _first_memory(trace: Trace) -> Int64:
    """Returns the allocation calls, if all are in the first of several steps, or if the process begins in the only
    step. Later steps take their memory from the allocator's cache."""
    steps, rows = find_steps(trace), blocking_calls(trace).of(Blocks.ALLOCATOR)
    rows = rows[is_in(rows, allocation_retries(trace).rows, invert=True)]  # memory may run short in any step
    if starts_up(trace) and len(steps.steps) == 1:
        return rows
    first = trace.events.start_ns[rows] < steps.end_ns[0]
    return rows if len(steps.steps) >= LEAST_STEPS and first.all() else rows[:0]
