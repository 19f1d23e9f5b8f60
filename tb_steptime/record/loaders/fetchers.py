"""Times torch's fetchers (`torch/utils/data/_utils/fetch.py`) where they produce batches: in a worker, or in the
training process of a loader without workers.

fetch     |---- dataset ----|-- collate --|
          start_ns          collate_ns    end_ns
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import EXHAUSTED, FAILED, PRODUCED
from tb_steptime.record.loaders.measurements import NOT_MEASURED, UNKNOWN, ProductionMeter
from tb_steptime.record.loaders.subclassing import swap_methods


def time_fetcher(fetcher: Any, meter: ProductionMeter) -> None:
    """Write how each batch is produced from now on. Errors pass as they are."""
    fetcher._tb_steptime = meter
    fetcher._tb_steptime_collate = TimedCollate(fetcher.collate_fn, fetcher.auto_collation)
    fetcher.collate_fn = fetcher._tb_steptime_collate  # which the program may replace
    swap_methods(fetcher, _timed)


def _timed(cls: Any) -> dict[str, Any]:
    def fetch(self: Any, index: Any) -> Any:
        meter: ProductionMeter = self._tb_steptime
        collate: TimedCollate = self._tb_steptime_collate
        start_ns = now_ns()
        due = start_ns >= meter.next_due_ns
        collate.begin(meter if due else None)
        flags, batch = 0, None
        try:
            batch = cls.fetch(self, index)
        except BaseException as error:
            flags = EXHAUSTED if isinstance(error, StopIteration) and hasattr(self, "dataset_iter") else FAILED
            raise
        finally:
            end_ns = meter.end_ns = now_ns()
            costs = meter.end(batch, end_ns) if due and not flags else NOT_MEASURED
            values = (meter.requested_ns, start_ns, collate.began_ns or end_ns, end_ns, *costs, collate.samples)
            meter.journal.add(end_ns, PRODUCED, flags, meter.batch, values)
        return batch

    return {"fetch": fetch}


class TimedCollate:
    """Stands in for a fetcher's collate_fn: when it began (0: it did not), and with how many samples."""

    began_ns: int
    samples: int

    def __init__(self, collate: Any, batched: bool) -> None:
        self._function = collate
        self._batched = batched
        self.begin(None)

    def begin(self, meter: ProductionMeter | None) -> None:
        """Of a batch. meter: it is measured."""
        self.began_ns = 0
        self.samples = UNKNOWN
        self._meter = meter
        if meter is not None:
            meter.start()

    def __call__(self, samples: Any) -> Any:
        if self._batched and isinstance(samples, (list, tuple)):
            self.samples = len(samples)
        self.began_ns = now_ns()
        if self._meter is not None:
            self._meter.collate()
        return self._function(samples)


#: Below this in the stack a batch is being produced ...
OUTER_CODE: tuple[CodeType, ...] = tuple(each for each in _timed.__code__.co_consts if isinstance(each, CodeType))
#: ... and of the recorder's own code there only this is part of it: the call of collate_fn.
INNER_CODE: tuple[CodeType, ...] = (TimedCollate.__call__.__code__,)
