"""Times torch's fetchers (`torch/utils/data/_utils/fetch.py`) where they make batches: in a worker, or in the main
process of a loader without workers.

fetch     |---- dataset ----|-- collate --|
          start_ns          collate_ns    end_ns
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import EXHAUSTED, FAILED, PRODUCED
from tb_steptime.record.loaders.batch_bytes import UNKNOWN
from tb_steptime.record.loaders.measurements import NOT_LOOKED, Lane
from tb_steptime.record.loaders.subclassing import swap_methods


def time_fetcher(fetcher: Any, lane: Lane) -> None:
    """Write down how each batch is made from now on. Errors pass as they are."""
    fetcher._tb_steptime = lane
    fetcher._tb_steptime_collate = TimedCollate(fetcher.collate_fn, fetcher.auto_collation)
    fetcher.collate_fn = fetcher._tb_steptime_collate  # which the program may replace
    swap_methods(fetcher, _timed)


def _timed(cls: Any) -> dict[str, Any]:
    def fetch(self: Any, index: Any) -> Any:
        lane: Lane = self._tb_steptime
        collate: TimedCollate = self._tb_steptime_collate
        start_ns = now_ns()
        looks = start_ns >= lane.next_look_ns
        collate.begin(lane if looks else None)
        flags, batch = 0, None
        try:
            batch = cls.fetch(self, index)
        except BaseException as error:
            flags = EXHAUSTED if isinstance(error, StopIteration) and hasattr(self, "dataset_iter") else FAILED
            raise
        finally:
            end_ns = lane.end_ns = now_ns()
            looked = lane.look_at_end(batch, end_ns) if looks and not flags else NOT_LOOKED
            values = (lane.requested_ns, start_ns, collate.began_ns or end_ns, end_ns, *looked, collate.samples)
            lane.journal.add(end_ns, PRODUCED, flags, lane.batch, values)
        return batch

    return {"fetch": fetch}


class TimedCollate:
    """Tells when collating began, of how many samples; for the fetcher that calls it. began_ns: 0 where it did not."""

    began_ns: int
    samples: int

    def __init__(self, collate: Any, batched: bool) -> None:
        self._function = collate
        self._batched = batched
        self.begin(None)

    def begin(self, lane: Lane | None) -> None:
        """A batch. lane: it is looked at."""
        self.began_ns = 0
        self.samples = UNKNOWN
        self._lane = lane
        if lane is not None:
            lane.look_at_start()

    def __call__(self, samples: Any) -> Any:
        if self._batched and isinstance(samples, (list, tuple)):
            self.samples = len(samples)
        self.began_ns = now_ns()
        if self._lane is not None:
            self._lane.look_at_collate()
        return self._function(samples)


#: Below this a batch is being made ...
OUTER_CODE: tuple[CodeType, ...] = tuple(each for each in _timed.__code__.co_consts if isinstance(each, CodeType))
#: ... and of the recorder's own code there only this is part of it: the call of collate_fn.
INNER_CODE: tuple[CodeType, ...] = (TimedCollate.__call__.__code__,)
