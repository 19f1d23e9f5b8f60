"""The line of its track on which each event is drawn, so that events on one line never overlap.

event   aaaaaaaaaa
          bbbb  cccccc        line 0   aaaaaaaaaa dd
            e        dd       line 1     bbbb  cccccc
                              line 2       e
"""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.table import Bool, Int32, Int64, UInt8

#: Maximum number of lines. Deeper stacks are runaway recursion, and no screen is as high; deeper events are left out.
MAX_ROWS = 200
LEFT_OUT = 255

#: Events processed at once, so that no array is as long as a large track.
_AT_ONCE = 1 << 17


def stack_rows(start_ns: Int64, dur_ns: Int64, rows: Int32) -> UInt8:
    """The first line on which there is room for each event, in order; events that nest get their depth.

    rows: the rows of a track, sorted by (start, longer first), in larger columns. LEFT_OUT if there are too many lines.
    """
    line = np.full(len(rows), LEFT_OUT, np.uint8)
    rest = np.arange(len(rows), dtype=np.int32)
    for level in range(MAX_ROWS):
        if not len(rest):
            break
        fits = _fitting(start_ns, dur_ns, rows, rest)
        line[rest[fits]] = level
        rest = rest[~fits]
    return line


def _fitting(start_ns: Int64, dur_ns: Int64, rows: Int32, rest: Int32) -> Bool:
    """Which of the rest fit on one line: each that begins when the last fitting one has ended."""
    taken, free_from = np.zeros(len(rest), bool), np.iinfo(np.int64).min
    for first in range(0, len(rest), _AT_ONCE):
        some = rows[rest[first : first + _AT_ONCE]]
        start = start_ns[some]
        skipped = int(np.searchsorted(start, free_from))
        if skipped < len(some):
            end = start[skipped:] + dur_ns[some[skipped:]]
            here = _first_fit(start[skipped:], end)
            taken[first + skipped : first + len(some)] = here
            free_from = int(end[np.flatnonzero(here)[-1]])
    return taken


def _first_fit(start: Int64, end: Int64) -> Bool:
    taken: Bool = np.ones(len(start), bool)  # those that overlap nothing before them
    taken[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    first = np.flatnonzero(taken)
    cluster = np.cumsum(taken) - 1
    crossing = ~taken & (start >= end[first[cluster]])  # begins after the first of its cluster, which others outlast
    if crossing.any():
        crossed = np.zeros(len(first), bool)
        crossed[cluster[crossing]] = True
        here = np.flatnonzero(crossed[cluster])
        taken[here] = _followed(start[here], end[here])
    return taken


def _followed(start: Int64, end: Int64) -> Bool:
    """The chain of events from the first one, each followed by the next that begins when it has ended.

    The distance doubles in each round, so that a hundred thousand events take seventeen rounds.
    """
    count = len(start)
    onward = np.append(np.maximum(np.searchsorted(start, end), np.arange(1, count + 1)), count)
    reached = np.zeros(count + 1, bool)
    reached[0] = True
    number = 0
    while number != (number := int(np.count_nonzero(reached))):
        reached[onward[reached]] = True
        onward = onward[onward]
    return reached[:-1]
