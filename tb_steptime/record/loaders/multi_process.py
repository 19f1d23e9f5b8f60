"""A loader with workers: what its iterator requests, receives and returns to the training loop.

    requests  --put-->  worker  --results-->  [thread that pins memory  --pinned-->]  training loop
    requested_ns                arrived_ns, unpickled_ns                pinned_ns     asked_ns, returned_ns

The loop waits for what is done here, too. Ready batches are counted for each batch; when its message arrived, and when
it was an object, is timed as often as a small share of the time allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import NO_BATCH, RECEIVED
from tb_steptime.record.loaders.iterator_state import IteratorState
from tb_steptime.record.loaders.subclassing import swap_methods

#: Arrivals are timed no more often: it takes some ten microseconds.
PERIOD_NS = 20_000_000
#: arrived_ns, unpickled_ns, pinned_ns of a batch that was not timed.
_NOT_TIMED = (0, 0, 0)
#: Of ready batches, where they cannot be counted.
_NOT_COUNTED = -1


def follow_multi_process(iterator: Any) -> None:
    """Record what this iterator, which was just created, receives; its `_tb_steptime` is an `IteratorState`."""
    arrivals = iterator._tb_steptime_arrivals = Arrivals(iterator)
    arrivals.requested(0, iterator._send_idx, now_ns())
    swap_methods(iterator, _timed_iterator)


class Arrivals:
    """The batches that an iterator has asked for: when, and when their messages arrived, while that is timed.

    requests: batch -> requested_ns. times: batch -> arrived_ns, unpickled_ns, pinned_ns; the thread that pins memory
    adds to it. latest: the batch that the loop took last. Holds neither queue nor iterator: queues are to be closed as
    soon as their iterator goes.
    """

    def __init__(self, iterator: Any) -> None:
        results = iterator._worker_result_queue
        self.requests: dict[int, int] = {}
        self.times: dict[int, tuple[int, int, int]] = {}
        self.latest = NO_BATCH
        self.next_due_ns = 0
        self.arrived_ns = [0]  # of the latest message; a list, so that the timed function does not hold this object
        self.in_order = getattr(iterator, "_in_order", True)
        self.pins = iterator._data_queue is not results
        self.counts = _can_count(iterator._data_queue)
        self._plain: tuple[type, Callable[..., Any]] = (type(results), results._recv_bytes)
        self._timed = self._follow(results)
        if self.pins:
            iterator._data_queue._tb_steptime = self
            swap_methods(iterator._data_queue, _timed_pinned)

    def _follow(self, results: Any) -> tuple[type, Callable[..., Any]]:
        receive, arrived_ns = results._recv_bytes, self.arrived_ns

        def timed_receive(*args: Any) -> Any:
            message = receive(*args)
            arrived_ns[0] = now_ns()
            return message

        results._tb_steptime = self
        swap_methods(results, _timed_results)
        results._recv_bytes = timed_receive
        return type(results), timed_receive

    def switch(self, results: Any, on: bool) -> None:
        """Off only where each message belongs to the batch that the loop waits for, in order and in its own thread."""
        on = on or self.pins or not self.in_order
        results.__class__, results._recv_bytes = self._timed if on else self._plain

    def requested(self, first: int, end: int, at_ns: int) -> None:
        """The batches from first on, up to end, were asked for."""
        for batch in range(first, end):
            self.requests[batch] = at_ns

    def clear(self) -> None:
        """A pass over the data begins: numbers of batches start over."""
        self.requests.clear()
        self.times.clear()


def _can_count(queue: Any) -> bool:
    try:
        queue.qsize()
    except NotImplementedError:  # macOS
        return False
    return True


def _timed_results(cls: Any) -> dict[str, Any]:
    def get(self: Any, *args: Any, **named: Any) -> Any:
        result = cls.get(self, *args, **named)
        batch = result[0]
        if type(batch) is int:
            arrivals: Arrivals = self._tb_steptime
            arrivals.times[batch] = (arrivals.arrived_ns[0], now_ns(), 0)
            if not arrivals.pins:
                arrivals.latest = batch
        return result

    return {"get": get}


def _timed_pinned(cls: Any) -> dict[str, Any]:
    def put(self: Any, result: Any, *args: Any, **named: Any) -> None:
        arrivals: Arrivals = self._tb_steptime
        times = arrivals.times.get(result[0])
        if times is not None:
            arrivals.times[result[0]] = (*times[:2], now_ns())
        cls.put(self, result, *args, **named)

    def get(self: Any, *args: Any, **named: Any) -> Any:
        result = cls.get(self, *args, **named)
        self._tb_steptime.latest = result[0]
        return result

    return {"put": put, "get": get}


def _timed_iterator(cls: Any) -> dict[str, Any]:
    def _reset(self: Any, *args: Any, **named: Any) -> None:
        state: IteratorState = self._tb_steptime
        arrivals: Arrivals = self._tb_steptime_arrivals
        state.begin(state.journal.pass_number + 1)
        arrivals.clear()
        cls._reset(self, *args, **named)
        arrivals.requested(0, self._send_idx, now_ns())
        state.ready()

    def _next_data(self: Any) -> Any:
        return _next(self, cls._next_data)

    return {"_reset": _reset, "_next_data": _next_data}


def _next(self: Any, take: Callable[[Any], Any]) -> Any:
    """take: of the iterator's own class."""
    state = self._tb_steptime
    arrivals: Arrivals = self._tb_steptime_arrivals
    try:
        asked_ns = now_ns()
        timed = asked_ns >= arrivals.next_due_ns
        if timed:
            arrivals.switch(self._worker_result_queue, True)
        unsent = self._send_idx
        ready = _NOT_COUNTED
        if arrivals.counts:  # in the queue that the loop reads, or taken from it out of order
            ready = self._data_queue.qsize() + len(self._task_info) - self._tasks_outstanding
        batch = take(self)
        returned_ns = now_ns()
        arrivals.requested(unsent, self._send_idx, returned_ns)  # torch requests the next batch last of all
        number = self._rcvd_idx - 1 if arrivals.in_order else arrivals.latest
        requested_ns, times = arrivals.requests.pop(number, 0), arrivals.times.pop(number, _NOT_TIMED)
        values = (requested_ns, asked_ns, *times, returned_ns, ready)
        if timed:
            state.journal.add(returned_ns, RECEIVED, 0, number, values)
            arrivals.next_due_ns = returned_ns + PERIOD_NS
            arrivals.switch(self._worker_result_queue, False)
        else:
            state.waiting.append((RECEIVED, 0, number, values))
    except BaseException as error:  # torch's handler of a worker's death raises at any line
        state.end(error)
        raise
    return batch
