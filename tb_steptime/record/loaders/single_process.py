"""A loader without workers: its iterator produces each batch when the training loop asks for it, and the loop waits.

next(iterator)   |- sampler -|---- dataset ----|-- collate --|
                 asked_ns    start_ns          collate_ns    end_ns

So a thousand times a second the loop waits for what is done here, too. Where iterator and fetcher are torch's own and
the dataset is map-style, as most are, one function does what their three do, and reads the clock in between: this
halves the cost.
"""

from __future__ import annotations

from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import FAILED, PRODUCED, RECEIVED
from tb_steptime.record.loaders.fetchers import time_fetcher
from tb_steptime.record.loaders.iterator_state import IteratorState
from tb_steptime.record.loaders.measurements import NOT_MEASURED, UNKNOWN, ProductionMeter
from tb_steptime.record.loaders.subclassing import refers_to, swap_methods

#: What torch's own functions refer to, in all versions tried. One that refers to more is not replaced.
_NEXT_DATA = {"_next_index", "_dataset_fetcher", "fetch", "_pin_memory", "_utils", "pin_memory", "_pin_memory_device"}
_FETCH = {"auto_collation", "hasattr", "dataset", "__getitems__", "collate_fn"}


def follow_single_process(iterator: Any) -> None:
    """Record what this iterator produces from now on; its `_tb_steptime` is an `IteratorState`."""
    meter = iterator._tb_steptime_meter = ProductionMeter(iterator._tb_steptime.journal)
    if _is_torchs_own(iterator):
        swap_methods(iterator, _in_one_function)
    else:
        time_fetcher(iterator._dataset_fetcher, meter)
        swap_methods(iterator, _around_torchs)


def _is_torchs_own(iterator: Any) -> bool:
    """For map-style datasets, without pinned memory."""
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    fetcher = iterator._dataset_fetcher
    return (
        type(fetcher) is _MapDatasetFetcher
        and not iterator._pin_memory
        and refers_to(fetcher.fetch, _FETCH)
        and refers_to(iterator._next_data, _NEXT_DATA)
    )


def _in_one_function(cls: Any) -> dict[str, Any]:
    return {"_next_data": _next_of_map}


def _next_of_map(self: Any) -> Any:
    """Calls of our own only where a measurement is due: each would add to what the loop waits for."""
    meter: ProductionMeter = self._tb_steptime_meter
    asked_ns = now_ns()
    due = asked_ns >= meter.next_due_ns
    start_ns = collate_ns = 0
    number = UNKNOWN
    try:
        index = self._next_index()
        fetcher = self._dataset_fetcher
        dataset = fetcher.dataset
        start_ns = now_ns()
        if due:
            meter.start()
        if not fetcher.auto_collation:
            samples = dataset[index]
        else:
            many = getattr(dataset, "__getitems__", None)
            samples = many(index) if many else [dataset[each] for each in index]
            if not many or isinstance(samples, (list, tuple)):
                number = len(samples)
        collate_ns = now_ns()
        if due:
            meter.collate()
        batch = fetcher.collate_fn(samples)
    except BaseException as error:
        _failed(self, error, (asked_ns, start_ns, collate_ns), number)
        raise
    end_ns = now_ns()
    if due:
        values = (asked_ns, start_ns, collate_ns, end_ns, *meter.end(batch, end_ns), number)
        meter.journal.add(end_ns, PRODUCED, 0, self._num_yielded, values)
    else:
        values = (asked_ns, start_ns, collate_ns, end_ns, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, number)
        meter.waiting.append((PRODUCED, 0, self._num_yielded, values))
    return batch


def _failed(self: Any, error: BaseException, times: tuple[int, int, int], number: int) -> None:
    asked_ns, start_ns, collate_ns = times
    state: IteratorState = self._tb_steptime
    end_ns = now_ns()
    if start_ns:
        values = (asked_ns, start_ns, collate_ns or end_ns, end_ns, *NOT_MEASURED, number)
        state.journal.add(end_ns, PRODUCED, FAILED, self._num_yielded, values)
    state.end(error)


def _around_torchs(cls: Any) -> dict[str, Any]:
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
        if self._pin_memory:
            asked_ns, pinned_ns = meter.requested_ns, now_ns()
            times = (asked_ns, asked_ns, meter.end_ns, meter.end_ns, pinned_ns, pinned_ns)
            state.journal.add(pinned_ns, RECEIVED, 0, meter.batch, (*times, 0))
        return batch

    return {"_next_data": _next_data}
