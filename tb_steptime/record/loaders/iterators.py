"""What a loader's iterator gives to the training loop, and which pass over the data it makes.

With workers: what it receives and returns. The code here takes two microseconds a batch, for which the loop waits.

    worker  --results-->  [thread that pins memory  --pinned-->]  training loop
            arrived_ns, unpickled_ns                pinned_ns     next_called_ns, returned_ns

Without workers it produces each batch when the loop asks for it, and the loop waits.

    next(iterator)   |--- sampler ---|---- dataset ----|-- collate --|- pin -|
                     next_called_ns  start_ns          collate_ns    end_ns  pinned_ns
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import BEGAN, ENDED, EXHAUSTED, FAILED, NO_BATCH, RECEIVED
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.hooks import swap_methods
from tb_steptime.record.loaders.production import ProductionMeter, time_fetcher
from tb_steptime.record.steps import waited_ns

#: arrived_ns, unpickled_ns, pinned_ns of a batch whose message was read before recording began.
_NOT_TIMED = (0, 0, 0)


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
        """Called when iter(loader) returns."""
        ready_ns = now_ns()
        self.journal.add(ready_ns, BEGAN, 0, NO_BATCH, (self._begin_ns, ready_ns))

    def end(self, error: BaseException) -> None:
        """Ends the pass, with StopIteration or an error. An iterator may be called again after its end, when another
        one has begun the next pass: that pass is not ended."""
        self.exhausted = isinstance(error, StopIteration)
        if self.journal.pass_number != self._pass_number:
            return
        end_ns = now_ns()
        self.journal.add(end_ns, ENDED, EXHAUSTED if self.exhausted else FAILED, NO_BATCH, (end_ns,))
        self.journal.flush()
        self.journal.check()


def follow_multi_process(iterator: Any) -> None:
    """Record what a newly created iterator receives; its `_tb_steptime` is an `IteratorState`."""
    iterator._tb_steptime_arrivals = Arrivals(iterator)
    swap_methods(iterator, _timed_multi_process)


class Arrivals:
    """When the messages of batches arrived.

    times: batch -> arrived_ns, unpickled_ns, pinned_ns; the thread that pins memory adds to it. latest: the batch that
    the loop took last. Refers to neither queue nor iterator, so that queues are closed as soon as their iterator is
    freed.
    """

    def __init__(self, iterator: Any) -> None:
        results = iterator._worker_result_queue
        self.times: dict[int, tuple[int, int, int]] = {}
        self.latest = NO_BATCH
        self.arrived_ns = [0]  # of the latest message; a list, so that the timed function does not hold this object
        self.in_order = getattr(iterator, "_in_order", True)
        self.pins = iterator._data_queue is not results
        results._recv_bytes = _timed_receive(results._recv_bytes, self.arrived_ns)
        results._tb_steptime = self
        swap_methods(results, _timed_results)
        if self.pins:
            iterator._data_queue._tb_steptime = self
            swap_methods(iterator._data_queue, _timed_pinned)


def _timed_receive(receive: Callable[..., Any], arrived_ns: list[int]) -> Callable[..., Any]:
    def timed_receive(*args: Any) -> Any:
        message = receive(*args)
        arrived_ns[0] = now_ns()
        return message

    return timed_receive


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


def _timed_multi_process(cls: Any) -> dict[str, Any]:
    def _reset(self: Any, *args: Any, **named: Any) -> None:
        state: IteratorState = self._tb_steptime
        state.begin(state.journal.pass_number + 1)
        self._tb_steptime_arrivals.times.clear()  # numbers of batches start over
        cls._reset(self, *args, **named)
        state.ready()

    def _next_data(self: Any) -> Any:
        state: IteratorState = self._tb_steptime
        arrivals: Arrivals = self._tb_steptime_arrivals
        try:
            next_called_ns = now_ns()
            batch = cls._next_data(self)
            returned_ns = now_ns()
            waited_ns[get_ident()] += returned_ns - next_called_ns
            number = self._rcvd_idx - 1 if arrivals.in_order else arrivals.latest
            times = arrivals.times.pop(number, _NOT_TIMED)
            state.journal.add(returned_ns, RECEIVED, 0, number, (0, next_called_ns, *times, returned_ns))
        except BaseException as error:  # torch's handler of a worker's death raises at any line
            state.end(error)
            raise
        return batch

    return {"_reset": _reset, "_next_data": _next_data}


def follow_single_process(iterator: Any) -> None:
    """Record what this iterator produces from now on; its `_tb_steptime` is an `IteratorState`."""
    meter = iterator._tb_steptime_meter = ProductionMeter(iterator._tb_steptime.journal)
    time_fetcher(iterator._dataset_fetcher, meter)
    swap_methods(iterator, _timed_single_process)


def _timed_single_process(cls: Any) -> dict[str, Any]:
    def _next_data(self: Any) -> Any:
        state: IteratorState = self._tb_steptime
        meter: ProductionMeter = self._tb_steptime_meter
        meter.batch = self._num_yielded
        meter.requested_ns = now_ns()
        try:
            batch = cls._next_data(self)
        except BaseException as error:
            state.end(error)
            raise
        next_called_ns, pinned_ns = meter.requested_ns, now_ns()
        waited_ns[get_ident()] += pinned_ns - next_called_ns
        if self._pin_memory:
            times = (0, next_called_ns, meter.end_ns, meter.end_ns, pinned_ns, pinned_ns)
            state.journal.add(pinned_ns, RECEIVED, 0, meter.batch, times)
        return batch

    return {"_next_data": _next_data}
