"""One step of a job on one clock: what each rank does in it, who arrives when, and the path that decides it.

    rank 0   |own time|wait wait wait|==|own|       waits end when the last rank arrives, and the transfer == begins
    rank 1   |own time own time own  |==|own|
    path              rank 1 ........... rank 0     as `deciding_path` follows it

If computation hides a part of a collective, the exposed part is drawn at its end: only its length is known. Exchanges
other than matched collectives count as own time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tb_steptime.metrics.communication.collectives import KIND_LABELS
from tb_steptime.ranks.arrivals import waited_for
from tb_steptime.ranks.deciding_path import PathPiece, path_of_step
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.table import Int64


@dataclass(frozen=True)
class Lane:
    """The lane of one rank, in times of the picture. own: from the start of its step to the end of everything that the
    step launched, without waits and transfers; shift_ns: converts a time of the picture to one relative to the origin
    of its span."""

    own: Intervals
    waits: Intervals
    transfers: Intervals
    shift_ns: int


@dataclass(frozen=True, eq=False)
class Arrival:
    """A collective on the path that decides the step. last: place of the rank that arrives last; wait_ns: of the rank
    that waits longest. members: places; arrived: their arrivals; end: its end on the last rank."""

    label: str
    last: int
    wait_ns: int
    end: int
    members: Int64
    arrived: Int64


@dataclass(frozen=True, eq=False)
class StepLanes:
    """The picture of a step. Times are ns since its first begin on any rank, on the clock of the first rank. path: in
    time order; adjacent segments of one rank are joined."""

    step: str
    length_ns: int
    lanes: list[Lane]
    path: list[PathPiece]
    arrivals: list[Arrival]


def step_lanes(
    matched: Sequence[MatchedGroup], spans: Sequence[RankSpan], offsets: Sequence[int], name: str, step: int
) -> StepLanes:
    """Returns the lanes of one step, in which something must be matched. offsets: convert each rank's times to those of
    the first rank; name, step: the step's name, and its place among those of the job."""
    own = [_part_in_step(group, step) for group in matched]
    windows = [span.step_window(name) for span in spans]
    zero = min(begin + offset for (begin, length), offset in zip(windows, offsets, strict=True) if length)
    shifts = [offset - zero for offset in offsets]
    lanes = [_lane(own, place, shifts[place], span, name) for place, span in enumerate(spans)]
    pieces, on_path = path_of_step(own, spans, name)
    path = _joined([PathPiece(at, start + shifts[at], end + shifts[at]) for at, start, end in pieces if end > start])
    return StepLanes(
        step=name,
        length_ns=max(int(lane.own.end[-1]) for lane in lanes if len(lane.own)),
        lanes=lanes,
        path=path,
        arrivals=_arrivals(own, on_path, np.array(shifts, np.int64)),
    )


def _part_in_step(group: MatchedGroup, step: int) -> MatchedGroup:
    rows = np.flatnonzero(group.step == step)
    columns = {
        name: getattr(group, name)[rows] for name in ("step", "of", "bytes", "start", "length", "exposed", "row")
    }
    later_ns = None if group.later_ns is None else group.later_ns[rows]
    gathers_more = None if group.gathers_more is None else group.gathers_more[rows]
    return replace(group, later_ns=later_ns, gathers_more=gathers_more, **columns)


def _lane(matched: Sequence[MatchedGroup], place: int, shift: int, span: RankSpan, name: str) -> Lane:
    waits, transfers = Intervals.empty(), Intervals.empty()
    for group in matched:
        for member in np.flatnonzero(group.members == place).tolist():
            start, length = group.start[:, member] + shift, group.length[:, member]
            end = start + length
            exposed_from = end - group.exposed[:, member]
            arrived = start + group.wait_ns[:, member]
            waits |= Intervals.union(exposed_from, arrived)
            transfers |= Intervals.union(np.maximum(exposed_from, arrived), end)
    waits = waits - transfers
    begin, length_ns = span.step_window(name)
    last = max((int(each.end[-1]) for each in (waits, transfers) if len(each)), default=0)
    whole = Intervals.of((begin + shift, max(begin + shift + length_ns, last))) if length_ns else Intervals.empty()
    return Lane(whole - (waits | transfers), waits, transfers, -shift - span.origin_ns)


def _joined(path: Sequence[PathPiece]) -> list[PathPiece]:
    joined: list[PathPiece] = []
    for piece in path:
        if joined and joined[-1].place == piece.place:
            joined[-1] = PathPiece(piece.place, joined[-1].start, piece.end)
        else:
            joined.append(piece)
    return joined


def _arrivals(matched: Sequence[MatchedGroup], chosen: Sequence[int], shifts: Int64) -> list[Arrival]:
    """Returns the arrivals at some meetings. chosen: places among the meetings of all groups, one group after
    another."""
    places = [(group, row) for group in matched for row in np.flatnonzero(waited_for(group)).tolist()]
    return [_arrival(*places[each], shifts) for each in chosen]


def _arrival(group: MatchedGroup, row: int, shifts: Int64) -> Arrival:
    last, length = int(group.length[row].argmin()), group.length[row]
    start = group.start[row] + shifts[group.members]
    return Arrival(
        label=KIND_LABELS[group.classes[int(group.of[row])].kind],
        last=int(group.members[last]),
        wait_ns=int(group.wait_ns[row].max()),
        end=int(start[last] + length[last]),
        members=group.members,
        arrived=start,
    )
