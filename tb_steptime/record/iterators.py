"""The main process's side: what a loader's iterator asks for, receives and hands to the training loop.

Relies on what the iterators of `torch/utils/data/dataloader.py` do. They keep their classes' names, so that the marks
"enumerate(DataLoader)#..." in traces stay as they are.

    requests  --put-->  worker  --results-->  [thread that pins memory]  -->  training loop
    requested_ns                arrived_ns, unpickled_ns     pinned_ns        asked_ns, returned_ns
"""

from __future__ import annotations

from typing import Any

from tb_steptime.record.clock import now_ns
from tb_steptime.record.format import BEGAN, ENDED, EXHAUSTED, FAILED, NO_BATCH, RECEIVED
from tb_steptime.record.journal import Journal
from tb_steptime.record.lane import Lane
from tb_steptime.record.single_process import follow_single_process
from tb_steptime.record.swap import is_swapped, swap_methods


class Passage:
    """The way of the batches of one iterator. The thread that pins memory adds to `results`; all else is the loop's."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.begin_ns = now_ns()
        self.requests: dict[int, int] = {}  # batch -> requested_ns
        self.results: dict[int, tuple[int, int, int]] = {}  # batch -> arrived_ns, unpickled_ns, pinned_ns
        self.message_ns = 0
        self.latest = NO_BATCH  # the batch that the loop took last
        self.pins = False  # a thread that pins memory stands between the queue of results and the loop
        self.lane: Lane | None = None
        self.over = False  # the pass came to its end; the iterator may live on

    def begin(self, pass_number: int) -> None:
        """A pass over the data begins: numbers of batches start over."""
        self.journal.begin_pass(pass_number)
        self.requests.clear()
        self.results.clear()
        self.over = False
        self.begin_ns = now_ns()

    def go_on_in(self, journal: Journal) -> None:
        """Another recorder takes over, with the pass that has just begun."""
        self.journal = journal
        if self.lane is not None:
            self.lane.write_to(journal)

    def ready(self) -> None:
        """iter(loader) returns."""
        ready_ns = now_ns()
        self.journal.add(ready_ns, BEGAN, 0, NO_BATCH, (self.begin_ns, ready_ns))

    def end(self, flags: int) -> None:
        self.over = flags == EXHAUSTED
        end_ns = now_ns()
        self.journal.add(end_ns, ENDED, flags, NO_BATCH, (end_ns,))
        self.journal.flush()
        self.journal.check()

    def requested(self, first: int, end: int, at_ns: int) -> None:
        """The batches from first on, up to end, were asked for."""
        for batch in range(first, end):
            self.requests[batch] = at_ns

    def received(self, batch: int, asked_ns: int, returned_ns: int, depths: tuple[int, int, int]) -> None:
        """depths: ready, outstanding, unpinned, when asked."""
        requested_ns = self.requests.pop(batch, 0)
        times = (requested_ns, asked_ns, *self.results.pop(batch, (0, 0, 0)), returned_ns)
        self.journal.add(returned_ns, RECEIVED, 0, batch, (*times, *depths))


def follow(iterator: Any, passage: Passage, new: bool = True) -> None:
    """Record what the iterator does from here on. It was just made, or (not new) goes on with a new pass, as one that
    another recorder may have followed before. Raises AttributeError for an iterator of another make."""
    if is_swapped(iterator):
        iterator._tb_steptime.go_on_in(passage.journal)
        iterator._tb_steptime.ready()
        return
    iterator._tb_steptime = passage
    if hasattr(iterator, "_dataset_fetcher"):
        follow_single_process(iterator)
    else:
        _follow_queues(iterator, passage)
        if new:  # the first requests were made just before; when those of a later pass were made, is not known
            passage.requested(0, iterator._send_idx, now_ns())
        swap_methods(iterator, _multi_process)
    passage.ready()


def _follow_queues(iterator: Any, passage: Passage) -> None:
    results = iterator._worker_result_queue
    receive = results._recv_bytes

    def timed_receive(*args: Any) -> Any:
        message = receive(*args)
        passage.message_ns = now_ns()
        return message

    results._recv_bytes = timed_receive
    results._tb_steptime = passage
    swap_methods(results, _timed_results)
    if iterator._data_queue is not results:
        passage.pins = True
        iterator._data_queue._tb_steptime = passage
        swap_methods(iterator._data_queue, _timed_pinned)


def _timed_results(cls: Any) -> dict[str, Any]:
    def get(self: Any, *args: Any, **named: Any) -> Any:
        result = cls.get(self, *args, **named)
        batch = result[0]
        if type(batch) is int:
            passage: Passage = self._tb_steptime
            passage.results[batch] = (passage.message_ns, now_ns(), 0)
            if not passage.pins:
                passage.latest = batch
        return result

    return {"get": get}


def _timed_pinned(cls: Any) -> dict[str, Any]:
    def put(self: Any, result: Any, *args: Any, **named: Any) -> None:
        passage: Passage = self._tb_steptime
        times = passage.results.get(result[0])
        if times is not None:
            passage.results[result[0]] = (*times[:2], now_ns())
        cls.put(self, result, *args, **named)

    def get(self: Any, *args: Any, **named: Any) -> Any:
        result = cls.get(self, *args, **named)
        self._tb_steptime.latest = result[0]
        return result

    return {"put": put, "get": get}


def _multi_process(cls: Any) -> dict[str, Any]:
    def _reset(self: Any, *args: Any, **named: Any) -> None:
        passage: Passage = self._tb_steptime
        passage.begin(passage.journal.pass_number + 1)
        cls._reset(self, *args, **named)
        passage.requested(0, self._send_idx, now_ns())
        passage.ready()

    def _next_data(self: Any) -> Any:
        passage: Passage = self._tb_steptime
        asked_ns = now_ns()
        depths = _depths(self)
        unsent = self._send_idx
        try:
            data = cls._next_data(self)
        except BaseException as error:
            passage.end(EXHAUSTED if isinstance(error, StopIteration) else FAILED)
            raise
        returned_ns = now_ns()
        if self._send_idx != unsent:  # for a batch that came another one is asked for, last of all
            passage.requested(unsent, self._send_idx, returned_ns)
        # Without order, a batch is returned as it comes; with order, the one that was next in line.
        batch = self._rcvd_idx - 1 if getattr(self, "_in_order", True) else passage.latest
        passage.received(batch, asked_ns, returned_ns, depths)
        return data

    return {"_reset": _reset, "_next_data": _next_data}


def _depths(iterator: Any) -> tuple[int, int, int]:
    """Ready: in the queue that the loop reads, or taken from it out of turn. -1 where queues cannot be counted."""
    outstanding = iterator._tasks_outstanding
    early = len(iterator._task_info) - outstanding
    results = iterator._worker_result_queue
    try:
        ready = iterator._data_queue.qsize() + early
        unpinned = results.qsize() if results is not iterator._data_queue else 0
    except NotImplementedError:
        return -1, outstanding, -1
    return ready, outstanding, unpinned
