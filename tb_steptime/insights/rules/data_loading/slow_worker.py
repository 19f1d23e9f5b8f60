"""One worker that is slower than the others: a loader that keeps the order waits for it in each turn."""

from __future__ import annotations

import math

from tb_steptime.insights.facts import Facts
from tb_steptime.metrics.data_loading.recorded.workers import RecordedWorker
from tb_steptime.text import Phrase, count, ns, phrase

#: As many times as long as the others' batches.
SLOW_TIMES = 1.5
#: A difference of means is by chance where it is less than so many standard errors, or of fewer batches.
ERRORS, FEWEST_BATCHES = 3, 3


def slow_worker(facts: Facts) -> Phrase | None:
    """Which one and how slow, within a sentence. Of an iterable dataset, as each worker has data of its own then: of
    another one, any worker gets the batches that take long."""
    recorded = facts.data_loading.recorded
    main = recorded.main_loader if recorded else None
    if recorded is None or main is None or not main.iterable or main.in_order is False:
        return None
    workers = [each for each in recorded.workers if each.loader == main.loader and each.worker >= 0]
    slowest = max(workers, key=_batch_ns, default=None)
    others = [each for each in workers if each is not slowest]
    if slowest is None or not others or slowest.batches < FEWEST_BATCHES:
        return None
    usual = sum(_batch_ns(each) * each.batches for each in others) / sum(each.batches for each in others)
    error = (recorded.production_spread_ns or 0) / math.sqrt(slowest.batches)
    if _batch_ns(slowest) < SLOW_TIMES * usual or _batch_ns(slowest) - usual < ERRORS * error:
        return None
    return phrase(
        "worker {slow_worker} takes {slow} a batch, the others {usual}",
        slow_worker=count(slowest.worker),
        slow=ns(_batch_ns(slowest)),
        usual=ns(round(usual)),
    )


def _batch_ns(worker: RecordedWorker) -> int:
    return worker.dataset_ns + worker.collate_ns
