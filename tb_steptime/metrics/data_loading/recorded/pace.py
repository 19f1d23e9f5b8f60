"""Which recorded loader the steps wait for, and what a step takes apart from waiting for late batches.

steps     | w... | w... | w... | w... | ....      the recording ended here: the last steps show nothing of their batches
covered     yes    yes    yes    no     no        ... and the one in which it ended shows a part of them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.epoch_starts import between_epochs_ns
from tb_steptime.metrics.data_loading.loaders import find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.batches import Ways
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64


def main_loader(trace: Trace, records: LoaderRecords, ways: Ways) -> int:
    """The loader that the trace's waits are for, if its batches are recorded; else the recorded one that is waited for
    most, by first batches of a pass where there are no others."""
    loader, main = records.received.loader[ways.received], waited_for(trace)
    if main is not None and main.recorded is not None and main.recorded in loader:
        return main.recorded
    later = np.where(records.received.batch[ways.received] != 0, ways.wait_ns, 0)
    return int(np.bincount(loader, later if later.any() else ways.wait_ns).argmax())


@dataclass(frozen=True)
class Pace:
    """consumer_ns: a step without late batches, per batch; late_ns: the wait for late ones, per batch; None where the
    steps hold no mark of this loader. batches: that a step takes."""

    consumer_ns: int | None
    late_ns: int
    batches: float


def find_pace(trace: Trace, step: Int64, loader: int, overhead_ns: int) -> Pace:
    """step: of each recorded batch of the loader. overhead_ns: of each wait, what the loop does with a batch that is
    ready. Of the steps whose batches are recorded: without that, each of the others would be a step that takes none."""
    steps, batches = find_steps(trace), find_batches(trace)
    covered = covered_steps(step, len(steps.steps))
    number, of_steps = max(int(covered[step].sum()), 1), max(int(covered.sum()), 1)
    mine = [place for place, each in enumerate(batches.loaders) if each.recorded == loader]
    if not mine:
        return Pace(None, 0, number / of_steps)
    exposed = batches.exposed_ns[(batches.loader == mine[0]) & covered[batches.step]]
    late = int(np.maximum(exposed - overhead_ns, 0).sum()) + int(between_epochs_ns(trace)[covered].sum())
    total = int((steps.end_ns - steps.start_ns)[covered].sum())
    return Pace(round((total - late) / number), round(late / number), number / of_steps)


def covered_steps(step: Int64, number: int) -> Bool:
    """Steps of which it is recorded which batches they took. step: of each recorded batch.

    >>> covered_steps(np.array([0, 0, 1, 1, 2]), 4).tolist()  # it ended in step 2
    [True, True, False, False]
    >>> covered_steps(np.array([0, 4]), 6).tolist()  # a batch is for several steps
    [True, True, True, True, True, False]
    """
    counts = np.bincount(step, minlength=number)
    some = np.flatnonzero(counts)
    covered = counts > 0
    if len(some) < (some[-1] + 1 - some[0]) / 2:
        covered[some[0] : some[-1] + 1] = True
    elif some[-1] < number - 1 and counts[some[-1]] < np.median(counts[some]):
        covered[some[-1]] = False
    return covered
