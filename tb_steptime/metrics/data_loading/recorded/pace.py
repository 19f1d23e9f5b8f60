"""Which recorded loader the steps wait for, and what a step takes apart from waiting for late batches.

steps     | w... | w... | w... | w... | ....      the recording ended here: the last steps tell nothing of their batches
covered     yes    yes    yes    no     no        ... and the one in which it ended tells of a part of them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.epoch_marks import between_epochs_ns
from tb_steptime.metrics.data_loading.loaders import find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.batches import Ways
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64


def main_loader(trace: Trace, records: LoaderRecords, ways: Ways) -> int:
    """The loader that the trace's waits are for, if its batches are recorded; else the recorded one that is waited for
    most, by first batches of a pass where there are no others."""
    loader = records.received.loader[ways.received]
    main = waited_for(trace)
    if main is not None and main.recorded is not None and main.recorded in loader:
        return main.recorded
    later = np.where(records.received.batch[ways.received] != 0, ways.wait_ns, 0)
    return int(np.bincount(loader, later if later.any() else ways.wait_ns).argmax())


@dataclass(frozen=True)
class Pace:
    """consumer_ns: a step without late batches, per batch; None where the steps hold no mark of this loader.
    taken_every_ns: a step with them, per batch; batches: that a step takes, of its time where it has no mark.
    waited_share: how much of the time a thread of its own that reads the loader waits for it; None where marks tell,
    or a lone batch does not."""

    consumer_ns: int | None
    taken_every_ns: int
    batches: float
    waited_share: float | None = None


def find_pace(trace: Trace, records: LoaderRecords, ways: Ways, mine: Int64, overhead_ns: int) -> Pace:
    """mine: the entries of one loader. overhead_ns: of each wait, what the loop does with a batch that is there. Of the
    steps of which batches are recorded: without that, each of the others would be a step that takes none."""
    steps, loader = find_steps(trace).steps, int(records.received.loader[ways.received[mine[0]]])
    if all(each.recorded != loader for each in find_batches(trace).loaders):
        return _unmarked_pace(trace, records, ways, mine)
    covered = covered_steps(ways.step[mine], len(steps))
    batches = int(covered[ways.step[mine]].sum())
    total = sum(step.duration_ns for step, told in zip(steps, covered.tolist(), strict=True) if told)
    late = int(np.maximum(_exposed(trace, records, ways, mine, covered) - overhead_ns, 0).sum())
    late += int(between_epochs_ns(trace)[covered].sum())
    per_step = batches / max(int(covered.sum()), 1)
    return Pace(round((total - late) / max(batches, 1)), round(total / max(batches, 1)), per_step)


def _unmarked_pace(trace: Trace, records: LoaderRecords, ways: Ways, mine: Int64) -> Pace:
    """A thread that reads ahead takes two batches in one step and none in another, so that time tells, not steps."""
    mean_ns = sum(step.duration_ns for step in find_steps(trace).steps) / len(find_steps(trace).steps)
    taken, rows = records.received, ways.received[mine]
    rows = rows[np.argsort(taken.returned_ns[rows], kind="stable")]
    loader = int(taken.loader[rows[0]])
    number = whole_rounds(len(rows), next((each.workers for each in records.loaders if each.loader == loader), 0))
    if not number:
        return Pace(None, round(mean_ns), 1.0)
    asked, returned = taken.asked_ns[rows[: number + 1]], taken.returned_ns[rows[: number + 1]]
    length = max(1, int(returned[-1] - returned[0]))
    waited = int((returned - asked)[1:].sum()) / length
    return Pace(None, round(length / number), number * mean_ns / length, min(1.0, waited))


def whole_rounds(batches: int, workers: int) -> int:
    """How many times from one batch to the next tell how long it takes: workers hand over theirs in rounds, so that
    whole rounds are counted, where there are any.

    >>> whole_rounds(6, 2)  # xx..xx..xx: four of the five, two rounds
    4
    """
    between, number = batches - 1, max(1, workers)
    return between // number * number or between


def batches_beside(mine: Int64, theirs: Int64, steps: int) -> float | None:
    """How many of another loader's batches a step takes; None where not even half of the steps that take batches of
    this one take any, as of an evaluation. mine, theirs: the step of each batch."""
    own, other = np.unique(mine), np.unique(theirs)
    if not len(other) or 2 * len(np.intersect1d(own, other)) < len(own):
        return None
    covered = covered_steps(theirs, steps)
    return float(covered[theirs].sum() / max(1, covered.sum()))


def covered_steps(step: Int64, number: int) -> Bool:
    """Steps of which it is recorded which batches they took. step: of each recorded batch.

    >>> covered_steps(np.array([0, 0, 1, 1, 2]), 4).tolist()  # it ended in step 2
    [True, True, False, False]
    >>> covered_steps(np.array([0, 4]), 6).tolist()  # a batch is for several steps
    [True, True, True, True, True, False]
    """
    counts = np.bincount(step, minlength=number)
    told = np.flatnonzero(counts)
    covered = counts > 0
    if len(told) < (told[-1] + 1 - told[0]) / 2:
        covered[told[0] : told[-1] + 1] = True
    elif told[-1] < number - 1 and counts[told[-1]] < np.median(counts[told]):
        covered[told[-1]] = False
    return covered


def _exposed(trace: Trace, records: LoaderRecords, ways: Ways, mine: Int64, covered: Bool) -> Int64:
    """Exposed waits of the covered steps, as the trace has them, for these batches."""
    waits, taken = find_batches(trace), records.received
    rows = ways.received[mine]
    asked, returned = np.sort(taken.asked_ns[rows]), np.sort(taken.returned_ns[rows])
    start, end = trace.events.start_ns[waits.row], trace.events.ends(waits.row)
    batch = np.minimum(np.searchsorted(returned, start, side="right"), len(rows) - 1)
    theirs = (returned[batch] > start) & (asked[batch] < end)
    return waits.exposed_ns[theirs & covered[waits.step]]
