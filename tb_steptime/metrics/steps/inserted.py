"""What some steps do that the others do not: ops inserted into the same sequence, or a pause at the same place.

step 1   [a]..[b].....[c]                     the same ops in the same order
step 2   [a]..[b].....[c]
step 3   [a]..[b].[x]....................[c]  x is inserted: the time from the end of b to the start of c,
                 |---- inserted -------|      less that of the others, whatever else in the step varies
step 4   [a]..[b].....[c]

Steps at equal distances are longer if they do extra work, such as an evaluation in every fifth step.

step     1    2    3        4    5    6        7    8    9
length   ==== ==== ======== ==== ==== ======== ==== ==== ========      every third step is longer
ops      a b  a b  a b c c  a b  a b  a b c c  a b  a b  a b c c       and calls c, as no other does
"""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.waits import NO_WORK, SEED
from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.metrics.means import SLOW_FRACTION, robust_deviation
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import self_times, top_level
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct, distinct_in, is_in, median

#: REGULAR steps at equal distances are no coincidence. FEWEST suffice if they all call the same number of ops, and all
#: other steps also agree in theirs.
REGULAR, FEWEST = 3, 2
#: Maximum probability that the steps with the ops are the longest ones only by chance.
CHANCE = 0.03
#: Ops of an optimizer. If only some steps have them, these update the weights after several passes.
_UPDATE = expression(r"aten::(_fused_\w+_?|_foreach_addcdiv_|addcdiv_)$")
#: Minimum number of pauses at one place if all ops are the same. It is one more, because another process may interrupt
#: three steps at equal distances. The shortest pause takes APART times as long as the longest of the other steps, and
#: the longest pause at most ALIKE times as long as the shortest.
PAUSES, APART, ALIKE = 4, 2.0, 2.0


class InsertedWork(msgspec.Struct, frozen=True, eq=False):
    """What some steps do in addition to the others.

    places       these steps, as places among all steps
    every        distance from one to the next
    excess_ns    mean additional time that each of them takes at the place of the insertion
    outside_ns   the part of it that is in no op
    name         the inserted op with the most time, "" if there is none
    more         number of times that this op is inserted
    """

    places: Int64
    every: int
    excess_ns: int
    outside_ns: int
    name: str
    more: int


class _Step(msgspec.Struct, frozen=True, eq=False):
    """The outermost ops of a step, as rows of the event table, their names, and when the host begins and ends the
    step."""

    rows: Int64
    names: Int32
    start_ns: int
    end_ns: int


def inserted(trace: Trace, lengths: Int64, has_device: bool) -> InsertedWork | None:
    """Returns what the steps at equal distances have and the others lack; None if nothing separates them.

    The lengths of the steps are in ns. They count if there is a device, because it may work on while the host is at
    another place.
    """
    steps = _steps(trace)
    groups: dict[bytes, list[int]] = {}
    for place, step in enumerate(steps):
        groups.setdefault(step.names.tobytes(), []).append(place)
    usual = max(groups, key=lambda names: (len(groups[names]), -len(names)), default=b"")
    others = [names for names in groups if names != usual and groups[names] != [0]]
    if not usual:
        return None
    if not others:
        waits_for_ranks = (trace.job.world_size or 1) > 1
        return None if has_device or waits_for_ranks else _pause(trace, lengths, steps, np.array(groups[usual]))
    if len(others) > 1 or len(others[0]) <= len(usual):
        return None
    return _ops(trace, lengths, steps, np.array(groups[others[0]]), np.array(groups[usual]), has_device)


def every_of(places: Int64, steps: int, fewest: int) -> int | None:
    """Returns the distance of these steps, if there are enough of them, it is the same for all, and none is missing
    before or after; else None."""
    distances = {later - place for place, later in itertools.pairwise(places.tolist())}
    if len(places) < fewest or len(distances) != 1:
        return None
    (distance,) = distances
    return distance if distance > 1 and places[0] <= distance and steps - places[-1] <= distance else None


def _ops(
    trace: Trace, lengths: Int64, steps: list[_Step], more: Int64, usual: Int64, has_device: bool
) -> InsertedWork | None:
    distance = every_of(more, len(steps), FEWEST)
    if distance is None or 1 / math.comb(len(more) + len(usual), len(more)) > CHANCE:
        return None
    ours, theirs = steps[more[0]].names, steps[usual[0]].names
    before = _alike(ours, theirs)
    after = _alike(ours[before:][::-1], theirs[before:][::-1])
    own = ours[before : len(ours) - after]
    names = {trace.strings[name] for name in distinct_in(own).tolist()}
    if (SEED in names and names <= NO_WORK) or any(_UPDATE.match(name) for name in names):
        return None  # a loader begins to iterate, which has a card of its own
    rows = np.concatenate([steps[place].rows[before : len(ours) - after] for place in more])
    in_ops_ns = int(trace.events.dur_ns[rows].sum()) // len(more)
    if has_device:
        longer, shorter = lengths[more], lengths[usual]
    else:
        longer, shorter = (
            np.array([_gaps(trace, steps[each], before, after)[before] for each in group.tolist()])
            for group in (more, usual)
        )
    excess_ns = round(float(longer.mean() - median(shorter)))
    if longer.min() - shorter.max() < robust_deviation(shorter):
        # The rest varies too much. Only the time of the ops is certain.
        excess_ns = 0 if has_device else in_ops_ns
    if excess_ns < SLOW_FRACTION * median(lengths[usual]):
        return None
    took = exact_sums(trace.events.name[rows], trace.events.dur_ns[rows], len(trace.strings))
    name = int(took.argmax())
    outside_ns = 0 if has_device else max(0, excess_ns - in_ops_ns)
    return InsertedWork(more, distance, excess_ns, outside_ns, trace.strings[name], int((own == name).sum()))


def _pause(trace: Trace, lengths: Int64, steps: list[_Step], alike: Int64) -> InsertedWork | None:
    """Returns the pause that some steps have at the same place, although all steps have the same ops; None if there is
    none. The loop does something there that is no op."""
    gaps = np.stack([_gaps(trace, steps[each], len(steps[each].names), 0) for each in alike.tolist()])
    pause = None
    for gap in gaps.T[gaps.max(axis=0) >= SLOW_FRACTION * median(lengths)]:
        long = gap >= gap.max() / ALIKE
        if long.all() or gap[long].min() < APART * gap[~long].max():
            continue
        distance = every_of(alike[long], len(steps), PAUSES)
        excess_ns = round(float(gap[long].mean() - median(gap[~long])))
        if distance is not None and excess_ns >= max(SLOW_FRACTION * median(lengths), pause.excess_ns if pause else 0):
            pause = InsertedWork(alike[long], distance, excess_ns, excess_ns, "", 0)
    return pause


def _gaps(trace: Trace, step: _Step, before: int, after: int) -> Int64:
    """Returns the time before each of the first `before` ops of a step, and the time from then until the last `after`
    ones begin, without waits for batches."""
    events = trace.events
    first, last = step.rows[:before], step.rows[len(step.rows) - after :]
    begins = np.append(step.start_ns, events.ends(first))
    ends = np.concatenate((events.start_ns[first], events.start_ns[last[:1]] if after else [step.end_ns]))
    ends = np.maximum(begins, ends)
    return ends - begins - loader_intervals(trace).overlap_ns(begins, ends)


def _alike(one: Int32, other: Int32) -> int:
    """Returns the number of items at the start in which two sequences agree."""
    shorter = min(len(one), len(other))
    differ = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(differ[0]) if len(differ) else shorter


def _steps(trace: Trace) -> list[_Step]:
    """Returns the steps with the ops of the one training thread. The list is empty if there are several threads,
    because these may take turns in any order."""
    threads = training_threads(trace)
    if len(threads) != 1:
        return []
    events = trace.events
    rows = events.rows(Kind.CPU_OP)
    rows = top_level(trace, rows[events.thread[rows] == threads[0]])
    names, start = events.name[rows].astype(np.int32), events.start_ns[rows]
    steps = []
    for step in find_steps(trace).steps:
        begins, ends = step.host_start_ns, step.host_end_ns
        low, high = np.searchsorted(start, (begins, ends)).tolist()
        steps.append(_Step(rows[low:high], names[low:high], begins, ends))
    return steps


#: Distance of steps of one kind that take turns with those of another.
_IN_TURN = 2
#: Steps do extra work if they call this many times as many ops as the median step.
MORE = 1.1


class RecurringWork(msgspec.Struct, frozen=True):
    """Steps at equal distances that do extra work.

    every        distance from one such step to the next
    steps        their names
    excess_ns    their mean length minus the median length of the other steps; if steps vary, only the difference at the
                 place of the extra work
    outside_ns   the part of it that is after ops and in no op
    name         the op that takes most of the extra time, "" if there is none
    more         number of additional calls of that op in each of these steps
    """

    every: int
    steps: list[str]
    excess_ns: int
    name: str
    more: int
    outside_ns: int = 0


def recurring_work(trace: Trace, device: int | None) -> RecurringWork | None:
    """Returns the recurring work; None if no steps are longer in this way, or if they do no more than the others. An
    optimizer step after several passes, or for a second network, does not count as extra work. Work of every second
    step does not count either: steps of two kinds take turns, such as those of a generator and its discriminator, and
    neither kind is the usual one."""
    found = _recurring(trace, device)
    return None if found is not None and found.name and found.every == _IN_TURN else found


def _recurring(trace: Trace, device: int | None) -> RecurringWork | None:
    """Returns the recurring work, including that of every second step."""
    lengths, rows = judged_ns(trace, device), trace.events.rows(Kind.CPU_OP)
    rows = rows[is_in(trace.events.thread[rows], training_threads(trace))]
    step = _step_of(trace, rows)
    rows, step = rows[step >= 0], step[step >= 0]
    if not len(rows):
        return None
    calls = np.bincount(step, minlength=len(lengths))
    recurs = (calls >= MORE * median(calls)) & (lengths >= (1 + SLOW_FRACTION) * median(lengths))
    recurs[:1] &= (calls[1:][recurs[1:]] == calls[0]).all()  # otherwise it does one-time work
    alike = len(distinct(calls[recurs])) == len(distinct(calls[1:][~recurs[1:]])) == 1
    distance = every_of(np.flatnonzero(recurs), len(recurs), FEWEST if alike else REGULAR)
    if distance is None:
        return _at_one_place(trace, lengths, device is not None)
    if _are_updates(trace, recurs):
        return None
    of_found = recurs[step]
    names = trace.events.name[rows]
    sign = np.where(of_found, 1 / recurs.sum(), -1 / (~recurs).sum())
    more, longer = np.bincount(names, sign), np.bincount(names, sign * self_times(trace, rows))
    most = int(np.where(np.rint(more) >= 1, longer, 0).argmax())
    steps = find_steps(trace).steps
    return RecurringWork(
        every=distance,
        steps=[steps[each].name for each in np.flatnonzero(recurs).tolist()],
        excess_ns=round(float(lengths[recurs].mean() - median(lengths[~recurs]))),
        name=trace.strings[most],
        more=round(float(more[most])),
    )


def _at_one_place(trace: Trace, lengths: Int64, has_device: bool) -> RecurringWork | None:
    """Returns the additional work of some steps at one place. It may show what the lengths of the steps do not."""
    own = inserted(trace, lengths, has_device)
    if own is None:
        return None
    has_work = np.zeros(len(lengths), bool)
    has_work[own.places] = True
    if _are_updates(trace, has_work):
        return None
    names = [find_steps(trace).steps[place].name for place in own.places.tolist()]
    return RecurringWork(own.every, names, own.excess_ns, own.name, own.more, own.outside_ns)


def _are_updates(trace: Trace, has_work: Bool) -> bool:
    """Returns whether optimizers step more often in each of these steps than in any other: after several passes, or for
    a second network."""
    step = _step_of(trace, optimizer_marks(trace))
    updates = np.bincount(step[step >= 0], minlength=len(has_work))
    return bool(updates[has_work].min() > updates[~has_work].max())


def _step_of(trace: Trace, rows: Int64) -> Int64:
    """Returns the place of the step of each row; -1 before the first one."""
    return find_steps(trace).begun_on_host(trace.events.start_ns[rows])
