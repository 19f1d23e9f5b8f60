"""A loader without workers: its iterator produces each batch when the training loop asks for it, and the loop waits.

next(iterator)   |- sampler -|---- dataset ----|-- collate --|- pin -|
                 asked_ns    start_ns          collate_ns    end_ns  pinned_ns
"""

from __future__ import annotations

from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import RECEIVED
from tb_steptime.record.loaders.fetchers import time_fetcher
from tb_steptime.record.loaders.iterator_state import IteratorState
from tb_steptime.record.loaders.measurements import ProductionMeter
from tb_steptime.record.loaders.subclassing import swap_methods


def follow_single_process(iterator: Any) -> None:
    """Record what this iterator produces from now on; its `_tb_steptime` is an `IteratorState`."""
    meter = iterator._tb_steptime_meter = ProductionMeter(iterator._tb_steptime.journal)
    time_fetcher(iterator._dataset_fetcher, meter)
    swap_methods(iterator, _timed_iterator)


def _timed_iterator(cls: Any) -> dict[str, Any]:
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
            times = (0, asked_ns, meter.end_ns, meter.end_ns, pinned_ns, pinned_ns)
            state.journal.add(pinned_ns, RECEIVED, 0, meter.batch, times)
        return batch

    return {"_next_data": _next_data}
