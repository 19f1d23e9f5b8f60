"""The line of its track on which each event is drawn, so that events on one line never overlap.

event   aaaaaaaaaa
          bbbb  cccccc        line 0   aaaaaaaaaa dd
            e        dd       line 1     bbbb  cccccc
                              line 2       e

The text of a box is a short name if the trace's name is long.

    kernel, copy      as in every table                        gemm bf16 128x256
    Python frame      below its package or the working tree    timm/layers.py(3): forward
    anything else     as it is

The whole name stays beside it, for the event's details and for the search.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from tb_steptime.metrics.kernel_names.short_names import kernel_names, short_name
from tb_steptime.timeline.event_file import Columns
from tb_steptime.trace.frames import MODULE_FRAME, is_installed, is_source, short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, UInt8, distinct_in

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
    result, free_from = np.zeros(len(rest), bool), np.iinfo(np.int64).min
    for first in range(0, len(rest), _AT_ONCE):
        chunk = rows[rest[first : first + _AT_ONCE]]
        start = start_ns[chunk]
        skipped = int(np.searchsorted(start, free_from))
        if skipped < len(chunk):
            end = start[skipped:] + dur_ns[chunk[skipped:]]
            fits = _first_fit(start[skipped:], end)
            result[first + skipped : first + len(chunk)] = fits
            free_from = int(end[np.flatnonzero(fits)[-1]])
    return result


def _first_fit(start: Int64, end: Int64) -> Bool:
    fits: Bool = np.ones(len(start), bool)  # those that overlap nothing before them
    fits[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    first = np.flatnonzero(fits)
    cluster = np.cumsum(fits) - 1
    crossing = ~fits & (start >= end[first[cluster]])  # begins after the first of its cluster, which others outlast
    if crossing.any():
        crossed = np.zeros(len(first), bool)
        crossed[cluster[crossing]] = True
        in_crossed = np.flatnonzero(crossed[cluster])
        fits[in_crossed] = _followed(start[in_crossed], end[in_crossed])
    return fits


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


_COPIES = (Kind.MEMCPY, Kind.MEMSET)


def write_shown_names(trace: Trace, columns: Columns, first_string: int) -> list[str]:
    """Write, for each string of the trace, the number of the text shown in its place, -1 for itself. Returns the
    additional strings; the first one gets the number first_string."""
    shown = np.full(len(trace.strings), -1, np.int32)
    added: dict[str, int] = {}
    for number, name in _shown(trace).items():
        if name != trace.strings[number]:
            shown[number] = added.setdefault(name, first_string + len(added))
    columns.add("shown", shown)
    return list(added)


def _shown(trace: Trace) -> dict[int, str]:
    kernels, frames = kernel_names(trace), _names(trace, Kind.PYTHON)
    tree = working_tree(frames.values())
    return {
        **{number: kernels[name] for number, name in _names(trace, Kind.KERNEL).items()},
        **{number: short_name(name) for number, name in _names(trace, *_COPIES).items()},
        **{number: shown_frame(name, tree) for number, name in frames.items()},
    }


def _names(trace: Trace, *kinds: Kind) -> dict[int, str]:
    """Name by its number, of all events of these kinds."""
    numbers = distinct_in(trace.events.name[trace.events.rows(*kinds)])
    return {number: trace.strings[number] for number in numbers.tolist()}


def working_tree(frames: Iterable[str]) -> str:
    """The folder that holds all files of the user that frames name by a whole path, with "/" at its end; "" for none.

    >>> working_tree(["/home/me/job/train.py(54): step", "/home/me/job/data/sets.py(7): item", "json/decoder.py(3): f"])
    '/home/me/job/'
    """
    own = [frame for frame in frames if frame.startswith("/") and is_source(frame) and not is_installed(frame)]
    folder = os.path.commonpath([os.path.dirname(frame.partition("(")[0]) for frame in own]) if own else ""
    return f"{folder}/" if len(folder) > 1 else ""


def shown_frame(frame: str, tree: str) -> str:
    """A frame's file below its package or the working tree; a module's call is the module.

    >>> shown_frame("/home/me/job/data/sets.py(7): item", "/home/me/job/"), shown_frame("nn.Module: Linear_3", "")
    ('data/sets.py(7): item', 'Linear_3')
    """
    return short_frame(frame.removeprefix(MODULE_FRAME)).removeprefix(tree or " ")
