"""A loader with workers: what its iterator requests, receives and returns to the training loop.

    requests  --put-->  worker  --results-->  [thread that pins memory]  -->  training loop
    requested_ns                see `arrivals`                                asked_ns, returned_ns

The loop waits for what is done here, too. Ready batches are counted for each batch; when its message arrived, and when
it was an object, is timed as often as a small share of the time allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import RECEIVED
from tb_steptime.record.loaders.arrivals import NOT_TIMED, Arrivals
from tb_steptime.record.loaders.iterator_state import IteratorState
from tb_steptime.record.loaders.subclassing import swap_methods

#: Arrivals are timed no more often: it takes some ten microseconds.
PERIOD_NS = 20_000_000
#: Of ready batches, where they cannot be counted.
_NOT_COUNTED = -1


def follow_multi_process(iterator: Any) -> None:
    """Record what this iterator receives from now on; its `_tb_steptime` is an `IteratorState`."""
    state: IteratorState = iterator._tb_steptime
    state.arrivals = Arrivals(iterator)
    state.requested(0, iterator._send_idx, now_ns())  # when it was created, just before
    swap_methods(iterator, _timed)


def _timed(cls: Any) -> dict[str, Any]:
    def _reset(self: Any, *args: Any, **named: Any) -> None:
        state: IteratorState = self._tb_steptime
        state.begin(state.journal.pass_number + 1)
        cls._reset(self, *args, **named)
        state.requested(0, self._send_idx, now_ns())
        state.ready()

    def _next_data(self: Any) -> Any:
        return _next(self, cls._next_data)

    return {"_reset": _reset, "_next_data": _next_data}


def _next(self: Any, take: Callable[[Any], Any]) -> Any:
    """take: of the iterator's own class."""
    state = self._tb_steptime
    arrivals: Arrivals = state.arrivals
    try:
        asked_ns = now_ns()
        timed = asked_ns >= state.next_due_ns
        if timed:
            arrivals.switch(self._worker_result_queue, True)
        unsent = self._send_idx
        ready = _NOT_COUNTED
        if arrivals.counts:  # in the queue that the loop reads, or taken from it out of order
            ready = self._data_queue.qsize() + len(self._task_info) - self._tasks_outstanding
        batch = take(self)
        returned_ns = now_ns()
        state.requested(unsent, self._send_idx, returned_ns)  # torch requests the next batch last of all
        number = self._rcvd_idx - 1 if arrivals.in_order else arrivals.latest
        requested_ns, times = state.requests.pop(number, 0), arrivals.times.pop(number, NOT_TIMED)
        values = (requested_ns, asked_ns, *times, returned_ns, ready)
        if timed:
            state.journal.add(returned_ns, RECEIVED, 0, number, values)
            state.next_due_ns = returned_ns + PERIOD_NS
            arrivals.switch(self._worker_result_queue, False)
        else:
            state.waiting.append((RECEIVED, 0, number, values))
    except BaseException as error:  # torch's handler of a worker's death raises at any line
        state.end(error)
        raise
    return batch
