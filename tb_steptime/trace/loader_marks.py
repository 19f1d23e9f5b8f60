"""Where the main process waits for a batch: the marks that PyTorch's DataLoader leaves in a trace.

loader   llllll      llll        one mark for each batch, on the thread that asks for it
"""

from __future__ import annotations

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.table import Bool, Int64, Kind, distinct, is_in

#: What PyTorch calls the wait for the next batch: the iterator's class name (or a subclass's) follows the hash.
LOADER_MARK = expression(r"enumerate\(DataLoader\)#(?P<iterator>.*)\.__next__$|enumerate\(DataPipe\)#(?P<pipe>.*)$")


@shared
def loader_names(trace: Trace) -> Bool:
    """For each row of the string table: is it the mark of a wait for a batch?"""
    return np.array([LOADER_MARK.match(name) is not None for name in trace.strings.strings], bool)


@shared
def loader_rows(trace: Trace) -> Int64:
    """Rows of the waits for a batch, in time order: those of the threads that run the steps."""
    rows = marked_waits(trace)
    return rows[_by_loop(trace, rows)]


def reads_elsewhere(trace: Trace) -> bool:
    """Whether other threads wait for batches, and the thread of the steps never does. If all threads are recorded, so
    is that of a prefetcher, whose waits do not count as waits of the training loop."""
    rows = marked_waits(trace)
    return len(rows) > 0 and not _by_loop(trace, rows).any()


def marked_waits(trace: Trace) -> Int64:
    """Rows of the waits for a batch of all threads, in time order."""
    rows = np.flatnonzero(loader_names(trace).take(trace.events.name))
    return rows[is_in(trace.events.kind[rows], (Kind.USER, Kind.CPU_OP))]


def _by_loop(trace: Trace, rows: Int64) -> Bool:
    """Which of these rows are of a thread that marks steps; without such marks, any may be."""
    threads = distinct(trace.events.thread[step_marks(trace)])
    return is_in(trace.events.thread[rows], threads) if len(threads) else np.ones(len(rows), bool)


@shared
def loader_intervals(trace: Trace) -> Intervals:
    """Returns when the main process waits for a batch."""
    rows = loader_rows(trace)
    return Intervals.of_events(trace.events, rows)


def iterator_of(mark: str) -> str:
    """The class that a loader's mark names.

    >>> iterator_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    '_SingleProcessDataLoaderIter'
    """
    match = LOADER_MARK.match(mark)
    return (match["iterator"] or match["pipe"] or "") if match else ""
