"""The marks that show what a host thread is doing: a mark applies until a mark inside it begins.

training thread   |-- loader --|-------- forward --------|= backward pass ======|-- Optimizer.step# --|
                                 |broadcast|               (waits for the engine)
autograd thread                                           [node][node][AccumulateGrad][node]

The backward pass is a mark of the training thread too, from the first node of the autograd engine to the last one,
whichever threads run them. It ends where the training thread continues with other work.

A closure that an optimizer calls is a mark of the model inside the optimizer's:

training thread   |----------------- Optimizer.step# ------------------|
                  |------------- closure ----------------| (updates)
                  |-- zero_grad --|           |= backward =|

An optimizer may call it several times:

Optimizer.step#LBFGS  |------------------------------------------------------|
ops                    z ff =backward= uuuuu z ff =backward= uuu z ff =back= uu
closures              |---------------|     |---------------|   |-----------|

The first closure begins with the mark. A later one begins where the first one's first event comes again. Each ends with
its last backward pass; what follows is the optimizer's update. A recording may end within a closure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.kernel_names.work_kinds import LAYER_OP
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE, backward_nodes
from tb_steptime.trace.host_ranges import loader_names
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import BACKEND
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps, inferred_steps
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Bool, Int64, Kind, UInt8, distinct_in, is_in

#: Phases of a step, in order; the last one is for work whose launch is not recorded.
PhaseId = Literal["data_loading", "zero_grad", "forward", "backward", "optimizer", "other", "unknown"]


class Site(msgspec.Struct, frozen=True):
    """A place within a phase from which work is launched. Its id is stable and public."""

    id: str
    phase: PhaseId
    label: str


#: Every place, in the order of a step. The last two are for work whose launch is not recorded, and for idle time that
#: ends with no launch or that no verdict counts.
SITES = (
    Site("data_loading", "data_loading", "Data loading"),
    Site("zero_grad", "zero_grad", "Zero gradients"),
    Site("forward.inputs", "forward", "Forward: before the first layer"),
    Site("forward.buffer_broadcast", "forward", "Forward: buffer broadcast"),
    Site("forward.model", "forward", "Forward: model"),
    Site("backward.loss", "backward", "Backward: start"),
    Site("backward.nodes", "backward", "Backward: autograd nodes"),
    Site("backward.gradient_accumulation", "backward", "Backward: accumulation"),
    Site("backward.hooks", "backward", "Backward: hooks"),
    Site("optimizer", "optimizer", "Optimizer"),
    Site("other", "other", "Other"),
    Site("unknown", "unknown", "Launch not recorded"),
    Site("no_launch", "unknown", "Does not repeat, or after the last work"),
)
SITE = {site.id: place for place, site in enumerate(SITES)}
#: The value for "no mark" in the table of names.
NO_MARK = 255

#: Marks of torch.optim and of the autograd engine, whose nodes had no mark but their own names before 2022.
_ZERO_GRAD_MARK = expression(r"Optimizer\.zero_grad#")
_ACCUMULATION = "AccumulateGrad"
_NODE = expression(r"(?:torch::autograd::)?(?:\w+Backwards?\d*|AccumulateGrad)$")

#: Common names of users' ranges, in lower case, without hashes, with "_" for spaces. The word before ":", "." or "/"
#: counts, too.
NAMED = {
    "data_loading": "data data_loading dataloading dataloader data_loader load_data load_batch get_batch next_batch "
    "fetch_batch wait_for_batch copy_batch_to_gpu",
    "zero_grad": "zero_grad zero_grads zerograd optimizer.zero_grad",
    "forward.model": "forward fwd forward_pass model_forward model.forward distributeddataparallel.forward "
    "fullyshardeddataparallel.forward",
    "backward.loss": "backward bwd backward_pass backprop loss.backward loss_backward",
    "optimizer": "optimizer optim opt optimizer_step optim_step opt_step step_optimizer optimizer.step",
}
_SITE_OF_WORD = {word: SITE[site] for site, words in NAMED.items() for word in words.split()}

#: Number of rows that are processed at once. Whole columns of a large trace would take tens of MB each.
ROWS_AT_ONCE = 1 << 18


class Marks(NamedTuple):
    """Marks of one thread, sorted by start, longer ones first. `site` is a place in `SITES`."""

    start: Int64
    end: Int64
    site: UInt8


def without_engine(name: str) -> str:
    """Returns a node's name without the engine's prefix. Other names are unchanged.

    >>> without_engine("autograd::engine::evaluate_function: MulBackward0")
    'MulBackward0'
    """
    return name.removeprefix(NODE)


def site_of_name(name: str) -> int:
    """Returns the place that a range with this name marks, if it is a mark of torch's or of the user's; else NO_MARK.

    >>> SITES[site_of_name("## forward:over_arch ##")].id
    'forward.model'
    """
    if OPTIMIZER_STEP.match(name):
        return SITE["optimizer"]
    if _ZERO_GRAD_MARK.match(name):
        return SITE["zero_grad"]
    word = re.sub(r"[\s-]+", "_", name.strip("# \t\n").lower())
    return _SITE_OF_WORD.get(word, _SITE_OF_WORD.get(re.split(r"[:./]", word)[0], NO_MARK))


def site_of_node(name: str) -> int:
    """Returns the place that an op with this name marks, if it is a node of the autograd engine; else NO_MARK.

    After a gradient is accumulated, the engine calls hooks, such as those of DistributedDataParallel, within its own
    mark. The engine's mark therefore stands for hooks, and AccumulateGrad's own mark for accumulation.
    """
    if name.startswith(NODE):
        return SITE["backward.hooks" if name.endswith(_ACCUMULATION) else "backward.nodes"]
    if not _NODE.match(name):
        return NO_MARK
    return SITE["backward.gradient_accumulation" if name.endswith(_ACCUMULATION) else "backward.nodes"]


def find_marks(trace: Trace) -> dict[int, Marks]:
    """Returns the marks of each thread that has any."""
    nodes = engine_nodes(trace)
    autograd = autograd_threads(trace)
    rows = np.concatenate((nodes, _user_marks(trace, nodes, autograd)))
    sites = _sites(trace, rows)
    passes = backward_passes(trace)
    waiting = training_threads(trace) if len(passes) else ()
    by_thread = {thread: [_marks_of(passes, SITE["backward.hooks"])] for thread in waiting}
    for thread, prepared in inputs_prepared(trace, _user_marks(trace, nodes, autograd)).items():
        by_thread.setdefault(thread, []).append(_marks_of(prepared, SITE["forward.inputs"]))
    for thread, synced in buffer_syncs(trace).items():
        by_thread.setdefault(thread, []).append(_marks_of(synced, SITE["forward.buffer_broadcast"]))
    on = trace.events.thread[rows]
    for thread in distinct_in(on).tolist():
        marked = rows[on == thread]
        marks = Marks(trace.events.start_ns[marked], trace.events.ends(marked), sites[on == thread])
        by_thread.setdefault(thread, []).append(marks)
    joined = {thread: _sorted(marks) for thread, marks in by_thread.items()}
    return joined | {thread: _sorted([joined[thread], _closures(trace, thread, joined[thread])]) for thread in waiting}


def _closures(trace: Trace, thread: int, marks: Marks) -> Marks:
    """Returns the closures that the thread's optimizers call, as marks of the model inside those of the optimizers. A
    mark that is open when the last backward pass ends belongs to the closure, too."""
    chosen = marks.site == SITE["optimizer"]
    instants = list(closures(trace, thread, marks.start[chosen], marks.end[chosen], backward_passes(trace)))
    start, end = np.array(instants, np.int64).reshape(-1, 2).T
    for place, (begins, ends) in enumerate(instants):
        inside = slice(*np.searchsorted(marks.start, (begins + 1, ends)))
        end[place] = max(ends, marks.end[inside].max(initial=0))
    return Marks(start, end, np.full(len(start), SITE["forward.model"], np.uint8))


def _marks_of(intervals: Intervals, site: int) -> Marks:
    return Marks(intervals.start, intervals.end, np.full(len(intervals), site, np.uint8))


def _sorted(marks: list[Marks]) -> Marks:
    start, end, site = (np.concatenate(column) for column in zip(*marks, strict=True))
    order = np.lexsort((-end, start))
    return Marks(start[order], end[order], site[order])


@shared
def node_sites(trace: Trace) -> UInt8:
    """Returns for each string of the table the place that an op with this name marks, or NO_MARK. If the engine marks
    its nodes, only AccumulateGrad's own mark adds information."""
    strings = trace.strings.strings
    sites = np.array([site_of_node(name) for name in strings], np.uint8)
    if any(name.startswith(NODE) for name in strings):
        sites[[not (name.startswith(NODE) or name.endswith(_ACCUMULATION)) for name in strings]] = NO_MARK
    return sites


@shared
def engine_nodes(trace: Trace) -> Int64:
    """Returns the rows of the nodes of the autograd engine."""
    is_node = node_sites(trace) != NO_MARK
    if not is_node.any():
        return np.empty(0, np.int64)
    return np.flatnonzero((trace.events.kind == Kind.CPU_OP) & is_node[trace.events.name])


@shared
def training_threads(trace: Trace) -> tuple[int, ...]:
    """Returns the threads that run the training loop: those of the step marks, or of the calls that show steps. If
    there are none, it is the thread with the most ops outside of the autograd engine's nodes. The engine runs nodes of
    the CPU on that thread, and nodes of a GPU on threads of its own."""
    marks = step_marks(trace)
    if len(marks):
        return tuple(distinct_in(trace.events.thread[marks]).tolist())
    inferred = inferred_steps(trace)
    if inferred:
        return (inferred.thread,)
    ops = _ops_outside_nodes(trace)
    return (int(ops.argmax()),) if ops.any() else ()


def _ops_outside_nodes(trace: Trace) -> Int64:
    """Returns the number of ops of each thread outside of the autograd engine's nodes. If nothing else ran, nodes
    count."""
    events, nodes = trace.events, engine_nodes(trace)
    ops = np.bincount(events.thread[events.kind == Kind.CPU_OP], minlength=1)
    outside = ops.copy()
    for thread in distinct_in(events.thread[nodes]).tolist():
        thread_nodes = nodes[events.thread[nodes] == thread]
        inside = Intervals.of_events(events, thread_nodes)
        start = events.start_ns[(events.kind == Kind.CPU_OP) & (events.thread == thread)]
        place = np.searchsorted(inside.start, start, side="right") - 1
        outside[thread] -= np.count_nonzero((place >= 0) & (start < inside.end[place])) if len(inside) else 0
    return outside if outside.any() else ops


@shared
def autograd_threads(trace: Trace) -> tuple[int, ...]:
    """Returns the threads of the autograd engine, which run nodes but not the training loop. All their work is
    backward."""
    training = training_threads(trace)
    return tuple(
        each for each in distinct_in(trace.events.thread[engine_nodes(trace)]).tolist() if each not in training
    )


def step_threads(trace: Trace) -> tuple[int, ...]:
    """Returns the threads that run the steps, of which one works at a time: those of the training loop and of the
    autograd engine."""
    return (*training_threads(trace), *autograd_threads(trace))


@shared
def backward_passes(trace: Trace) -> Intervals:
    """Returns the time from the first to the last node of each backward pass, on whichever threads they run."""
    nodes = engine_nodes(trace)
    union = Intervals.of_events(trace.events, nodes)
    if len(union) < 2:
        return union
    is_apart = _work_in(trace, Intervals(union.end[:-1], union.start[1:]))
    return Intervals(union.start[np.append(True, is_apart)], union.end[np.append(is_apart, True)])


def _work_in(trace: Trace, gaps: Intervals) -> Bool:
    """Returns in which of the gaps a training thread begins an op, a range, or a call."""
    events = trace.events
    works = np.zeros(256, bool)
    works[[Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER]] = True
    trains = np.zeros(len(trace.threads), bool)
    trains[list(training_threads(trace))] = True
    has_work = np.zeros(len(gaps), bool)
    for first in range(0, len(events), ROWS_AT_ONCE):
        piece = slice(first, first + ROWS_AT_ONCE)
        start = events.start_ns[piece][works[events.kind[piece]] & trains[events.thread[piece]]]
        place = np.searchsorted(gaps.start, start, side="right") - 1
        has_work[place[(place >= 0) & (start < gaps.end[place])]] = True
    return has_work


def _user_marks(trace: Trace, nodes: Int64, autograd: tuple[int, ...]) -> Int64:
    """Returns the rows of loader waits, optimizer marks and ranges named after a phase. Ranges within the backward pass
    are ignored, because checkpointing calls the model's forward pass there."""
    events = trace.events
    rows = events.rows(Kind.USER)
    rows = rows[range_sites(trace)[events.name[rows]] != NO_MARK] if len(rows) else rows
    by_torch = are_named(trace, rows, lambda name: name.startswith("Optimizer."))
    in_backward = is_in(events.thread[rows], autograd) | (innermost(trace, nodes, rows) >= 0)
    waits = np.flatnonzero((events.kind == Kind.CPU_OP) & loader_names(trace)[events.name])
    return np.sort(np.concatenate((rows[by_torch | ~in_backward], waits)))


@shared
def range_sites(trace: Trace) -> UInt8:
    """Returns for each string of the table the place that a range of this name marks, or NO_MARK."""
    named = np.full(len(trace.strings), NO_MARK, np.uint8)
    users = distinct_in(trace.events.name[trace.events.rows(Kind.USER)])
    named[users] = [site_of_name(trace.strings[name]) for name in users.tolist()]
    named[loader_names(trace)] = SITE["data_loading"]
    return named


def _sites(trace: Trace, rows: Int64) -> UInt8:
    """Returns the place of each of these marks."""
    events = trace.events
    of_ops = np.where(loader_names(trace), SITE["data_loading"], node_sites(trace))
    is_op, name = events.kind[rows] == Kind.CPU_OP, events.name[rows]
    return np.where(is_op, of_ops[name], range_sites(trace)[name]).astype(np.uint8)


#: Minimum number of kernels before the first layer. A model itself launches a few for masks, positions or types.
_PREPARING = 20


def inputs_prepared(trace: Trace, marks: Int64) -> dict[int, Intervals]:
    """Returns when a training launches many kernels before the first layer of a forward pass, by thread. An
    augmentation is an example. Each interval begins with the step, or at the end of the backward pass before. It ends
    at the first op that is a layer or makes a node for the backward pass, or at the user's range of the forward pass.
    Frozen layers are layers, too. The result is empty if ops have no sequence numbers. Launches within `marks`, which
    are rows of `_user_marks`, do not count.

    step     |0000000000000000000000000000000000000000000|
    ops       mul add flip mul ... [convolution][relu]...      |nodes|
    inputs   |--------------------|
    """
    events = trace.events
    passes = backward_passes(trace)
    steps = find_steps(trace)
    creators = backward_nodes(trace).forward
    creators = creators[creators >= 0]
    if not len(creators) or not len(passes):
        return {}
    layers = rows_named(trace, (Kind.CPU_OP,), LAYER_OP.match)
    users = events.rows(Kind.USER)
    users = users[range_sites(trace)[events.name[users]] == SITE["forward.model"]]
    begins_model = distinct_in(np.concatenate((creators, layers, users)))
    calls = calls_that_launch(trace, Kind.KERNEL)
    calls = calls[innermost(trace, marks, calls) < 0]
    start = np.sort(np.concatenate((steps.host_start_ns, passes.end)))
    by_thread = {}
    for thread in training_threads(trace):
        first = np.append(events.start_ns[begins_model[events.thread[begins_model] == thread]], NEVER)
        end = first[np.searchsorted(first, start)]
        until = np.append(passes.start, NEVER)
        inside = (end < until[np.searchsorted(until, start)]) & (steps.holding_on_host(start) >= 0)
        inside &= steps.holding_on_host(start) == steps.holding_on_host(end)
        begun = events.start_ns[calls[events.thread[calls] == thread]]
        inside &= np.searchsorted(begun, end) - np.searchsorted(begun, start) >= _PREPARING
        by_thread[thread] = Intervals(start[inside], end[inside])
    return by_thread


#: Ops of DistributedDataParallel.forward while it sends the buffers of rank 0 to all ranks, before it calls the model.
_BUFFER_SYNC = expression(
    r"aten::(un)?flatten_dense_tensors$|aten::(view|narrow|cat|reshape|empty|detach|copy_)$|record_param_comms$|"
    rf"({BACKEND}:|c10d::)broadcast"
)
_BROADCAST = expression(r"\w+:{1,2}_?broadcast")
_DDP_FORWARD = "DistributedDataParallel.forward"


def buffer_syncs(trace: Trace) -> dict[int, Intervals]:
    """Returns when DistributedDataParallel.forward sends buffers, by thread. Each interval lasts from the start of the
    call to the first op at its top level that does not belong to this, if a broadcast came before that op. The result
    is empty for old versions, which do not mark their forward."""
    events, strings = trace.events, trace.strings
    if _DDP_FORWARD not in strings.strings or not any(_BROADCAST.match(name) for name in strings.strings):
        return {}
    rows = np.flatnonzero(events.name == strings.strings.index(_DDP_FORWARD))
    rows = rows[is_in(events.kind[rows], (Kind.USER, Kind.CPU_OP))]
    by_thread: dict[int, list[tuple[int, int]]] = {}
    for row in rows.tolist():
        end = _buffer_sync_end(trace, row)
        if end is not None:
            by_thread.setdefault(int(events.thread[row]), []).append((int(events.start_ns[row]), end))
    return {thread: Intervals.of(*pairs) for thread, pairs in by_thread.items()}


def _buffer_sync_end(trace: Trace, row: int) -> int | None:
    """Returns where the buffer synchronization at the start of this forward ends; None if there is none."""
    events = trace.events
    end_ns = int(trace.events.start_ns[row] + trace.events.dur_ns[row])
    inside = np.arange(row + 1, int(np.searchsorted(events.start_ns, end_ns)))
    is_host = (events.kind[inside] == Kind.CPU_OP) | (events.kind[inside] == Kind.USER)
    inside = inside[is_host & (events.thread[inside] == events.thread[row])]
    reach = np.maximum.accumulate(events.ends(inside)) if len(inside) else np.empty(0, np.int64)
    top = inside[np.append(True, events.start_ns[inside[1:]] >= reach[:-1])] if len(inside) else inside
    names = [trace.strings[name] for name in events.name[top].tolist()]
    prefix = next((place for place, name in enumerate(names) if not _BUFFER_SYNC.match(name)), len(names))
    if not any(_BROADCAST.match(name) for name in names[:prefix]):
        return None
    return int(events.start_ns[top[prefix]]) if prefix < len(names) else end_ns


def closures(trace: Trace, thread: int, start: Int64, end: Int64, passes: Intervals) -> Iterator[tuple[int, int]]:
    """Yields when closures run inside these optimizer marks of the thread, in the order of the marks. Closures of
    nested marks overlap."""
    first, last = np.searchsorted(passes.start, start), np.searchsorted(passes.end, end, side="right")
    for mark in np.flatnonzero(last > first).tolist():
        inside = Intervals(passes.start[first[mark] : last[mark]], passes.end[first[mark] : last[mark]])
        repeats = len(inside) > 1
        calls = _calls(trace, thread, int(start[mark]), int(end[mark])) if repeats else np.empty(0, np.int64)
        yield from _closures_of_mark(int(start[mark]), inside, calls)
    if len(start) and (last > first).any() and last[-1] <= first[-1] and _is_cut(trace, thread, int(end[-1])):
        yield int(start[-1]), int(end[-1])


def _closures_of_mark(start: int, passes: Intervals, calls: Int64) -> Iterator[tuple[int, int]]:
    """Yields start and end of each closure inside one optimizer mark.

    start   start of the first closure
    passes  the backward passes inside the mark, one for each closure
    calls   when an event begins that has the same name as the first event of a closure
    """
    for end, begins in zip(passes.end[:-1].tolist(), passes.start[1:].tolist(), strict=True):
        later = calls[np.searchsorted(calls, end) : np.searchsorted(calls, begins)]
        if len(later):
            yield start, end
            start = int(later[0])
    yield start, int(passes.end[-1])


def _calls(trace: Trace, thread: int, start: int, end: int) -> Int64:
    """Returns when ops and ranges begin inside the mark that have the same name as the first one in it."""
    events = trace.events
    rows = np.arange(*np.searchsorted(events.start_ns, (start, end)))
    rows = rows[(events.thread[rows] == thread) & is_in(events.kind[rows], (Kind.CPU_OP, Kind.USER))]
    rows = rows[(events.start_ns[rows] > start) | (events.ends(rows) < end)]  # without the mark and what encloses it
    return events.start_ns[rows[events.name[rows] == events.name[rows[:1]]]]


def _is_cut(trace: Trace, thread: int, end: int) -> bool:
    """Returns whether the recording ends with this mark, that is, whether its thread calls no op after it."""
    later = slice(int(np.searchsorted(trace.events.start_ns, end)), None)
    return not ((trace.events.thread[later] == thread) & (trace.events.kind[later] == Kind.CPU_OP)).any()
