"""A loader without workers: its iterator makes each batch when the training loop asks for it, and the loop waits.

next(iterator)   |- sampler -|---- dataset ----|-- collate --|
                 asked_ns    start_ns          collate_ns    end_ns

So a thousand times a second the loop waits for what is written here. Where iterator and fetcher are torch's own and the
data set has an index, as most have, one function does what their three do, and reads the clock in between.
"""

from __future__ import annotations

from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import EXHAUSTED, FAILED, PRODUCED, RECEIVED
from tb_steptime.record.loaders.batch_bytes import UNKNOWN
from tb_steptime.record.loaders.batch_states import Passage
from tb_steptime.record.loaders.fetchers import time_fetcher
from tb_steptime.record.loaders.measurements import NOT_LOOKED, Lane
from tb_steptime.record.loaders.subclassing import refers_to, swap_methods

#: What torch's own functions refer to, in all versions tried. Where one does more it is left to work.
_NEXT_DATA = {"_next_index", "_dataset_fetcher", "fetch", "_pin_memory", "_utils", "pin_memory", "_pin_memory_device"}
_FETCH = {"auto_collation", "hasattr", "dataset", "__getitems__", "collate_fn"}


def follow_single_process(iterator: Any) -> None:
    """Record what this iterator makes from now on; its `_tb_steptime` is a `Passage`."""
    lane = iterator._tb_steptime.lane = Lane(iterator._tb_steptime.journal)
    if _is_torchs_own(iterator):
        swap_methods(iterator, _at_once)
    else:
        time_fetcher(iterator._dataset_fetcher, lane)
        swap_methods(iterator, _around)


def _is_torchs_own(iterator: Any) -> bool:
    """For data sets with an index, without pinned memory."""
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    fetcher = iterator._dataset_fetcher
    return (
        type(fetcher) is _MapDatasetFetcher
        and not iterator._pin_memory
        and refers_to(fetcher.fetch, _FETCH)
        and refers_to(iterator._next_data, _NEXT_DATA)
    )


def _at_once(cls: Any) -> dict[str, Any]:
    return {"_next_data": _next_of_map}


def _next_of_map(self: Any) -> Any:
    lane: Lane = self._tb_steptime.lane
    asked_ns = now_ns()
    looks = asked_ns >= lane.next_look_ns
    start_ns = collate_ns = 0
    number = UNKNOWN
    try:
        index = self._next_index()
        fetcher = self._dataset_fetcher
        dataset = fetcher.dataset
        start_ns = now_ns()
        if looks:
            lane.look_at_start()
        if not fetcher.auto_collation:
            samples = dataset[index]
        else:
            many = getattr(dataset, "__getitems__", None)
            samples = many(index) if many else [dataset[each] for each in index]
            if not many or isinstance(samples, (list, tuple)):
                number = len(samples)
        collate_ns = now_ns()
        if looks:
            lane.look_at_collate()
        batch = fetcher.collate_fn(samples)
    except BaseException as error:
        _failed(self, error, (asked_ns, start_ns, collate_ns), number)
        raise
    end_ns = now_ns()
    if looks:
        values = (asked_ns, start_ns, collate_ns, end_ns, *lane.look_at_end(batch, end_ns), number)
        lane.journal.add(end_ns, PRODUCED, 0, self._num_yielded, values)
    else:
        values = (asked_ns, start_ns, collate_ns, end_ns, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, number)
        lane.waiting.append((PRODUCED, 0, self._num_yielded, values))
    return batch


def _failed(self: Any, error: BaseException, times: tuple[int, int, int], number: int) -> None:
    asked_ns, start_ns, collate_ns = times
    passage: Passage = self._tb_steptime
    end_ns = now_ns()
    if start_ns:
        values = (asked_ns, start_ns, collate_ns or end_ns, end_ns, *NOT_LOOKED, number)
        passage.journal.add(end_ns, PRODUCED, FAILED, self._num_yielded, values)
    passage.end(EXHAUSTED if isinstance(error, StopIteration) else FAILED)


def _around(cls: Any) -> dict[str, Any]:
    def _next_data(self: Any) -> Any:
        passage: Passage = self._tb_steptime
        lane: Any = passage.lane
        lane.batch = self._num_yielded
        lane.requested_ns = now_ns()
        try:
            data = cls._next_data(self)
        except BaseException as error:
            passage.end(EXHAUSTED if isinstance(error, StopIteration) else FAILED)
            raise
        if self._pin_memory:
            asked_ns, pinned_ns = lane.requested_ns, now_ns()
            times = (asked_ns, asked_ns, lane.end_ns, lane.end_ns, pinned_ns, pinned_ns)
            passage.journal.add(pinned_ns, RECEIVED, 0, lane.batch, (*times, 0, 0, 0))
        return data

    return {"_next_data": _next_data}
