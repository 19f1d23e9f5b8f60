"""What is known of the batches of one iterator until they are written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import BEGAN, ENDED, EXHAUSTED, NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.measurements import Lane

if TYPE_CHECKING:
    from tb_steptime.record.loaders.multi_process import Arrivals

#: arrived_ns, unpickled_ns, pinned_ns of a batch that nobody looked at on its way.
UNTOLD = (0, 0, 0)


class Passage:
    """The way of the batches of one iterator. The thread that pins memory adds to `results`; all else is the loop's."""

    def __init__(self, journal: Journal) -> None:
        self.write_to(journal)
        self.begin_ns = now_ns()
        self.requests: dict[int, int] = {}  # batch -> requested_ns
        self.results: dict[int, tuple[int, int, int]] = {}  # batch -> arrived_ns, unpickled_ns, pinned_ns
        self.latest = NO_BATCH  # the batch that the loop took last
        self.pins = False  # a thread that pins memory stands between the queue of results and the loop
        self.next_look_ns = 0
        self.arrivals: Arrivals | None = None  # of a loader with workers
        self.lane: Lane | None = None  # of a loader without workers
        self.over = False  # the pass came to its end; the iterator may live on

    def write_to(self, journal: Journal) -> None:
        self.journal = journal
        self.waiting = journal.waiting
        self._number = journal.pass_number

    def begin(self, pass_number: int) -> None:
        """A pass over the data begins: numbers of batches start over."""
        self.journal.begin_pass(pass_number)
        self._number = pass_number
        self.requests.clear()
        self.results.clear()
        self.over = False
        self.begin_ns = now_ns()

    def go_on_in(self, journal: Journal) -> None:
        """Another recorder takes over, with the pass that has just begun."""
        self.write_to(journal)
        if self.lane is not None:
            self.lane.write_to(journal)

    def requested(self, first: int, end: int, at_ns: int) -> None:
        """The batches from first on, up to end, were asked for."""
        for batch in range(first, end):
            self.requests[batch] = at_ns

    def ready(self) -> None:
        """iter(loader) returns."""
        ready_ns = now_ns()
        self.journal.add(ready_ns, BEGAN, 0, NO_BATCH, (self.begin_ns, ready_ns))

    def end(self, flags: int) -> None:
        """An iterator may be asked again after its end, when another one has begun the next pass: that goes on."""
        self.over = flags == EXHAUSTED
        if self.journal.pass_number != self._number:
            return
        end_ns = now_ns()
        self.journal.add(end_ns, ENDED, flags, NO_BATCH, (end_ns,))
        self.journal.flush()
        self.journal.check()
