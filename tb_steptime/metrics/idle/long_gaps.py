"""Gaps that are long because the host does one thing for a long time before the next launch, and what that is.

thread   [l]--op--[l]      |-- train.py(9): crop --|      [l]--op--[l]
device      kk      kk                                        kk      kk
late        .. iiiii  .....LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL  iiiii       L: one long gap, not many short ones

The late time of a gap is that of the launching thread's ops, its unrecorded time and the launch itself, without bubbles
of blocking calls and pauses with a cause of their own. A gap is long both absolutely and compared with the usual
lateness.

Other launches come late for a reason that calls show.

The first reason are calls that wait for the device. Few launches may lie between two such calls, and a graph can hold
no more than these. The first launches after such a call are late until the host is ahead of the device.

thread   [sync]lll[sync]ll[sync]llllllllllllllllllllllll[sync]
                few      few    lll these find an idle device, the next one finds work: a graph could launch all at once

The second reason are gradients that DistributedDataParallel copies out of its buckets, one by one, because they are not
stored there:

thread   [copy_bucket_to_grad]      [copy_bucket_to_grad]
           [copy_] [launch]           [copy_] [launch]
device                  k                        k
late      iiiiiiiiiiiiii           iiiiiiiiiiiiii
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import asdict, replace

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.metrics.idle.cpu_updates import cpu_updates
from tb_steptime.metrics.idle.gaps import REACHED_NS, Gaps, find_gaps, launch_rows
from tb_steptime.metrics.idle.host_activity import MOSTLY, HostActivity, Kinds, activity_in
from tb_steptime.metrics.idle.host_stalls import LEAST_STEPS, RARE_FRACTION, pause_intervals
from tb_steptime.metrics.idle.reasons import HOST_BOUND, REASONS
from tb_steptime.metrics.job.execution import compiled_ranges
from tb_steptime.metrics.job.kind import job_kind
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import SITE, SITES
from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.trace.groups import add_nearby, exact_sums
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import graph_calls
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int32, Int64, Kind, distinct, distinct_in, is_in

#: Minimum late time of a long gap. A hundred launches take this long; a shorter gap may be ordinary work of the host.
LONG_NS = 1_000_000
#: Minimum late time of a shorter long gap, and of a single activity in it. Python code and ops around a launch take a
#: tenth of it. In real recordings, hardly any gap that is shorter than LONG_NS contains such an activity.
PIECE_NS = 200_000
#: Minimum share of such gaps in the late time of all gaps shorter than LONG_NS. If it is less, the CPU gets ahead by
#: more than these gaps last as soon as the other launches come earlier.
PIECES_FRACTION = 1 / 3
#: A long gap is this many times the usual lateness. A job whose launches are all equally late has no long gaps.
LONG_TIMES = 10
#: Number of gaps that are kept per place, longest first.
KEPT = 5
#: Number of names that are kept per place, those with the most late time.
NAMES = 20

#: The name of an optimizer's step on the CPU of which nothing is recorded.
UPDATE = "the optimizer's step"

_LATE = [REASONS.index(reason) for reason in ("cpu_work", "nothing_recorded", "launch_latency")]


class LongGap(msgspec.Struct, frozen=True):
    """A gap that is long because the host launches late.

    step                the step that contains the middle of the gap; the step before may end when the gap begins
    late_ns             the part of the gap in which the launch is late
    doing, name, inside   what the host does for most of that time, as in `HostActivity`
    compiles            whether torch.compile works in it
    compiled            whether torch.compile works in it, or the launch that ends it belongs to compiled code
    unusual             whether the host usually does this in far less time, gaps of this place are usually far shorter,
                        or the launch call had returned before most of it
    busiest, busiest_ns   the calls that take most of the time of a frame, as in `HostActivity`
    on_cpu              whether ops compute on the CPU and do not call the device's runtime
    """

    step: str
    start_ns: int
    end_ns: int
    late_ns: int
    doing: Kinds
    name: str | None
    inside: str | None
    compiles: bool
    compiled: bool
    unusual: bool = False
    busiest: str | None = None
    busiest_ns: int = 0
    on_cpu: bool = False


class WaitName(msgspec.Struct, frozen=True):
    """Long gaps in which the host does the same thing. count, late_ns: their number and late time over the span."""

    name: str | None
    compiled: bool
    unusual: bool
    count: int
    late_ns: int


class LongGaps(msgspec.Struct, frozen=True):
    """The long gaps before launches of one place.

    count, steps   number of these gaps in the span, and of the steps that contain any
    late_ns, compiled_ns, unusual_ns   late time, mean per step; the latter two are disjoint parts of it
    longest        the longest gaps, at most KEPT
    names          all of the gaps by what the host does in them, most late time first; the names beyond NAMES are
                   merged into entries without a name
    """

    site: str
    count: int
    steps: int
    late_ns: int
    compiled_ns: int
    unusual_ns: int
    longest: list[LongGap]
    names: list[WaitName] = []


class _Alike(NamedTuple):
    """What the gaps of one `WaitName` have in common."""

    name: str | None
    compiled: bool
    unusual: bool


class LateGaps(NamedTuple):
    """The gaps of a device, in time order. late_ns: the late part of each gap. long: whether it counts as a long
    gap."""

    late_ns: Int64
    long: Bool


@shared
def late_gaps(trace: Trace, device: int) -> LateGaps:
    launch, (late_ns, lasting) = find_gaps(trace, device).launch, _late_ns(trace, device)
    gap_late_ns = np.where(launch >= 0, late_ns[launch], 0)
    compared = gap_late_ns >= max(PIECE_NS, LONG_TIMES * _usual_ns(trace, device, late_ns))
    long = compared & (gap_late_ns >= LONG_NS)
    if (job_kind(trace).graph_share or 0.0) >= MOSTLY:
        return LateGaps(gap_late_ns, long)  # the CPU's work between graphs has a card of its own
    piece = _is_one_piece(trace, device, gap_late_ns, compared, lasting)
    many = gap_late_ns[piece].sum() >= PIECES_FRACTION * gap_late_ns[~long].sum()
    return LateGaps(gap_late_ns, long | piece if many else long)


def before_graphs_ns(trace: Trace, device: int, steps: Steps | None = None) -> int:
    """Returns how long the device waits for launches of captured graphs in gaps that are not long, ns per step. steps:
    those in which the gaps begin; None for all."""
    gaps, (gap_late_ns, long) = find_gaps(trace, device), late_gaps(trace, device)
    rows = np.flatnonzero((gaps.launch >= 0) & ~long & _begin_in(gaps, steps))
    rows = rows[is_in(find_launches(trace).call[gaps.launch[rows]], graph_calls(trace))]
    return int(gap_late_ns[rows].sum()) // len((steps or find_steps(trace)).steps)


def _begin_in(gaps: Gaps, steps: Steps | None) -> Bool:
    return np.ones(len(gaps.start), bool) if steps is None else np.asarray(steps.holding(gaps.start) >= 0, bool)


def _is_one_piece(trace: Trace, device: int, late_ns: Int64, may: Bool, late_times: Intervals) -> Bool:
    """Returns which of the gaps that may be long are late for most of their late time because of one activity.
    late_times: when the device is idle for one reason for long enough."""
    gaps, is_one_piece = find_gaps(trace, device), np.zeros(len(late_ns), bool)
    rows = np.flatnonzero(may & (late_ns < LONG_NS))
    if len(rows):
        launching = trace.events.thread[find_launches(trace).call[gaps.launch[rows]]]
        longest = _undivided_ns(
            trace, launching, gaps.start[rows], late_times & Intervals(gaps.start[rows], gaps.end[rows])
        )
        is_one_piece[rows] = longest >= np.maximum(PIECE_NS, MOSTLY * late_ns[rows])
    return is_one_piece


def _undivided_ns(trace: Trace, launching: Int32, start: Int64, when: Intervals) -> Int64:
    """Returns the longest time of each gap, ns, within `when`, in which the CPU begins or ends no op and makes no call,
    so that it does one thing.

    threads    [l]--op--[l]--op--[l]                 [l]     [l] ---------------- op ---------------- [l]
    gap           ggggg    ggggg    ggggggggggggggggg           gggggggggggggggggggggggggggggggggggggg
    undivided      ..        ..      uuuuuuuuuuuuuuu             uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu

    start: starts of the gaps, in time order, to which all of `when` belongs. launching: the thread of the launch that
    ends each gap. Its events divide the gap, and so do those of the threads that train and of the autograd engine,
    which work one at a time. Calls are left out, because a graph saves the launches.
    """
    events = trace.events
    threads = np.array([*step_threads(trace), *launching], np.int32)
    ops, calls = (
        rows[is_in(events.thread[rows], threads)] for rows in (events.rows(Kind.CPU_OP), events.rows(*CALL_KINDS))
    )
    when = when - Intervals.of_events(events, calls)
    edges = distinct(np.concatenate((when.start, when.end, events.start_ns[ops], events.ends(ops))))
    starts, length = edges[:-1], np.diff(edges)
    inside = np.flatnonzero(when.overlap_ns(starts, edges[1:]) == length)
    longest = np.zeros(len(start), np.int64)
    np.maximum.at(longest, np.searchsorted(start, starts[inside], side="right") - 1, length[inside])
    return longest


def long_gaps(trace: Trace, device: int, steps: Steps | None = None) -> list[LongGaps]:
    """Returns the long gaps by place, most late time first; places without any are left out. steps: those in which the
    gaps begin; None for all."""
    gaps, (late_ns, is_long) = find_gaps(trace, device), late_gaps(trace, device)
    long = np.flatnonzero(is_long & _begin_in(gaps, steps))
    number = len((steps or find_steps(trace)).steps)
    site = activity_sites(trace)[gaps.launch[long]]
    compiled = _compiled(trace, gaps, long)
    # This time has another cause, or occurs once.
    not_late = _claimed(trace, device) | excluded_time(trace, device).total
    places = [site == number for number in distinct_in(site).tolist()]
    sites = [
        _of_site(trace, gaps, long[rows], late_ns[long[rows]], compiled[rows], not_late, number) for rows in places
    ]
    return sorted(sites, key=lambda row: -row.late_ns)


def _of_site(
    trace: Trace, gaps: Gaps, rows: Int64, late_ns: Int64, compiled: Bool, claimed: Intervals, steps: int
) -> LongGaps:
    order = np.argsort(-late_ns, kind="stable").tolist()
    site_gaps = _with_far_longer(
        [_gap(trace, gaps, int(rows[i]), int(late_ns[i]), bool(compiled[i]), claimed) for i in order], steps
    )
    unusual_ns = sum(gap.late_ns for gap in site_gaps if gap.unusual and not gap.compiled)
    compiled_ns = sum(gap.late_ns for gap in site_gaps if gap.compiled)
    return LongGaps(
        site=SITES[int(activity_sites(trace)[gaps.launch[rows[0]]])].id,
        count=len(rows),
        steps=len(distinct_in(np.maximum(find_steps(trace).begun_on_host(gaps.start[rows]), 0))),
        late_ns=int(late_ns.sum()) // steps,
        compiled_ns=compiled_ns // steps,
        unusual_ns=unusual_ns // steps,
        longest=site_gaps[:KEPT],
        names=_names(site_gaps),
    )


def _with_far_longer(gaps: list[LongGap], steps: int) -> list[LongGap]:
    """Returns the gaps of a place, of which those that are far longer than usual are unusual, if few steps have any: a
    checkpoint, for example, in a loop that prepares each batch itself. Steps that compile have a card of their own.

    step     1          2          3                                   4
    gaps     |iiiiii|   |iiiiii|   |UUUUUUUUUUUUUUUUUUUUUUUUUUUUU|     |iiiiii|
    """
    usual_ns = sorted(gap.late_ns for gap in gaps)[(len(gaps) - 1) // 2]
    far_longer = [gap for gap in gaps if gap.late_ns >= LONG_TIMES * usual_ns and not gap.compiled]
    in_few = len({gap.step for gap in far_longer}) <= max(1, RARE_FRACTION * steps)
    if steps < LEAST_STEPS or not in_few:
        return gaps
    return [replace(gap, unusual=True) if gap in far_longer else gap for gap in gaps]


def _names(gaps: list[LongGap]) -> list[WaitName]:
    ns, late_by_name = Counter[_Alike](), dict[_Alike, list[int]]()
    for gap in gaps:
        ns[_alike(gap)] += gap.late_ns
    named = {alike for alike, _ in ns.most_common(NAMES)}
    for gap in sorted(gaps, key=lambda gap: -ns[_alike(gap)]):
        alike = _alike(gap)
        late_by_name.setdefault(alike if alike in named else alike._replace(name=None), []).append(gap.late_ns)
    return [WaitName(*alike, len(waits_ns), sum(waits_ns)) for alike, waits_ns in late_by_name.items()]


def _alike(gap: LongGap) -> _Alike:
    return _Alike(gap.name, gap.compiled, gap.unusual)


def _usual_ns(trace: Trace, device: int, late_ns: Int64) -> int:
    """Returns the median lateness of the device's launches in the steps, including those in time. If most are in time,
    a single long gap per step has no similar one to compare with, and still counts as long."""
    rows, window = launch_rows(trace, device), find_steps(trace).window
    start = trace.events.start_ns[find_launches(trace).activity[rows]]
    ordered_ns = np.sort(late_ns[rows[(start >= window[0]) & (start < window[1])]])
    return int(ordered_ns[(len(ordered_ns) - 1) // 2]) if len(ordered_ns) else 0


@shared
def _claimed(trace: Trace, device: int) -> Intervals:
    """Returns the idle time that blocking calls and pauses explain."""
    return Intervals.union(*bubbles(trace, device)[:2]) | pause_intervals(trace, device)


def _late_ns(trace: Trace, device: int) -> tuple[Int64, Intervals]:
    """Returns for each row of `find_launches` how much of the gap that it ended is late, and when the device is idle
    for one such reason for at least PIECE_NS."""
    total = np.zeros(len(find_launches(trace).activity), np.int64)
    lasting = [Intervals.empty()]
    claimed = _claimed(trace, device)
    for segments in idle_segments(trace, device):
        rows = np.flatnonzero(is_in(segments.reason, _LATE) & (segments.launch >= 0))
        start, end = segments.start[rows], segments.end[rows]
        add_nearby(total, segments.launch[rows], end - start - claimed.overlap_ns(start, end))
        long = end - start >= PIECE_NS
        lasting.append(Intervals.union(start[long], end[long]))
    return total, Intervals.joined(lasting) - claimed


def _compiled(trace: Trace, gaps: Gaps, rows: Int64) -> Bool:
    """Returns which gaps end with a launch of compiled code."""
    launches, events = find_launches(trace), trace.events
    call = launches.call[gaps.launch[rows]].astype(np.int64)
    names = events.name[launches.activity[gaps.launch[rows]]].tolist()
    generated = np.array([trace.strings[name].startswith("triton_") for name in names], bool)
    return generated | (innermost(trace, compiled_ranges(trace), call) >= 0)


def _gap(trace: Trace, gaps: Gaps, row: int, late_ns: int, compiled: bool, claimed: Intervals) -> LongGap:
    """Returns the gap with what the host does in it. claimed: idle time that has another cause, as in `_claimed`."""
    start, end = int(gaps.start[row]), int(gaps.end[row])
    call = int(find_launches(trace).call[gaps.launch[row]])
    unclaimed = max(Intervals.of((start, end)) - claimed, key=lambda each: each[1] - each[0], default=(start, end))
    doing = activity_in(trace, int(trace.events.thread[call]), *unclaimed)
    if cpu_updates(trace).overlap_ns(*np.array(unclaimed)[:, None])[0] >= MOSTLY * (unclaimed[1] - unclaimed[0]):
        doing = replace(doing, kind="update", name=doing.name or UPDATE)
    # An activity that fills most of it does not explain its lateness.
    if late_ns < MOSTLY * (unclaimed[1] - unclaimed[0]):
        doing = HostActivity(doing.kind, None, None, compiles=False)
    # This is the host's part of the gap.
    launched_ns = int(trace.events.start_ns[call] + trace.events.dur_ns[call]) + REACHED_NS - start
    if late_ns - launched_ns >= MOSTLY * late_ns:
        doing = HostActivity(doing.kind, None, None, compiles=False, unusual=True)
        compiled = False
    return LongGap(
        step=find_steps(trace).at((start + end) // 2).name,
        start_ns=start,
        end_ns=end,
        late_ns=late_ns,
        doing=doing.kind,
        compiled=compiled or doing.compiles,
        **{field: value for field, value in asdict(doing).items() if field != "kind"},
    )


#: A graph of fewer launches saves less than a tenth of a millisecond, because each launch takes 5 to 10 us.
FEW_LAUNCHES = 10


def split_late_ns(trace: Trace, device: int, steps: Steps | None = None) -> list[int]:
    """Returns for each place in `SITES` how long the device idles because of few launches between two waiting calls, ns
    per step, without long gaps and bubbles of the calls themselves. steps: None for all."""
    return _by_site_ns(trace, device, _is_split(trace), steps)


def paused_late_ns(trace: Trace, device: int, steps: Steps | None = None) -> list[int]:
    """Returns for each place in `SITES` how long its launches are late because the host pauses, ns per step, without
    bubbles of blocking calls. steps: None for all."""
    among = steps or find_steps(trace)
    paused = (pause_intervals(trace, device) & among.intervals) - Intervals.union(*bubbles(trace, device)[:2])
    total, sites = np.zeros(len(SITES), np.int64), activity_sites(trace)
    for segments in idle_segments(trace, device) if len(paused) else ():
        rows = np.flatnonzero(is_in(segments.reason, _LATE) & (segments.launch >= 0))
        paused_ns = paused.overlap_ns(segments.start[rows], segments.end[rows])
        total += exact_sums(sites[segments.launch[rows]].astype(np.int64), paused_ns, len(SITES))
    return [ns // len(among.steps) for ns in total.tolist()]


def _by_site_ns(trace: Trace, device: int, chosen: Bool, steps: Steps | None) -> list[int]:
    """Returns for each place in `SITES` the late time before the chosen launches, ns per step. chosen: one entry for
    each row of `find_launches`. A gap belongs to the step in which it ends."""
    gaps, (late_ns, long) = find_gaps(trace, device), late_gaps(trace, device)
    counts = (gaps.launch >= 0) & ~long
    if steps is not None:
        counts &= steps.holding(gaps.end) >= 0
    counts[counts] = chosen[gaps.launch[counts]]
    site = activity_sites(trace)[gaps.launch[counts]].astype(np.int64)
    number = len((steps or find_steps(trace)).steps)
    return [ns // number for ns in exact_sums(site, late_ns[counts], len(SITES)).tolist()]


def _is_split(trace: Trace) -> Bool:
    """Returns for each row of `find_launches` whether few activities are launched between its thread's waiting calls
    before and after it. A graph's launch counts as many."""
    events = trace.events
    call = find_launches(trace).call
    waits = blocking_calls(trace).of(*WAITING)
    is_split = np.zeros(len(call), bool)
    for thread in distinct(events.thread[waits]).tolist():
        on_thread = np.flatnonzero((call >= 0) & (events.thread[call] == thread))
        wait_starts = events.start_ns[waits[events.thread[waits] == thread]]
        between = np.searchsorted(wait_starts, events.start_ns[call[on_thread]])
        inner = (between > 0) & (between < len(wait_starts))
        is_split[on_thread] = inner & (np.bincount(between, minlength=1)[between] < FEW_LAUNCHES)
    return is_split


#: The name of the op that copies a gradient's values back from the bucket. The copy into the bucket is needed anyway,
#: because it also divides.
BUCKET_COPY = "reducer::copy_bucket_to_grad"


class BucketCopies(msgspec.Struct, frozen=True):
    """The copies of gradients out of buckets, and their cost. per_step: number of copies per step. late_ns: idle time
    of the device per step that ends with such a copy because the host launches it late."""

    per_step: float
    late_ns: int


def bucket_copies(trace: Trace, device: int, chosen: Steps | None = None) -> BucketCopies:
    """Returns the copies in some steps. chosen: None for all."""
    rows, steps = trace.events.rows(Kind.CPU_OP), chosen or find_steps(trace)
    names = [number for number, name in enumerate(trace.strings.strings) if name.endswith(BUCKET_COPY)]
    if not names:
        return BucketCopies(0.0, 0)
    rows = rows[is_in(trace.events.name[rows], names)]
    start = trace.events.start_ns[rows]
    inside = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return BucketCopies(float(inside.mean()), _late_copies_ns(trace, device, rows, steps) // len(steps.steps))


def _late_copies_ns(trace: Trace, device: int, ops: Int64, steps: Steps) -> int:
    """Returns the idle time of the steps that ends with launches inside these ops, and for which the host is late."""
    hooks = np.flatnonzero(activity_sites(trace) == SITE["backward.hooks"])
    copies = np.zeros(len(find_launches(trace).call), bool)
    copies[hooks] = innermost(trace, ops, find_launches(trace).call[hooks].astype(np.int64)) >= 0
    reasons = [REASONS.index(reason) for reason in HOST_BOUND]
    late_ns = 0
    for segments in idle_segments(trace, device):
        is_late_copy = is_in(segments.reason, reasons) & (segments.launch >= 0) & copies[segments.launch]
        is_late_copy &= steps.holding(segments.start) >= 0
        late_ns += int((segments.end - segments.start)[is_late_copy].sum())
    return late_ns
