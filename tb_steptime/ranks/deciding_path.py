"""The path that decides how long a step of the job is, followed from its end back through all collectives.

    rank 0   |late late late|==|work|           from the end of a step on one rank back: its work, then the transfer
    rank 1   |work|wait wait|==|work work work| of a collective, then the rank that arrived last at it, and so on

All ranks leave a collective together, so at its end the path changes from one rank's clock to the other's, and clocks
need not agree. The path is followed for the length of the step: work + transfers + lateness of each rank = step, in
integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tb_steptime.ranks.arrivals import waited_for
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.result import DecidingPath, PathRank
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Columns, Int64


class _RankMeetings(Columns, frozen=True, eq=False):
    """The collectives that one rank waits for with nothing else to do, ordered by their end (n,). meeting: place in
    `_Meetings`."""

    start: Int64
    end: Int64
    meeting: Int64


class _Meetings(Columns, frozen=True, eq=False):
    """Each meeting over all groups (m,): its last rank, the ns of its transfer and of the median exposed wait of the
    others, and its start and end on the last rank."""

    last: Int64
    transfer: Int64
    wait: Int64
    start: Int64
    end: Int64


class PathPiece(NamedTuple):
    """A piece of the path. place: the rank that decides there, by its place among the job's ranks; start, end: epoch
    times on that rank's clock."""

    place: int
    start: int
    end: int


@dataclass
class _Walk:
    """The path followed so far, in ns. late: by place among the job's ranks; pieces: from the end backwards; met: the
    meetings passed."""

    work: int = 0
    transfer: int = 0
    late: Counter[int] = field(default_factory=Counter)
    pieces: list[PathPiece] = field(default_factory=list)
    met: list[int] = field(default_factory=list)


def deciding_path(
    matched: Sequence[MatchedGroup], spans: Sequence[RankSpan], names: Sequence[str], steps: Int64
) -> DecidingPath | None:
    """Returns the mean over the given steps of the job (names), each followed from its end on the rank on which they
    together take longest, or None where no rank recorded any of them.

    The steps of one rank follow each other. The slowest rank of each step would give steps that overlap where ranks are
    early in one step and late in the next: together these are longer than the recording.
    """
    meetings, by_rank = _columns(matched, len(spans))
    windows = [[span.step_window(names[step]) for step in steps.tolist()] for span in spans]
    longest = max(range(len(spans)), key=lambda place: sum(length for _, length in windows[place]))
    total, counted = _Walk(), 0
    for of_ranks in zip(*windows, strict=True):
        place = longest if of_ranks[longest][1] else _slowest(of_ranks)
        start, length = of_ranks[place]
        if length:
            _follow(total, meetings, by_rank, place, start + length, length)
            counted += 1
    return _mean(total, spans, counted) if counted else None


def path_of_step(
    matched: Sequence[MatchedGroup], spans: Sequence[RankSpan], name: str
) -> tuple[list[PathPiece], list[int]]:
    """Returns the path in time order, and the meetings that it passes, by their places among those of all groups, one
    group after another. matched: collectives of this step alone. Both are empty where no rank recorded the step."""
    walk, windows = _Walk(), [span.step_window(name) for span in spans]
    place = _slowest(windows)
    start, length = windows[place]
    _follow(walk, *_columns(matched, len(spans)), place, start + length, length)
    return walk.pieces[::-1], walk.met[::-1]


def _slowest(windows: Sequence[tuple[int, int]]) -> int:
    """Returns the place of the rank on which a step takes longest. windows: start (epoch time) and length of the step
    on each rank, 0 where the rank did not record it."""
    return max(range(len(windows)), key=lambda place: windows[place][1])


def _columns(matched: Sequence[MatchedGroup], ranks: int) -> tuple[_Meetings, list[_RankMeetings]]:
    """Returns the meetings of all groups, one group after another, and for each rank those that it waits for."""
    meetings = [_Meetings.empty()]
    of_ranks = [[_RankMeetings.empty()] for _ in range(ranks)]
    first = 0
    for group in matched:
        meeting = waited_for(group)
        start = group.start[meeting]
        length = group.length[meeting]
        exposed = group.exposed[meeting]
        if not len(length):
            continue
        rows, last = np.arange(len(length)), length.argmin(axis=1)
        transfer = length[rows, last]
        # What the others compute during the wait, they need not do later. The last rank's work in that time is no
        # lateness.
        others = np.sort(np.minimum(group.wait_ns[meeting], exposed), axis=1)[:, 1:]
        wait = np.median(others, axis=1).astype(np.int64)
        start_there = start[rows, last]
        meetings.append(_Meetings(group.members[last], transfer, wait, start_there, start_there + transfer))
        for member, place in enumerate(group.members.tolist()):
            waited = np.flatnonzero(exposed[:, member] > 0)
            begin = start[waited, member]
            end = start[waited, member] + length[waited, member]
            of_ranks[place].append(_RankMeetings(begin, end, waited + first))
        first += len(length)
    by_rank = [own[0].followed_by(*own[1:]).by("end") for own in of_ranks]
    return meetings[0].followed_by(*meetings[1:]), by_rank


def _follow(
    walk: _Walk, meetings: _Meetings, by_rank: Sequence[_RankMeetings], place: int, now: int, left: int
) -> None:
    """Follows the path back for `left` ns from a time on the rank at this place. Each meeting is passed only once,
    whatever the clocks say."""
    passed: set[int] = set()
    late_ns = 0
    while left > 0:
        own = by_rank[place]
        row = _before(own, now, passed)
        if row is None:
            _add_own(walk, place, now, left, late_ns)
            return
        end = min(now, int(own.end[row]))
        worked = min(left, now - end)
        _add_own(walk, place, now, worked, late_ns)
        left -= worked
        meeting = int(own.meeting[row])
        passed.add(meeting)
        walk.met.append(meeting)
        began = int(meetings.start[meeting])
        end_there = int(meetings.end[meeting]) - (int(own.end[row]) - end)
        transferred = min(left, max(0, end_there - began))
        walk.transfer += transferred
        left -= transferred
        late_ns = max(0, int(meetings.wait[meeting]) - max(0, began - end_there))
        place, now = int(meetings.last[meeting]), min(end_there, began)
        walk.pieces.append(PathPiece(place, now, now + transferred))


def _before(own: _RankMeetings, now: int, passed: set[int]) -> int | None:
    """Returns the meeting that runs on this rank at that time, or else the last one that ended before."""
    row = int(np.searchsorted(own.end, now, side="left"))
    if row < len(own.end) and own.start[row] < now and int(own.meeting[row]) not in passed:
        return row
    row -= 1
    while row >= 0 and int(own.meeting[row]) in passed:
        row -= 1
    return row if row >= 0 else None


def _add_own(walk: _Walk, place: int, now: int, own_ns: int, late_ns: int) -> None:
    walk.pieces.append(PathPiece(place, now - own_ns, now))
    own_late_ns = min(own_ns, late_ns)
    walk.late[place] += own_late_ns
    walk.work += own_ns - own_late_ns


def _mean(walk: _Walk, spans: Sequence[RankSpan], steps: int) -> DecidingPath:
    """Returns the mean, rounded so that the parts sum to the step."""
    late_ranks = [(place, ns) for place, ns in walk.late.most_common() if ns]
    sums = np.cumsum([walk.work, walk.transfer, *(ns for _, ns in late_ranks)])
    ends = (2 * sums + steps) // (2 * steps)
    work, transfer, *parts = np.diff(ends, prepend=0).tolist()
    ranks = [PathRank(spans[place].rank, ns) for (place, _), ns in zip(late_ranks, parts, strict=True)]
    return DecidingPath(steps, int(ends[-1]), work, transfer, ranks)
