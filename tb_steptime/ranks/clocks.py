"""How far the clocks of ranks are apart, from collectives that all ranks leave together.

    rank 0    ...|==|        |===|         ends differ by 40 us each time: rank 1's clock is 40 us behind.
    rank 1   ...|==|        |===|          what is left of the differences is the residual

The residual includes differences in network latency and clock drift within a recording: where it is large, times of
different ranks are not shown beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.arrivals import meetings
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.result import Clocks
from tb_steptime.text import Reason, ns
from tb_steptime.trace.table import Int64

#: Minimum number of ends of collectives: a median of fewer says little.
FEWEST_ENDS = 10
#: Maximum number of ends that are used per group.
MOST_ENDS = 2_000
#: Maximum residual: with clocks that agree no better than this, effects would be shown before their causes.
MOST_RESIDUAL_NS = 1_000_000
_USUAL_PERCENT = 95


def align(matched: Sequence[MatchedGroup], ranks: int) -> tuple[Clocks, list[int | None]]:
    """Returns the state of the clocks, and for each rank the offset that converts its times to those of the first rank,
    or None for all ranks where the clocks do not agree."""
    ends, offset = _reached(matched, ranks, FEWEST_ENDS)
    unknown: list[int | None] = [None] * ranks
    if None in offset:
        return Clocks(None, Reason("clocks_need_collectives")), unknown
    residual = _residual([(end + np.array(offset, np.int64)[members]) for members, end in ends])
    if residual > MOST_RESIDUAL_NS:
        return Clocks(residual, Reason("clocks_not_aligned", {"residual": ns(residual)})), unknown
    return Clocks(residual, None), offset


def rough_offsets(matched: Sequence[MatchedGroup], messages: Sequence[MatchedGroup], ranks: int) -> list[int]:
    """Returns offsets from any number of ends, however well they agree, or 0 for a rank that meets no other one.
    messages: ranks that share no collective get clocks on which each message is received after it is sent."""
    offset = _reached(matched, ranks, 1)[1]
    least = {(int(group.members[0]), int(group.members[1])): _least_ns(group) for group in messages}
    while None in offset:
        with_known = next(
            (pair for pair in sorted(least) if (offset[pair[0]] is None) != (offset[pair[1]] is None)), None
        )
        if with_known is None:
            return [each or 0 for each in offset]
        a, b = with_known if offset[with_known[1]] is None else with_known[::-1]
        offset[b] = (offset[a] or 0) + _behind_ns(least.get((a, b)), least.get((b, a)))
    return [each or 0 for each in offset]


def _least_ns(group: MatchedGroup) -> int:
    """Returns the least time from sending a message to receiving it, over all messages. Each end is on its own
    clock."""
    return int((group.start[:, 1] + group.length[:, 1] - group.start[:, 0]).min())


def _behind_ns(to_ns: int | None, back_ns: int | None) -> int:
    """Returns how far a clock is behind: 0 where no message is received before it is sent, and otherwise the middle of
    the range that messages in both directions allow.

    >>> _behind_ns(5, 7), _behind_ns(-30, 50), _behind_ns(None, -20)
    (0, 40, -20)
    """
    lowest = -to_ns if to_ns is not None else None
    if (lowest is None or lowest <= 0) and (back_ns is None or back_ns >= 0):
        return 0
    if lowest is None or back_ns is None:
        return lowest if lowest is not None else back_ns or 0
    return (lowest + back_ns) // 2


def _reached(
    matched: Sequence[MatchedGroup], ranks: int, fewest: int
) -> tuple[list[tuple[Int64, Int64]], list[int | None]]:
    """Returns the ends of the groups that have enough of them, with the groups' members, and the offset of each rank
    that these groups connect to the first one."""
    origin = min((int(group.start.min()) for group in matched if group.start.size), default=0)
    ends = [(group.members, _ends(group) - origin) for group in matched]  # medians of epoch times would lose digits
    ends = [(members, end) for members, end in ends if len(end) >= fewest]
    offset: list[int | None] = [0, *[None] * (ranks - 1)]
    while _reach(ends, offset):
        pass
    return ends, offset


def _ends(group: MatchedGroup) -> Int64:
    """Returns the epoch times at which some collectives end, spread over the recording: (collectives, members)."""
    rows = np.flatnonzero(meetings(group))
    rows = rows[:: max(1, len(rows) // MOST_ENDS)]
    return group.start[rows] + group.length[rows]


def _reach(ends: Sequence[tuple[Int64, Int64]], offset: list[int | None]) -> bool:
    """Sets the offsets of the ranks in one group whose other members have known offsets. Returns whether there was such
    a group."""
    for members, end in ends:
        has_offset = np.array([offset[place] is not None for place in members.tolist()])
        if has_offset.any() and not has_offset.all():
            offsets = np.array([offset[place] or 0 for place in members.tolist()], np.int64)
            common = np.median((end + offsets)[:, has_offset], axis=1)
            for column in np.flatnonzero(~has_offset).tolist():
                offset[int(members[column])] = round(float(np.median(common - end[:, column])))
            return True
    return False


def _residual(aligned: Sequence[Int64]) -> int:
    """Returns the residual in ns: the 95th percentile of how far ends are from the median end of their collective."""
    apart = [np.abs(end - np.median(end, axis=1)[:, None]).ravel() for end in aligned]
    return round(float(np.percentile(np.concatenate(apart), _USUAL_PERCENT)))
