"""The time of a recording that is left out of verdicts, gains and cards, as disjoint time ranges, by reason; and of
one-time work the costs, as rows of a result: how long they take, how much of that leaves the device idle, and where.

device  uuuuuuuuuuu kkkk  kkkkk     kkkk     kkkk
        ###########           ooooo              %%%%%      before the recording, once, after its last work

The figures of a step keep their definition and include this time: what is left out is shown beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.metrics.excluded_time.one_time import (
    LEAST_FRACTION,
    OneTime,
    OneTimeCause,
    once,
    one_time_costs,
    warm_up,
)
from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.host.profiler_cost import observed_ops
from tb_steptime.metrics.steady.edges import after_recording, before_recording, between_recordings
from tb_steptime.metrics.steady.host import profiler_intervals
from tb_steptime.metrics.steady.trials import trial_intervals
from tb_steptime.text import Finding, Quantity, count, fraction, ns
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals, longest_ranges
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.quality import recording_findings
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, median


class ExcludedTime(msgspec.Struct, frozen=True, eq=False):
    """Ranges of the recording, for one device. before_recording: it runs work that was launched earlier; once: it is
    idle, and the host does one-time work or warms up between such work, or it runs what a library only tries;
    after_recording: idle after its last recorded work, or the profiler is off between two recordings; profiler: idle
    while the profiler itself works."""

    before_recording: Intervals
    once: Intervals
    after_recording: Intervals
    profiler: Intervals

    @property
    def total(self) -> Intervals:
        return self.before_recording | self.once | self.after_recording | self.profiler


@shared
def excluded_time(trace: Trace, device: int | None) -> ExcludedTime:
    """Returns the times of a device that are not judged. With None, for a process without a device, only one-time work
    and the time between recordings are known. Waits for a batch are judged, except those during which the device runs
    earlier work."""
    if device is None:
        off = between_recordings(trace)
        return ExcludedTime(Intervals.empty(), once(trace, device) - off, off, Intervals.empty())
    before = before_recording(trace, device)
    after = after_recording(trace, device) - loader_intervals(trace) - before
    own = profiler_intervals(trace) - busy_intervals(trace, device) - loader_intervals(trace) - before
    at_once = once(trace, device) | (warm_up(trace, device) - loader_intervals(trace))
    free = at_once - (busy_intervals(trace, device) - trial_intervals(trace, device)) - own
    return ExcludedTime(before, free - before - after, after - own, own)


def judged_ns(trace: Trace, device: int | None) -> Int64:
    """Returns the length of each step without the excluded time, ns."""
    steps = find_steps(trace)
    left_out = steps.overlap_ns(excluded_time(trace, device).total)
    return steps.duration_ns - left_out


#: A step with more than this share excluded from verdicts is not comparable with the others, unless the rest is this
#: many times as long as their median, and longer by more than what is excluded. Behind one-time work the rest of a step
#: may be late because of it, but no delay makes what follows later than it was itself.
_WHOLE_FRACTION, _STILL_LONGER = 0.05, 1.25


def whole_steps(trace: Trace, device: int | None) -> Bool:
    """Says which steps are compared, and which a verdict averages over, for `device` (None: for a process without a
    device): `are_whole`."""
    return are_whole(find_steps(trace).duration_ns, judged_ns(trace, device))


def are_whole(recorded_ns: npt.ArrayLike, left_ns: npt.ArrayLike) -> Bool:
    """Says of which steps at most a twentieth is excluded from verdicts, or the rest is still clearly longer than such
    steps usually are, by more than what is excluded: a long wait beside one-time work is no part of it. All of them if
    no step is whole, since there is nothing else.

    >>> are_whole([100, 100, 100, 430, 430, 130], [100, 100, 80, 270, 260, 120]).tolist()
    [True, True, False, True, False, False]
    """
    length, judged = np.asarray(recorded_ns), np.asarray(left_ns)
    excluded = length - judged
    whole: Bool = excluded <= _WHOLE_FRACTION * length
    if not whole.any():
        return np.ones(len(length), bool)
    usual = median(judged[whole])
    still = (judged > _STILL_LONGER * usual) & (judged - usual > excluded)
    return np.asarray(whole | still, bool)


#: Number of steps below which a mean may be an accident.
FEW_STEPS = 3
#: A first step that is longer than any other by more than this share began with an idle device.
_FIRST_LONGER = 0.1


def are_judged(recorded_ns: npt.ArrayLike, left_ns: npt.ArrayLike, *, paced_by_device: bool) -> Bool:
    """Says over which steps verdicts and cards average: `are_whole`, without a first one that is longer than every
    other one where the device sets the pace: it began with an idle device, behind which the host had to get ahead. It
    stays if too few others are whole.

    >>> are_judged([150, 100, 100, 100], [145, 100, 100, 100], paced_by_device=True).tolist()
    [False, True, True, True]
    """
    judged, left = are_whole(recorded_ns, left_ns), np.asarray(left_ns)
    if paced_by_device and judged.sum() > FEW_STEPS and judged[0]:
        judged[0] = left[0] <= (1 + _FIRST_LONGER) * left[1:][judged[1:]].max()
    return judged


def step_at(trace: Trace, instants: Int64, is_counted: Bool) -> Int64:
    """Returns the place of the step that contains each instant; -1 outside the counted steps."""
    place = find_steps(trace).holding(instants)
    return np.where(is_counted[place], place, -1)


def findings(trace: Trace, device: int | None) -> list[Finding]:
    """Returns the faults of the recording, and how much of its steps nobody recorded or is the profiler's own time:
    repaired ones first, then exclusions, then mere remarks. device: the one that is judged."""
    excluded, off = excluded_time(trace, device), between_recordings(trace)
    result = list(recording_findings(trace))
    recordings = {"recordings": count(len(trace.windows))}
    left_out = [
        _left_out(trace, "recordings_joined", off, recordings),
        _left_out(trace, "profiler_time", excluded.profiler),
    ]
    place = sum(each.done != "said" for each in result)
    result[place:place] = [each for each in left_out if (each.share or 0) >= LEAST_FRACTION]
    observed = observed_ops(trace)
    return [*result, observed] if observed else result


def _left_out(trace: Trace, id: str, when: Intervals, more: Mapping[str, Quantity] = MappingProxyType({})) -> Finding:
    steps = find_steps(trace)
    left_ns = int(steps.overlap_ns(when).sum())
    share = left_ns / max(1, int(steps.duration_ns.sum()))
    values, ranges = {"time": ns(left_ns), "share": fraction(share), **more}, longest_ranges(when.start, when.end)
    return Finding(id, "left_out", (), share=share, values=values, ranges=ranges)


class OneTimeCost(msgspec.Struct, frozen=True):
    """One-time costs of one cause, over the span; ns. idle_ns: the part of total_ns in which the device is idle; all of
    it without a device. The rest describes the longest one: op, in which it is, or None; name, of the call or range
    that takes longest in it; step and time range, and how much of that is one-time.
    """

    cause: OneTimeCause
    count: int
    total_ns: int
    idle_ns: int
    op: str | None
    name: str
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int
    worst_ns: int

    @property
    def place(self) -> str:
        """Says where the longest one is, with {name} for the op or call."""
        return "Python code between ops" if self.cause == "between_ops" else "the first {name}"

    @property
    def where(self) -> str:
        """The op or call, as its users know it: marks of compilation have the names of its functions."""
        return "torch.compile" if self.cause == "compilation" else self.op or self.name


def one_time_rows(trace: Trace, device: int | None) -> list[OneTimeCost]:
    """Returns a row for each cause that has any cost, most idle time first."""
    rows = [_row(trace, device, cost) for cost in one_time_costs(trace, device)]
    return sorted(rows, key=lambda row: (-row.idle_ns, -row.total_ns))


def _row(trace: Trace, device: int | None, cost: OneTime) -> OneTimeCost:
    """Returns the row of a cause. The longest cost is the op, call or range with most of the excess, which may consist
    of several pieces."""
    events = trace.events
    own_ns = cost.when.overlap_ns(cost.excess.start_ns, cost.excess.end_ns)
    groups = Groups.of(np.where(cost.row >= 0, cost.row, -2 - np.arange(len(cost.row))))
    sums = groups.sum(own_ns)
    in_group = np.flatnonzero(groups.place == sums.argmax())
    piece = int(in_group[own_ns[in_group].argmax()])
    row, event = int(cost.row[piece]), int(cost.excess.event[piece])
    start, end = int(cost.excess.start_ns[in_group].min()), int(cost.excess.end_ns[in_group].max())
    return OneTimeCost(
        cause=cost.cause,
        count=int((sums > 0).sum()),
        total_ns=cost.when.total_ns,
        idle_ns=(cost.when & excluded_time(trace, device).once).total_ns,
        op=trace.name_of(row) if row >= 0 and events.kind[row] == Kind.CPU_OP else None,
        name=trace.name_of(event) if event >= 0 else "",
        worst_step=find_steps(trace).at(start).name,
        worst_start_ns=start,
        worst_end_ns=end,
        worst_ns=int(sums.max()),
    )
