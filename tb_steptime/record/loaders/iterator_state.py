"""Which pass over the data an iterator makes, and where it is written."""

from __future__ import annotations

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import BEGAN, ENDED, EXHAUSTED, FAILED, NO_BATCH
from tb_steptime.record.file.journal import Journal


class IteratorState:
    """An iterator's `_tb_steptime`: its journal, and its pass over the data. The iterator may outlive the pass."""

    def __init__(self, journal: Journal, pass_number: int) -> None:
        self.journal = journal
        self.begin(pass_number)

    def begin(self, pass_number: int) -> None:
        self.journal.begin_pass(pass_number)
        self._pass_number = pass_number
        self.exhausted = False
        self._begin_ns = now_ns()

    def ready(self) -> None:
        """iter(loader) returns."""
        ready_ns = now_ns()
        self.journal.add(ready_ns, BEGAN, 0, NO_BATCH, (self._begin_ns, ready_ns))

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
