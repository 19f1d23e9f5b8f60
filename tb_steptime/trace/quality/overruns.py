"""Cuts device rows that overlap their successor on a hardware stream, although a stream runs one after the other.

stream 7   kkk [k, written as 1.6 s .............................]      the row ends where its successor starts
                kkk kkk kkkk kkk

Published: 7 of 55,423 rows (0.013 %) of an MI355 made 62 % of its GPU time (AMD-AGI/TraceLens#669, Hyperloom#1116).

Such a row is long compared with others of its name, and there are few of them. Genuine overlaps look different:
programmatic dependent launches overlap by microseconds; kernels of one graph launch share a correlation id and run on
several streams under one number; rows of streams that share a queue (ROCm) overlap all the time, and have their usual
lengths. The last row of a stream has no successor to compare with, and two rows with one start are two lanes.

Events of a host thread that overlap only because their times were rounded are cut, too.

as written   [aten::mul       ]                [cudaLaunchKernel ]      ends 1 ns after the op that calls it
                             [aten::add    ]   [aten::add       ]       starts 1 ns before the one before it ends
as nested    [aten::mul      ][aten::add    ]  [[cudaLaunchKernel]]

The calls of a thread nest, and Kineto writes exact times. A tool that reads the file as floating-point numbers and
writes it again rounds start and length separately: microseconds since 1970 lose up to an eighth of a microsecond each.
An op that starts a nanosecond before the previous one ends would count as a call inside it, and its own time as none.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.text import Finding, count, fraction, ns
from tb_steptime.trace.intervals import NEVER, longest_ranges
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import parents
from tb_steptime.trace.table import DEVICE_KINDS, Bool, Int32, Int64, Kind, distinct_in, median

#: Minimum overlap of two rows, and minimum length of a row, for a fault. Both values are those of TraceLens.
OVERLAP_NS, LONG_NS = 1_000, 1_000_000
#: Minimum excess, as a share of the stream's summed device time: from here a figure visibly changes; TraceLens reports
#: from 5 % on. The recording's length is not used, as the row itself stretches it. A row that covers as much of the
#: stream's idle time also counts.
EXCESS_FRACTION = 0.01
#: If a name has at least this many rows, a row is of usual length up to this many medians.
KNOWN_ROWS, TIMES_USUAL = 3, 2
#: More rows than this on one stream are not an accident of the writer.
FEW_ROWS, FEW_FRACTION = 3, 0.02


def without_overruns(trace: Trace) -> Trace:
    """Returns the trace with such rows cut at the start of their successor; it is unchanged if there are none."""
    rows, ends = _overruns(trace)
    if not len(rows):
        return trace
    events = trace.events
    excess_ns = int((events.ends(rows) - ends).sum())
    device = events.rows(*DEVICE_KINDS)
    whole_ns = int(events.dur_ns[device].sum())
    dur = events.dur_ns.copy()
    dur[rows] = ends - events.start_ns[rows]
    share = excess_ns / whole_ns
    finding = Finding(
        "rows_overrun", "repaired", ("gpu_time", "launches", "steps"), "medium", len(rows), share,
        {"count": count(len(rows)), "all": count(len(device)), "excess": ns(excess_ns), "share": fraction(share)},
        longest_ranges(events.start_ns[rows], ends),
    )  # fmt: skip
    return replace(trace, events=replace(events, dur_ns=dur), repaired=(*trace.repaired, finding), memo={})


def _overruns(trace: Trace) -> tuple[Int64, Int64]:
    """Returns the rows that run over their successor, and the successor's start."""
    events = trace.events
    device = events.rows(*DEVICE_KINDS)
    long = device[events.dur_ns[device] >= LONG_NS]
    if not len(long):
        return long, long
    lane = _lanes(trace, device)
    long_lanes = distinct_in(lane[np.searchsorted(device, long)])
    by_lane = [_overruns_on(trace, device[lane == each]) for each in long_lanes.tolist()]
    rows, ends = (np.concatenate(part) for part in zip(*by_lane, strict=True))
    order = np.argsort(rows)
    return rows[order], ends[order]


def _lanes(trace: Trace, device: Int64) -> Int64:
    """Returns a number for each stream of each device. Copies and kernels are separate, since different engines run
    them."""
    events = trace.events
    key = (events.device[device].astype(np.int64) + 1) * 2**32 + (events.stream[device].astype(np.int64) + 1) * 4
    return np.unique(key + (events.kind[device] == Kind.KERNEL), return_inverse=True)[1].reshape(-1)


def _overruns_on(trace: Trace, lane: Int64) -> tuple[Int64, Int64]:
    """Returns the overruns of one stream, whose rows come in time order."""
    events = trace.events
    start, end = events.start_ns[lane], events.ends(lane)
    after = np.append(start[1:], NEVER)
    over = (events.dur_ns[lane] >= LONG_NS) & (end - after > OVERLAP_NS) & (after > start)
    place = np.flatnonzero(over)
    place = place[~_are_in_graphs(trace, lane, place)]
    place = place[_unusual(trace, lane, place)]
    few = len(place) <= max(FEW_ROWS, FEW_FRACTION * len(lane))
    place = place if few and _is_much(start, end, place) else place[:0]
    return lane[place], after[place]


def _is_much(start: Int64, end: Int64, place: Int64) -> bool:
    """Returns whether these rows of a stream overlap their successors for so long that its work or its idle time is
    wrong."""
    excess = int((end[place] - start[1:][place]).sum())
    cut = end.copy()
    cut[place] = start[1:][place]
    covered = np.maximum.accumulate(cut)
    idle = int(np.maximum(start[1:] - covered[:-1], 0).sum())
    return excess >= EXCESS_FRACTION * int((end - start).sum()) or excess >= max(LONG_NS, EXCESS_FRACTION * idle)


def _are_in_graphs(trace: Trace, lane: Int64, place: Int64) -> Bool:
    """Returns which of these rows were launched together with others, as in a graph, or have no known launch."""
    ids = trace.events.correlation_id
    own = ids[lane[place]]
    distinct_ids, number = np.unique(ids[trace.events.rows(*DEVICE_KINDS)], return_counts=True)
    return (own < 0) | (number[np.searchsorted(distinct_ids, own)] > 1)


def _unusual(trace: Trace, lane: Int64, place: Int64) -> Bool:
    """Returns which of these rows are far longer than usual for their name, or have a name with too few rows to
    compare."""
    name, length = trace.events.name[lane], trace.events.dur_ns[lane]
    unusual = np.ones(len(place), bool)
    for each in distinct_in(name[place]).tolist():
        lengths, with_name = length[name == each], name[place] == each
        if len(lengths) >= KNOWN_ROWS:
            unusual[with_name] = length[place[with_name]] >= TIMES_USUAL * median(lengths)
    return unusual


#: Maximum overlap or excess that counts as rounding: that of whole microseconds.
ROUNDING_NS = 1_000
#: Number of times that parents are determined: ops nest this deep between two that cross.
_MOST_ROUNDS = 10
#: Python frames are left out: the profiler itself times them apart from ranges, by up to half a microsecond.
_ON_HOST = (Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER)


def without_crossings(trace: Trace) -> Trace:
    """Returns the trace with such events cut, each by at most `ROUNDING_NS`; it is unchanged if there are none. Start
    times stay, so the order of the rows does, too."""
    events = trace.events
    host = events.rows(*_ON_HOST)
    thread, crossings = events.thread[host], []
    for each in distinct_in(thread).tolist():
        on_thread = host[thread == each]
        end = _nested_ends(events.start_ns[on_thread], events.ends(on_thread))
        if end is not None:
            crossings.append((on_thread, end))
    if not crossings:
        return trace
    dur = events.dur_ns.copy()
    for on_thread, end in crossings:
        dur[on_thread] = end - events.start_ns[on_thread]
    return replace(trace, events=replace(events, dur_ns=dur), memo={})


def _nested_ends(start: Int64, end: Int64) -> Int64 | None:
    """Returns the ends of the events of one thread, in the order of the event table, without overlaps by rounding, or
    None if there are none. After a crossing the parents of the following rows are wrong, so they are determined
    again."""
    cut = end.copy()
    for _ in range(_MOST_ROUNDS):
        parent = parents(start, cut)
        crosses = np.flatnonzero(_crosses(cut, parent))
        if not _cut(start, cut, parent, crosses):
            break
    return cut if (cut != end).any() else None


def _cut(start: Int64, end: Int64, parent: Int32, crosses: Int64) -> bool:
    """Cuts the ends of rows that cross others, in place. Returns whether any was cut."""
    any_cut = False
    for row in crosses.tolist():
        above = int(parent[row])
        while above >= 0 and start[row] < end[above] < end[row]:
            overlap, excess = int(end[above] - start[row]), int(end[row] - end[above])
            if overlap <= ROUNDING_NS and 2 * overlap <= end[row] - start[row]:
                end[above], any_cut = start[row], True
            elif excess <= ROUNDING_NS:
                end[row], any_cut = end[above], True
            above = int(parent[above])
    return any_cut


def _crosses(end: Int64, parent: Int32) -> Bool:
    """Returns which events end after the one in which they begin."""
    inside = parent >= 0
    crosses: Bool = inside.copy()
    crosses[inside] = end[inside] > end[parent[inside]]
    return crosses
