"""Steps at equal distances that are longer because they do extra work, such as an evaluation every fifth step.

step     1    2    3        4    5    6        7    8    9
length   ==== ==== ======== ==== ==== ======== ==== ==== ========      every third step is longer
ops      a b  a b  a b c c  a b  a b  a b c c  a b  a b  a b c c       and calls c, as no other does
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.metrics.outliers import SLOW_FRACTION
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.metrics.steps.inserted import FEWEST, REGULAR, every_of, inserted
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.nesting import self_times
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Bool, Int64, Kind, distinct, is_in, median

#: Steps do extra work if they call this many times as many ops as the median step.
MORE = 1.1


class RecurringWork(msgspec.Struct, frozen=True):
    """Steps at equal distances that do extra work.

    every        distance from one such step to the next
    steps        their names
    excess_ns    their mean length minus the median length of the other steps; where steps vary, only the difference at
                 the place of the extra work
    outside_ns   the part of it after ops and in no op
    name         the op that takes most of the extra time, "" if there is none
    more         how many more calls of that op each of these steps has
    """

    every: int
    steps: list[str]
    excess_ns: int
    name: str
    more: int
    outside_ns: int = 0


def recurring_work(trace: Trace, device: int | None) -> RecurringWork | None:
    """The recurring work; None if no steps are longer in this way, or they do no more than the others. An optimizer
    step after several passes does not count as extra work."""
    lengths, (rows, step) = judged_ns(trace, device), _ops(trace)
    if not len(rows):
        return None
    calls = np.bincount(step, minlength=len(lengths))
    found = (calls >= MORE * median(calls)) & (lengths >= (1 + SLOW_FRACTION) * median(lengths))
    found[:1] &= (calls[1:][found[1:]] == calls[0]).all()  # otherwise it does one-time work
    alike = len(distinct(calls[found])) == len(distinct(calls[1:][~found[1:]])) == 1
    every = every_of(np.flatnonzero(found), len(found), FEWEST if alike else REGULAR)
    if every is None:
        return _at_one_place(trace, lengths, device is not None)
    if _are_updates(trace, found):
        return None
    of_found = found[step]
    names, sign = trace.events.name[rows], np.where(of_found, 1 / found.sum(), -1 / (~found).sum())
    more, longer = np.bincount(names, sign), np.bincount(names, sign * self_times(trace, rows))
    most = int(np.where(np.rint(more) >= 1, longer, 0).argmax())
    steps = find_steps(trace).steps
    return RecurringWork(
        every=every,
        steps=[steps[each].name for each in np.flatnonzero(found).tolist()],
        excess_ns=round(float(lengths[found].mean() - median(lengths[~found]))),
        name=trace.strings[most],
        more=round(float(more[most])),
    )


def _at_one_place(trace: Trace, lengths: Int64, has_device: bool) -> RecurringWork | None:
    """Where the lengths of the steps show nothing, what they do at one place may."""
    own = inserted(trace, lengths, has_device)
    if own is None:
        return None
    found = np.zeros(len(lengths), bool)
    found[own.places] = True
    if _are_updates(trace, found):
        return None
    names = [find_steps(trace).steps[each].name for each in own.places.tolist()]
    return RecurringWork(own.every, names, own.excess_ns, own.name, own.more, own.outside_ns)


def _are_updates(trace: Trace, found: Bool) -> bool:
    """Whether an optimizer steps only in these steps."""
    marks = rows_named(trace, (Kind.USER,), OPTIMIZER_STEP.match)
    step = _step_of(trace, marks)
    return len(marks) > 0 and bool(found[step[step >= 0]].all())


def _ops(trace: Trace) -> tuple[Int64, Int64]:
    """The ops that the training thread calls in steps, and the place of each one's step."""
    rows = trace.events.rows(Kind.CPU_OP)
    rows = rows[is_in(trace.events.thread[rows], training_threads(trace))]
    step = _step_of(trace, rows)
    return rows[step >= 0], step[step >= 0]


def _step_of(trace: Trace, rows: Int64) -> Int64:
    """The place of the step of each row; -1 before the first one."""
    return find_steps(trace).begun_on_host(trace.events.start_ns[rows])
