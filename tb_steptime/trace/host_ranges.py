"""When the host runs an op or a named range. Step marks and the loader's marks do not count as work.

The trace also shows pauses of the program: Python's garbage collection, and the loading of code onto the device.

garbage collection   a Python frame "Python GC", of torch 2.9 and later when asked for (`record_python_gc_info` and
                     stacks); or the frame of a call of gc.collect()
loading              calls that load a module or a function of it; and rows of the profiler's overhead, which CUPTI
                     writes for what a first launch loads, on a track of their own and not on the host's thread

Marks of PyTorch's DataLoader show where the main process waits for a batch.

loader   llllll      llll        one mark for each batch, on the thread that asks for it
"""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, distinct, distinct_in, is_in

#: FSDP2's ranges, and those of FSDP1 that exchange. FSDP1's forward is left out, as it contains the model's own
#: exchanges.
FSDP = expression(r"FSDP::|FullyShardedDataParallel\._")

#: torch.compile's own marks of its work, since 2.0, and the one around them all.
COMPILES = expression(r".*\(dynamo_timed\)$|dynamo$")


@shared
def host_ranges(trace: Trace) -> Intervals:
    """Returns when the host runs an op or a named range."""
    return union_where(trace, is_host_range(trace))


def is_host_range(trace: Trace) -> Bool:
    """Returns which events are ops or named ranges of the host. Marks of steps and of the loader do not count."""
    events = trace.events
    marks = loader_names(trace).copy()
    marks[events.name[step_marks(trace)]] = True
    return ((events.kind == Kind.CPU_OP) | (events.kind == Kind.USER)) & ~marks[events.name]


#: Events joined at once. Most of a trace is host ops; the rows, starts and ends of all of them would be 60 MB for a
#: large one.
JOINED_AT_ONCE = 1 << 18


def union_where(trace: Trace, mask: Bool) -> Intervals:
    """Returns when any event runs for which the mask is set."""
    return Intervals.joined(
        Intervals.of_events(trace.events, first + np.flatnonzero(mask[first : first + JOINED_AT_ONCE]))
        for first in range(0, len(mask), JOINED_AT_ONCE)
    )


_LOADER_MARKS = ("enumerate(DataLoader)#", "enumerate(DataPipe)#")
_OPTIMIZER_MARK = expression(r"^Optimizer\.(\w+)#.*$", re.DOTALL)


def user_ranges(trace: Trace) -> Int64:
    """Returns the rows of the host's named ranges, without step marks, in time order."""
    return np.setdiff1d(trace.events.rows(Kind.USER), step_marks(trace), assume_unique=True)


def named_ranges(trace: Trace) -> dict[str, Intervals]:
    """Returns when each named range of the host is open, by name. Step marks and the loader's ranges are left out."""
    events, rows = trace.events, user_ranges(trace)
    named: dict[str, Intervals] = {}
    for name in distinct_in(events.name[rows]).tolist():
        with_name = rows[events.name[rows] == name]
        if not trace.strings[name].startswith(_LOADER_MARKS):
            named[trace.strings[name]] = Intervals.of_events(events, with_name)
    return named


def short_range(name: str) -> str:
    """Returns the word for a range. torch names an optimizer's range `Optimizer.zero_grad#SGD.zero_grad`. "step" alone
    would mean a training step, so the optimizer's step keeps its prefix.

    >>> short_range("Optimizer.zero_grad#SGD.zero_grad"), short_range("Optimizer.step#SGD.step")
    ('zero_grad', 'Optimizer.step')
    """
    word = _OPTIMIZER_MARK.sub(r"\1", name)
    return "Optimizer.step" if word == "step" != name else word


GARBAGE_COLLECTION = expression(r"Python GC$|<built-in (function|method) collect( of module object.*)?>$")
#: Loading is lazy since CUDA 11.8: a module is loaded at its first use, a kernel when its function is requested.
LOADING_CALL = expression(
    r"cu(Module(Load|GetFunction)|Library(Load|GetKernel|GetModule)|KernelGetFunction|Link(Create|Add|Complete))"
    r"|cudaLibrary(Load|GetKernel)|hip(Module|Library)(Load|Get(Function|Kernel))"
)
LOADING_OVERHEAD = expression(r"Lazy Function Loading$|Runtime Triggered Module Loading$")


def garbage_collections(trace: Trace) -> Int64:
    """Returns the rows of the recorded garbage collections, in time order. A recorded one lies within the call for
    it."""
    return rows_named(trace, (Kind.PYTHON,), GARBAGE_COLLECTION.match)


def loading_calls(trace: Trace) -> Int64:
    """Returns the rows of the calls that load code, in time order; a driver's call may lie in a runtime's."""
    return rows_named(trace, CALL_KINDS, LOADING_CALL.match)


def loading_overheads(trace: Trace) -> Int64:
    """Returns the rows of the profiler's track for the loading of code, in time order."""
    return rows_named(trace, (Kind.OVERHEAD,), LOADING_OVERHEAD.match)


#: What PyTorch calls the wait for the next batch: the iterator's class name (or a subclass's) follows the hash.
LOADER_MARK = expression(r"enumerate\(DataLoader\)#(?P<iterator>.*)\.__next__$|enumerate\(DataPipe\)#(?P<pipe>.*)$")


@shared
def loader_names(trace: Trace) -> Bool:
    """Returns for each row of the string table whether it is the mark of a wait for a batch."""
    return np.array([LOADER_MARK.match(name) is not None for name in trace.strings.strings], bool)


@shared
def loader_rows(trace: Trace) -> Int64:
    """Returns the rows of the waits for a batch, in time order: those of the threads that run the steps."""
    rows = marked_waits(trace)
    return rows[_by_loop(trace, rows)]


def reads_elsewhere(trace: Trace) -> bool:
    """Returns whether other threads wait for batches, and the thread of the steps never does. If all threads are
    recorded, so is that of a prefetcher, whose waits do not count as waits of the training loop."""
    rows = marked_waits(trace)
    return len(rows) > 0 and not _by_loop(trace, rows).any()


def marked_waits(trace: Trace) -> Int64:
    """Returns the rows of the waits for a batch of all threads, in time order."""
    rows = np.flatnonzero(loader_names(trace).take(trace.events.name))
    return rows[is_in(trace.events.kind[rows], (Kind.USER, Kind.CPU_OP))]


def _by_loop(trace: Trace, rows: Int64) -> Bool:
    """Returns which of these rows are of a thread that marks steps. Without such marks, all rows count."""
    threads = distinct(trace.events.thread[step_marks(trace)])
    return is_in(trace.events.thread[rows], threads) if len(threads) else np.ones(len(rows), bool)


@shared
def loader_intervals(trace: Trace) -> Intervals:
    """Returns when the main process waits for a batch."""
    rows = loader_rows(trace)
    return Intervals.of_events(trace.events, rows)


def iterator_of(mark: str) -> str:
    """Returns the class that a loader's mark names.

    >>> iterator_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    '_SingleProcessDataLoaderIter'
    """
    match = LOADER_MARK.match(mark)
    return (match["iterator"] or match["pipe"] or "") if match else ""


@shared
def compiling(trace: Trace) -> Intervals:
    """Returns when torch.compile works on any thread, or looks up compiled code. It traces forward and backward passes
    of tensors without data, on which ops and autograd nodes are recorded as if they ran."""
    marks = (Kind.CPU_OP, Kind.USER)
    rows = rows_named(trace, marks, lambda name: COMPILES.match(name) or name.startswith("TorchDynamo "))
    return Intervals.of_events(trace.events, rows)
