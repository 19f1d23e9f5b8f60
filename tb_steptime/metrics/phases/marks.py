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

from collections.abc import Iterator

import numpy as np

from tb_steptime.metrics.kernel_names.work_kinds import LAYER_OP
from tb_steptime.metrics.phases.sites import NO_MARK, SITE, node_sites, range_sites
from tb_steptime.metrics.phases.threads import autograd_threads, backward_passes, engine_nodes, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.host_ranges import loader_names
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import BACKEND
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Columns, Int64, Kind, UInt8, distinct_in, is_in


class Marks(Columns, frozen=True, eq=False):
    """Marks of one thread, sorted by start, longer ones first. `site` is a place in `SITES`."""

    start: Int64
    end: Int64
    site: UInt8


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
    joined = marks[0].followed_by(*marks[1:])
    return joined.where(np.lexsort((-joined.end, joined.start)))


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
