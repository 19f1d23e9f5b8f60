"""What is known of the batches of one iterator until they are written."""

from __future__ import annotations

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import BEGAN, ENDED, EXHAUSTED, FAILED, NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.arrivals import Arrivals
from tb_steptime.record.loaders.measurements import ProductionMeter


class IteratorState:
    """An iterator's `_tb_steptime`: its journal, and its pass over the data. The iterator may outlive the pass."""

    def __init__(self, journal: Journal) -> None:
        self.begin_ns = now_ns()
        self.requests: dict[int, int] = {}  # batch -> requested_ns
        self.next_due_ns = 0
        self.arrivals: Arrivals | None = None  # of a loader with workers
        self.meter: ProductionMeter | None = None  # of a loader without workers
        self.journal = journal
        self.waiting = journal.waiting
        self._pass_number = journal.pass_number
        self.exhausted = False

    def begin(self, pass_number: int) -> None:
        """A pass over the data begins: numbers of batches start over."""
        self.journal.begin_pass(pass_number)
        self._pass_number = pass_number
        self.requests.clear()
        if self.arrivals is not None:
            self.arrivals.times.clear()
        self.exhausted = False
        self.begin_ns = now_ns()

    def requested(self, first: int, end: int, at_ns: int) -> None:
        """The batches from first on, up to end, were asked for."""
        for batch in range(first, end):
            self.requests[batch] = at_ns

    def ready(self) -> None:
        """iter(loader) returns."""
        ready_ns = now_ns()
        self.journal.add(ready_ns, BEGAN, 0, NO_BATCH, (self.begin_ns, ready_ns))

    def end(self, error: BaseException) -> None:
        """The pass ends with StopIteration, or an error. An iterator may be asked again after its end, when another one
        has begun the next pass: that one is not ended."""
        self.exhausted = isinstance(error, StopIteration)
        if self.journal.pass_number != self._pass_number:
            return
        end_ns = now_ns()
        self.journal.add(end_ns, ENDED, EXHAUSTED if self.exhausted else FAILED, NO_BATCH, (end_ns,))
        self.journal.flush()
        self.journal.check()
