"""The time of a recording that is left out of verdicts, gains and cards, as disjoint time ranges by reason. The costs
of one-time work are also rows of a result: how long they take, how much of that leaves the device idle, and where.

device  uuuuuuuuuuu kkkk  kkkkk     kkkk     kkkk
        ###########           ooooo              %%%%%      before the recording, once, after its last work

The figures of a step keep their definition and include this time; what is left out is shown beside them.

Costs of work that happens once in a job and not in every step are assigned to causes, and to the op or call that
contains them.

host    [ compile ]   [addmm, the first: 981 ms ]  [load k]     the excess of threads that train, of kind `ONCE`
device                              tttttt    kkkk        kkkk  t: what a library tries in it
idle    iiiiiiiiiii   iiiiiiiiiiiiii      iiii    iiiiiiii      what of it leaves the device idle
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.host.profiler_cost import observed_ops
from tb_steptime.metrics.phases.forward_only import comparable, forward_only
from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.edges import before_recording, between_recordings, cut_off_intervals
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.metrics.steady.exposed import BACKWARD_STARTS, exposed_excess, named_rows, on_host_once
from tb_steptime.metrics.steady.first_use import capture_intervals, compilations
from tb_steptime.metrics.steady.host import profiler_intervals
from tb_steptime.metrics.steady.trials import trial_intervals, trials
from tb_steptime.text import Finding, Quantity, count, fraction, ns
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import loader_intervals, loading_calls
from tb_steptime.trace.intervals import Intervals, longest_ranges
from tb_steptime.trace.model import Trace, calls_that_launch, find_launches, shared
from tb_steptime.trace.ops import places
from tb_steptime.trace.quality import holds_no_work, recording_findings
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, is_in, median


class ExcludedTime(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Ranges of the recording that are not judged, for one device.

    before_recording   the device runs work that was launched earlier
    once               the device is idle while the host does one-time work or warms up between such work, or it runs
                       what a library only tries
    after_recording    the device is idle after its last recorded work, or the profiler is off between two recordings
    profiler           the device is idle while the profiler itself works
    """

    before_recording: Intervals
    once: Intervals
    after_recording: Intervals
    profiler: Intervals

    @cached_property
    def total(self) -> Intervals:
        return self.before_recording | self.once | self.after_recording | self.profiler


@shared
def excluded_time(trace: Trace, device: int | None) -> ExcludedTime:
    """Returns the times of a device that are not judged. With None, for a process without a device, only one-time work,
    the profiler's own time and the time between recordings are known. Waits for a batch are judged, except those during
    which the device runs earlier work. Of a recording without work nothing is judged, and nothing left out."""
    if device is None:
        if holds_no_work(trace):
            return ExcludedTime(*[Intervals.empty()] * 4)
        off = between_recordings(trace)
        own = profiler_intervals(trace) - loader_intervals(trace) - off
        return ExcludedTime(Intervals.empty(), _once(trace, device) - off - own, off, own)
    before = before_recording(trace, device)
    after = cut_off_intervals(trace, device)
    own = profiler_intervals(trace) - busy_intervals(trace, device) - loader_intervals(trace) - before
    warms_up = warm_up(trace, device) - loader_intervals(trace) - busy_intervals(trace, device)
    return ExcludedTime(before, (_once(trace, device) | warms_up) - own - before - after, after - own, own)


def _once(trace: Trace, device: int | None) -> Intervals:
    """Returns when one-time work makes a step longer; nothing if it is too little to be mentioned."""
    at_once = exposed_excess(trace, device)[ExcessKind.ONCE] - loader_intervals(trace)
    return at_once if one_time_costs(trace, device) else Intervals.empty()


@shared
def judged_ns(trace: Trace, device: int | None) -> Int64:
    """Returns the length of each step without the excluded time, ns."""
    steps = find_steps(trace)
    left_out = steps.overlap_ns(excluded_time(trace, device).total)
    return steps.duration_ns - left_out


#: A step is not comparable with the others if more than this share of it is excluded from verdicts, unless the rest is
#: this many times as long as their median, and longer by more than what is excluded. One-time work may delay the rest
#: of a step, but by no more than its own length.
_WHOLE_FRACTION, _STILL_LONGER = 0.05, 1.25


def compared_steps(trace: Trace, device: int | None) -> Bool:
    """Returns which steps are compared with those of another recording. device: None for a process without a device.
    Unlike in `are_judged`, a first step that began with an idle device counts: it may be just short enough for verdicts
    in one recording of a job and just too long in another."""
    return are_counted(find_steps(trace).duration_ns, judged_ns(trace, device), forward_only(trace))


def whole_steps(trace: Trace, device: int | None, *, paced_by_device: bool = False) -> Bool:
    """Returns over which steps a verdict and cards average. device: None for a process without a device, whose
    `comparable` steps all count, because they lack nothing but one-time work. paced_by_device: as in `are_judged`; it
    is not known before the verdict."""
    steps, left_ns = find_steps(trace), judged_ns(trace, device)
    if device is None:
        return comparable(left_ns, forward_only(trace))
    host_ns = steps.host_end_ns - steps.host_start_ns
    return are_judged(steps.duration_ns, left_ns, host_ns, forward_only(trace), paced_by_device=paced_by_device)


def are_counted(recorded_ns: npt.ArrayLike, left_ns: npt.ArrayLike, forward_only: npt.ArrayLike) -> Bool:
    """Returns which steps are `comparable` and, among these, whole."""
    length, judged = np.asarray(recorded_ns), np.asarray(left_ns)
    counted = comparable(judged, forward_only)
    counted[counted] = are_whole(length[counted], judged[counted])
    return counted


def are_whole(recorded_ns: npt.ArrayLike, left_ns: npt.ArrayLike) -> Bool:
    """Returns which steps are whole: at most a twentieth of them is excluded from verdicts, or the rest is still
    clearly longer than such steps usually are, by more than what is excluded. A long wait beside one-time work is no
    part of that work. If no step is whole, all of them count, because there is nothing else.

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


#: With at most this many steps, a mean may be an accident.
FEW_STEPS = 3
#: A first step that is longer than any other by more than this share began with an idle device.
_FIRST_LONGER = 0.1


def are_judged(
    recorded_ns: npt.ArrayLike,
    left_ns: npt.ArrayLike,
    host_ns: npt.ArrayLike,
    forward_only: npt.ArrayLike,
    *,
    paced_by_device: bool,
) -> Bool:
    """Returns over which steps verdicts and cards average: those of `are_counted`, without a first step that is longer
    than every other one because it began with an idle device. This is the cause if the device sets the pace, because
    the host had to get ahead first. It is also the cause if the host took no longer for the first step: a step lasts
    until its work is done, and each later step only begins then. The first step stays if too few others are counted.
    host_ns: how long the host took for each step.

    host     |--------|--------|--------|
    device        kkkk.....kkkk.....kkkk
    steps    |---------|--------|--------|      what the device has left at the end of each is in the first one alone

    >>> lengths, trains = ([150, 100, 100, 100], [145, 100, 100, 100]), [False] * 4
    >>> are_judged(*lengths, [150, 100, 100, 100], trains, paced_by_device=True).tolist()
    [False, True, True, True]
    >>> are_judged(*lengths, [150, 100, 100, 100], trains, paced_by_device=False).tolist()
    [True, True, True, True]
    >>> are_judged(*lengths, [100, 100, 100, 100], trains, paced_by_device=False).tolist()
    [False, True, True, True]
    """
    judged, left = are_counted(recorded_ns, left_ns, forward_only), np.asarray(left_ns)
    host = np.asarray(host_ns)
    if judged.sum() > FEW_STEPS and judged[0]:
        others, most = judged[1:], 1 + _FIRST_LONGER
        began_idle = paced_by_device or host[0] <= most * host[1:][others].max()
        judged[0] = left[0] <= most * left[1:][others].max() or not began_idle
    return judged


def step_at(trace: Trace, instants: Int64, is_counted: Bool) -> Int64:
    """Returns the place of the step that contains each instant; -1 outside the counted steps."""
    place = find_steps(trace).holding(instants)
    return np.where(is_counted[place], place, -1)


def findings(trace: Trace, device: int | None) -> list[Finding]:
    """Returns the faults of the recording, and how much of its steps nobody recorded or is the profiler's own time.
    Repaired faults come first, then exclusions, then remarks. device: the one that is judged."""
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
    values = {"time": ns(left_ns), "share": fraction(share), **more}
    ranges = longest_ranges(when.start, when.end)
    return Finding(id, "left_out", (), share=share, values=values, ranges=ranges)


class OneTimeCost(msgspec.Struct, frozen=True):
    """The one-time costs of one cause over the span, ns.

    count       number of such costs
    total_ns    how long they take
    idle_ns     the part of total_ns in which the device is idle; all of it without a device
    op          the op that contains the longest cost; None without one
    name        name of the call or range that takes longest in it
    worst_*     the step and the time range of the longest cost; worst_ns is the part of it that is one-time and leaves
                the device idle, or that is one-time at all if the device is never idle
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
        """Where the named cost is, with {name} for the op or call."""
        return _PLACES.get(self.cause, "the first {name}")

    @property
    def named_ns(self) -> int:
        """The cost at that place. All that torch.compile does has one name, and its stages and the ops in them split
        what one call takes. Every other name is that of the longest cost."""
        return (self.idle_ns or self.total_ns) if self.cause == "compilation" else self.worst_ns

    @property
    def where(self) -> str:
        """The op or call, as its users know it. The marks of compilation bear the names of its functions, and nothing
        marks the start of a backward pass."""
        return _KNOWN_AS.get(self.cause) or self.op or self.name


def one_time_rows(trace: Trace, device: int | None) -> list[OneTimeCost]:
    """Returns a row for each cause that has any cost, most idle time first."""
    rows = [_row(trace, device, cost) for cost in one_time_costs(trace, device)]
    return sorted(rows, key=lambda row: (-row.idle_ns, -row.total_ns))


def _row(trace: Trace, device: int | None, cost: OneTime) -> OneTimeCost:
    """Returns the row of a cause. The longest cost is the op, call or range with most of the excess, which may consist
    of several parts."""
    events = trace.events
    idle = cost.when & excluded_time(trace, device).once
    own_ns = (idle if idle else cost.when).overlap_ns(cost.excess.start_ns, cost.excess.end_ns)
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
        idle_ns=idle.total_ns,
        op=trace.name_of(row) if row >= 0 and events.kind[row] == Kind.CPU_OP else None,
        name=trace.name_of(event) if event >= 0 else "",
        worst_step=find_steps(trace).at(start).name,
        worst_start_ns=start,
        worst_end_ns=end,
        worst_ns=int(sums.max()),
    )


#: Causes of one-time costs, in the order in which an instant is attributed to them.
OneTimeCause = Literal[
    "compilation", "graph_capture", "loading", "allocation", "set_up", "first_call", "first_backward", "between_ops"
]
#: What the script calls where autograd starts.
BACKWARD = "backward()"
_PLACES: dict[OneTimeCause, str] = {"compilation": "{name}", "between_ops": "Python code between ops"}
_KNOWN_AS: dict[OneTimeCause, str] = {"compilation": "torch.compile", "first_backward": BACKWARD}


#: Minimum share of the recorded steps. Less changes no figure that anybody reads.
LEAST_FRACTION = 0.01

#: A head is a warm-up if costs fill at least this share of it, so that what is between them is no longer than they are.
COLD_FRACTION = 0.5
#: Minimum share of the device's activities behind a warm-up, so that what follows shows a step and not only its end.
WARM_FRACTION = 1 / 3
#: Share of the time behind a warm-up for which the device may wait for launches. Less is worth no card.
AHEAD_FRACTION = 0.01


class OneTime(msgspec.Struct, frozen=True, eq=False):
    """The costs of one cause within the steps. excess: where they are. row: for each of them the op that contains it,
    or the call or range if there is no op, or -1 between ops. when: their time, without the time of other causes."""

    cause: OneTimeCause
    excess: Excess
    row: Int64
    when: Intervals


@shared
def one_time_costs(trace: Trace, device: int | None) -> tuple[OneTime, ...]:
    """Returns the one-time costs of every cause within the steps, as far as they lengthen the steps for this device.
    Waits for the loader are not included."""
    steps, excess = find_steps(trace), find_excess(trace).of(ExcessKind.ONCE)
    on_host = is_in(excess.track, step_threads(trace))
    on_device = trace.events.device[excess.event] == device
    excess = excess.where(on_host | (is_in(excess.event, trials(trace).event) & on_device))
    tried = trial_intervals(trace, device) if device is not None else Intervals.empty()
    exposed = exposed_excess(trace, device)[ExcessKind.ONCE]
    rest = steps.intervals & ((on_host_once(trace, device) | exposed) - loader_intervals(trace))
    row = named_rows(trace, excess)
    costs = []
    left = np.ones(len(excess), bool)
    for cause, of_cause in _causes(trace, excess, row):
        selected = excess.where(of_cause & left)
        when = (selected.intervals() | tried if cause == "first_call" else selected.intervals()) & rest
        if len(when) and len(selected):
            costs.append(OneTime(cause, selected, row[of_cause & left], when))
            rest = rest - when
        left &= ~of_cause
    recorded_ns = int(steps.duration_ns.sum())
    return tuple(costs) if sum(cost.when.total_ns for cost in costs) >= LEAST_FRACTION * recorded_ns else ()


def warm_up(trace: Trace, device: int) -> Intervals:
    """Returns the head of a recording without steps, from the first op with a cost to the end of the last cost; nothing
    if the device still waits for launches after that. So it is the warm-up that delays the launches in between. Times
    in which the host waits for the device are left out, because it may do so in every step.

    host    [ load k ]llll[ first mm ]ll[load q]llllllllllllllllllllllll       behind the costs the host is ahead
    device             k k k k        m m      qqqqqqkkkkkkkkkkkkkkkkkkkkkk
    head    ###################################
    """
    costs = [cost for cost in one_time_costs(trace, device) if len(cost.when)]
    busy = busy_intervals(trace, device)
    if len(find_steps(trace).steps) > 1 or find_steps(trace).by != "recording" or not costs or not len(busy):
        return Intervals.empty()
    first = min(costs, key=lambda cost: int(cost.when.start[0]))
    op = places(trace, first.row[first.excess.start_ns.argmin()][None]).outer_op[0]
    start, end = int(first.when.start[0]), max(int(cost.when.end[-1]) for cost in costs)
    start = min(start, int(trace.events.start_ns[op])) if op >= 0 else start
    cold = COLD_FRACTION * (end - start) <= Intervals.joined(cost.when for cost in costs).total_ns
    if not cold or not _ahead_from(trace, device, end):
        return Intervals.empty()
    return Intervals.of((start, end)) - Intervals.of_events(trace.events, blocking_calls(trace).of(*WAITING))


def _ahead_from(trace: Trace, device: int, instant_ns: int) -> bool:
    """Returns whether enough of the device's work comes later, and hardly waits for its launches once it has begun."""
    events = trace.events
    launches = find_launches(trace)
    busy = busy_intervals(trace, device)
    rows = np.flatnonzero(events.device[launches.activity] == device)
    started = events.start_ns[launches.activity[rows]]
    later = started[started >= instant_ns]
    if len(later) < max(WARM_FRACTION * len(rows), 1):
        return False
    gaps = busy.gaps(int(later[0]), int(busy.end[-1]))
    call = launches.call[rows[np.searchsorted(started, gaps.end)]]
    late_ns = np.where(call >= 0, np.minimum(events.ends(call), gaps.end) - gaps.start, 0)
    return bool(np.maximum(late_ns, 0).sum() <= AHEAD_FRACTION * (int(busy.end[-1]) - int(later[0])))


def _causes(trace: Trace, excess: Excess, row: Int64) -> Iterator[tuple[OneTimeCause, Bool]]:
    """Yields the costs of each cause, in the order of attribution."""
    events = trace.events
    yield "compilation", _within(Intervals.of_events(events, compilations(trace)), excess)
    yield "graph_capture", _within(capture_intervals(trace), excess)
    # The first call of a kernel loads it.
    loads = np.concatenate((loading_calls(trace), calls_that_launch(trace, Kind.KERNEL)))
    yield "loading", is_in(excess.event, loads)
    yield "allocation", is_in(excess.event, blocking_calls(trace).of(Blocks.ALLOCATOR))
    kind = np.where(excess.event >= 0, events.kind[excess.event].astype(np.int64), -1)
    yield "set_up", is_in(kind, CALL_KINDS)
    yield "first_call", row >= 0
    yield "first_backward", row == BACKWARD_STARTS
    yield "between_ops", row < 0


def _within(when: Intervals, excess: Excess) -> Bool:
    return np.asarray(2 * when.overlap_ns(excess.start_ns, excess.end_ns) > excess.dur_ns, bool)
