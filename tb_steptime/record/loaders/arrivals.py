"""When the batches of workers arrive in the training process: what its queues are asked and give.

worker  --results-->  [thread that pins memory  --pinned-->]  training loop
        arrived_ns, unpickled_ns                pinned_ns
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import NO_BATCH
from tb_steptime.record.loaders.subclassing import swap_methods

#: arrived_ns, unpickled_ns, pinned_ns of a batch that was not timed.
NOT_TIMED = (0, 0, 0)


class Arrivals:
    """Times the messages of an iterator's result queue, while that is switched on.

    times: batch -> arrived_ns, unpickled_ns, pinned_ns; the thread that pins memory adds to it. latest: the batch that
    the loop took last. Holds neither queue nor iterator: queues are to be closed as soon as their iterator goes.
    """

    def __init__(self, iterator: Any) -> None:
        results = iterator._worker_result_queue
        self.times: dict[int, tuple[int, int, int]] = {}
        self.latest = NO_BATCH
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
