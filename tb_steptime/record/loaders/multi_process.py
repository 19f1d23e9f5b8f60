"""A loader with workers: what its iterator asks of them, receives and hands to the training loop.

    requests  --put-->  worker  --results-->  [thread that pins memory]  -->  training loop
    requested_ns                arrived_ns, unpickled_ns     pinned_ns        asked_ns, returned_ns

The loop waits for what is written here, too. How many batches lie ready is counted for each; when a batch's message
came, and when it was an object, is looked at as often as a small share of the time allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import EXHAUSTED, FAILED, RECEIVED
from tb_steptime.record.loaders.batch_states import UNTOLD, Passage
from tb_steptime.record.loaders.subclassing import swap_methods

#: A look takes some ten microseconds.
LOOK_AGAIN_NS = 20_000_000


def follow_multi_process(iterator: Any, new: bool) -> None:
    """Record what this iterator receives from now on; its `_tb_steptime` is a `Passage`. new: it was just made."""
    passage: Passage = iterator._tb_steptime
    results = iterator._worker_result_queue
    passage.arrivals = Arrivals(results, passage)
    if iterator._data_queue is not results:
        passage.pins = True
        iterator._data_queue._tb_steptime = passage
        swap_methods(iterator._data_queue, _timed_pinned)
    if new:  # the first requests were made just before; when those of a later pass were made, is not known
        passage.requested(0, iterator._send_idx, now_ns())
    swap_methods(iterator, _counted if _can_count(results) else _not_counted)


def _can_count(queue: Any) -> bool:
    try:
        queue.qsize()
    except NotImplementedError:  # macOS
        return False
    return True


class Arrivals:
    """Tells when the messages of a queue came and were objects, where that is wanted.

    Holds neither the queue nor what holds it: a loader's queues are to be closed as soon as it goes.
    """

    def __init__(self, results: Any, passage: Passage) -> None:
        came = [0]
        receive = results._recv_bytes

        def timed_receive(*args: Any) -> Any:
            message = receive(*args)
            came[0] = now_ns()
            return message

        self.came = came
        self._plain: tuple[type, Callable[..., Any]] = (type(results), receive)
        results._tb_steptime = passage
        swap_methods(results, _timed_results)
        self._timed: tuple[type, Callable[..., Any]] = (type(results), timed_receive)
        results._recv_bytes = timed_receive

    def want(self, results: Any, wanted: bool) -> None:
        results.__class__, results._recv_bytes = self._timed if wanted else self._plain


def _timed_results(cls: Any) -> dict[str, Any]:
    def get(self: Any, *args: Any, **named: Any) -> Any:
        result = cls.get(self, *args, **named)
        batch = result[0]
        if type(batch) is int:
            passage: Any = self._tb_steptime
            passage.results[batch] = (passage.arrivals.came[0], now_ns(), 0)
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


def _counted(cls: Any) -> dict[str, Any]:
    return _methods(cls, counts=True)


def _not_counted(cls: Any) -> dict[str, Any]:
    return _methods(cls, counts=False)


def _methods(cls: Any, counts: bool) -> dict[str, Any]:
    def _reset(self: Any, *args: Any, **named: Any) -> None:
        passage: Passage = self._tb_steptime
        passage.begin(passage.journal.pass_number + 1)
        cls._reset(self, *args, **named)
        passage.requested(0, self._send_idx, now_ns())
        passage.ready()

    def _next_data(self: Any) -> Any:
        passage: Any = self._tb_steptime
        asked_ns = now_ns()
        looks = asked_ns >= passage.next_look_ns
        if looks:
            passage.arrivals.want(self._worker_result_queue, True)
        outstanding, unsent = self._tasks_outstanding, self._send_idx
        ready = unpinned = -1
        if counts:  # in the queue that the loop reads, or taken from it out of turn
            ready = self._data_queue.qsize() + len(self._task_info) - outstanding
            unpinned = self._worker_result_queue.qsize() if passage.pins else 0
        try:
            data = cls._next_data(self)
        except BaseException as error:
            passage.end(EXHAUSTED if isinstance(error, StopIteration) else FAILED)
            raise
        returned_ns = now_ns()
        for batch in range(unsent, self._send_idx):  # for a batch that came another one is asked for, last of all
            passage.requests[batch] = returned_ns
        # Without order, a batch is returned as it comes; with order, the one that was next in line.
        in_order = getattr(self, "_in_order", True)
        batch = self._rcvd_idx - 1 if in_order else passage.latest
        arrived, unpickled, pinned = passage.results.pop(batch, UNTOLD)
        requested = passage.requests.pop(batch, 0)
        values = (requested, asked_ns, arrived, unpickled, pinned, returned_ns, ready, outstanding, unpinned)
        if looks:
            passage.journal.add(returned_ns, RECEIVED, 0, batch, values)
            passage.next_look_ns = returned_ns + LOOK_AGAIN_NS
            passage.arrivals.want(self._worker_result_queue, passage.pins or not in_order)
        else:
            passage.waiting.append((RECEIVED, 0, batch, values))
        return data

    return {"_reset": _reset, "_next_data": _next_data}
