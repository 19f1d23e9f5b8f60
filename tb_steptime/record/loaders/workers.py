"""The worker's side: a worker_init_fn that records what the worker does, and calls the user's own.

Relies on what `torch/utils/data/_utils/worker.py` does: it takes (batch number, indices) from its queue of requests,
has a fetcher fetch them and puts the batch into the result queue; a loader with persistent workers sends a mark between
two passes, on which the worker creates a new fetcher.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from multiprocessing import util
from pathlib import Path
from typing import Any

from tb_steptime.record.file import LOADER_SUFFIX
from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import BEGAN, ENDED, LOADER, NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.hooks import swap_methods
from tb_steptime.record.loaders.line_samples import LineSampler
from tb_steptime.record.loaders.production import (
    INNER_CODE,
    OUTER_CODE,
    ProductionMeter,
    time_fetcher,
)


class WorkerRecorder:
    """Stands in for a loader's worker_init_fn. Can be pickled if the user's function can.

    stem: path of the files without the worker's part. header: of the training process's file. lines: sample source
    lines.
    """

    def __init__(
        self, users_own: Callable[[int], None] | None, stem: Path, header: dict[str, Any], pass_number: int, lines: bool
    ) -> None:
        self.users_own = users_own
        self._stem = stem
        self._header = header
        self._pass_number = pass_number
        self._lines = lines

    def __call__(self, worker_id: int) -> None:
        # The worker has to run even if torch works differently than expected.
        with contextlib.suppress(Exception):
            self._begin(worker_id)
        if self.users_own is not None:
            self.users_own(worker_id)

    def _begin(self, worker_id: int) -> None:
        begin_ns = now_ns()
        path = Path(f"{self._stem}.w{worker_id}{LOADER_SUFFIX}")
        header = LOADER.encode_header({**self._header, "process": "worker", "worker": worker_id})
        journal = Journal(path, header, worker_id, lambda reason: None)  # the training process reports it
        if not journal.alive:
            return
        journal.begin_pass(self._pass_number)
        lines = LineSampler(journal, OUTER_CODE, INNER_CODE) if self._lines else None
        if lines is not None:
            lines.start()
        meter = ProductionMeter(journal, lines)
        _time_requests(meter)
        _time_fetchers(meter)
        util.Finalize(None, _leave, args=(journal,), exitpriority=10)
        ready_ns = now_ns()
        journal.add(ready_ns, BEGAN, 0, NO_BATCH, (begin_ns, ready_ns))


def _leave(journal: Journal) -> None:
    end_ns = now_ns()
    journal.add(end_ns, ENDED, 0, NO_BATCH, (end_ns,))
    journal.close()


def _time_fetchers(meter: ProductionMeter) -> None:
    """Times every fetcher for the worker's own dataset, but not those of loaders inside the dataset."""
    from torch.utils import data

    kind: Any = data._DatasetKind
    create = kind.create_fetcher

    def create_timed(dataset_kind: Any, dataset: Any, *others: Any, **named: Any) -> Any:
        fetcher = create(dataset_kind, dataset, *others, **named)
        own: Any = data.get_worker_info()
        if own is not None and own.dataset is dataset:
            with contextlib.suppress(Exception):  # it may differ from torch's
                time_fetcher(fetcher, meter)
        return fetcher

    kind.create_fetcher = staticmethod(create_timed)


def _time_requests(meter: ProductionMeter) -> None:
    """Reads the number of a batch from the queue of requests: torch's worker loop has no hook that knows it."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_worker_loop":
        frame = frame.f_back  # type: ignore[assignment]
    requests = frame.f_locals.get("index_queue") if frame is not None else None
    if requests is not None:
        requests._tb_steptime = meter
        swap_methods(requests, _timed_requests)


def _timed_requests(cls: Any) -> dict[str, Any]:
    def get(self: Any, *args: Any, **named: Any) -> Any:
        meter: ProductionMeter = self._tb_steptime
        if self.empty():
            meter.journal.flush()  # the worker is idle, and may be ended next
        request = cls.get(self, *args, **named)
        if type(request) is tuple:
            meter.requested_ns = now_ns()
            meter.batch = request[0]
        elif type(request).__name__ == "_ResumeIteration":
            meter.journal.begin_pass(meter.journal.pass_number + 1)
        return request

    return {"get": get}
