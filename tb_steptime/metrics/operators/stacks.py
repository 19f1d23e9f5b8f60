"""The user's frames around an op, as one text: the call stack without torch's and Python's own frames.

train.py(9): step
  model.py(4): forward           -> "model.py(4): forward;train.py(9): step", innermost first
    torch/nn/functional.py(7)
      aten::linear
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.operators.op_tree import levels_of
from tb_steptime.trace.frames import is_source, short_frame, source_frames
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, parent_places
from tb_steptime.trace.ops import Rows
from tb_steptime.trace.sources import Words, stack_words
from tb_steptime.trace.table import Int32, Int64, distinct_in

#: Separator of frames, as in the profiler of 2021.
BETWEEN = ";"


def stacks_of(trace: Trace, rows: Rows) -> Words:
    """The stack of each op or call; none if no frame of the user is recorded around it."""
    frames = source_frames(trace)
    if not len(frames):
        return stack_words(trace, rows, _of_user)
    found = innermost(trace, frames, rows.astype(np.int64))
    inside = found >= 0
    path, texts = _paths(trace, frames, found[inside])
    number = np.full(len(rows), -1, np.int32)
    number[inside] = path
    return Words(number, texts)


def _paths(trace: Trace, frames: Int64, found: Int64) -> tuple[Int64, list[str]]:
    """For each of the found frames the number of its stack, and the texts of the stacks, in time order."""
    parent, name = parent_places(trace, frames), trace.events.name[frames].astype(np.int64)
    place = np.searchsorted(frames, found)
    wanted = distinct_in(place)
    alike = Groups.of(_numbers(parent, name)[wanted])
    texts, number = dict[str, int](), np.empty(len(alike), np.int64)
    for path in np.argsort(alike.first).tolist():
        text = _text(trace, name, parent, int(wanted[alike.first[path]]))
        number[path] = texts.setdefault(text, len(texts))
    of_frame = np.full(len(frames), -1, np.int64)
    of_frame[wanted] = number[alike.place]
    return of_frame[place], list(texts)


def _numbers(parent: Int32, name: Int64) -> Int64:
    """Equal numbers for frames of one name with equal names around them: a million frames have few distinct ones."""
    number, known = np.full(len(name), -1, np.int64), 0
    for level in levels_of(parent):
        above = number[parent[level]]  # the outermost have parent -1, and so still get -1
        alike = Groups.of(above, name[level])
        number[level] = known + alike.place
        known += len(alike)
    return number


def _text(trace: Trace, name: Int64, parent: Int32, place: int) -> str:
    lines: list[str] = []
    while place >= 0:
        lines.append(short_frame(trace.strings[int(name[place])]))
        place = int(parent[place])
    return BETWEEN.join(lines)


def _of_user(stack: str) -> str | None:
    """
    >>> _of_user("/env/site-packages/torch/nn/functional.py(9): gelu;net.py(7): forward;train.py(54): step")
    'net.py(7): forward;train.py(54): step'
    """
    return BETWEEN.join(short_frame(frame) for frame in stack.split(BETWEEN) if is_source(frame)) or None
