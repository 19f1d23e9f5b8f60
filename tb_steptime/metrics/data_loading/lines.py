"""What the training process does inside a loader that makes batches there, and in which lines.

wait      llllllllllllllllllll
frames     gggggggggggggggg          cifar.py(120): __getitem__
               rrrr                  a frame of Python's library: its time is that of the line around it
ops                 aaaa bb          what is neither is Python without an op
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loaders import find_batches, waited_for
from tb_steptime.text import Phrase, code, phrase
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_names, loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import self_time_ns
from tb_steptime.trace.ops import innermost, is_file, is_source, rows_named, short_frame
from tb_steptime.trace.shared import shared
from tb_steptime.trace.sources import Words, stack_words, words_of
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: Lines that are told, of an activity and of the user's.
MOST_LINES = 8
#: Where torch keeps its loaders: what calls them stands outside of the wait.
_LOADER_CODE = "torch/utils/data/"


class LoaderLine(msgspec.Struct, frozen=True):
    """A line inside the loader, as frames name it: "cifar.py(120): __getitem__", and its self time per batch."""

    line: str
    ns_per_batch: int


class Activity(msgspec.Struct, frozen=True):
    """What the training thread did inside the loader, self time per batch; name None: Python without an op.

    lines: where it did so, longest first, as far as call stacks tell; together they are at most the activity.
    """

    name: str | None
    ns_per_batch: int
    lines: list[LoaderLine]


@dataclass(frozen=True, eq=False)
class LoaderWork:
    """One entry for each wait and for each op and frame inside one: together their self times are all waits.

    op        row of the string table; -1 where Python runs and no op
    line      row of lines; -1 where none is told
    self_ns   int64
    """

    op: Int32
    line: Int32
    self_ns: Int64
    lines: Sequence[str]
    batches: int
    has_frames: bool


@shared(find_batches, loader_names, loader_rows, waited_for)
def loader_work(trace: Trace) -> LoaderWork:
    """Of the threads that wait, for the loader that is waited for most. The line of an op or a frame is the innermost
    one of the user's inside the loader, or of torch where none is: `default_collate`, say."""
    events, marks = trace.events, _marks(trace)
    ops = _inside_waits(trace, events.rows(Kind.CPU_OP))
    ops = ops[~loader_names(trace)[events.name[ops]]]
    frames = _inside_waits(trace, events.rows(Kind.PYTHON))
    rows = np.sort(np.concatenate((marks, ops, frames)))
    op = np.where(np.isin(rows, ops, assume_unique=True), events.name[rows], -1).astype(np.int32)
    words = _of_frames(trace, frames, rows) if len(frames) else _of_stacks(trace, rows, op >= 0)
    self_ns = self_time_ns(events.start_ns[rows], events.ends(rows))
    return LoaderWork(op, words.number, self_ns, words.texts, len(marks), len(frames) > 0)


def loader_activities(trace: Trace) -> list[Activity]:
    """Each op and Python by self time per wait, longest first. The sum over all is the mean wait."""
    work = loader_work(trace)
    if not work.batches:
        return []
    kinds, place = np.unique(work.op, return_inverse=True)
    totals = np.bincount(place, work.self_ns).astype(np.int64) // work.batches
    return [
        Activity(trace.strings[int(kinds[i])] if kinds[i] >= 0 else None, int(totals[i]), _lines(work, place == i))
        for i in np.argsort(-totals, kind="stable").tolist()
    ]


def slow_lines(trace: Trace) -> list[LoaderLine]:
    """The lines of the user inside the loader, most time first: all their time where frames are recorded, that of their
    ops where only ops have call stacks."""
    work = loader_work(trace)
    of_user = np.array([*map(is_source, work.lines), False])  # the last stands for none
    return _lines(work, of_user[work.line])


def why_no_line(activities: Sequence[Activity], trace: Trace) -> Phrase | None:
    """What an activity's line is missing for; None where call stacks tell those of Python, too."""
    if not any(activity.lines for activity in activities):
        return phrase("Lines are not known: no call stacks are recorded. {setting} shows them.", setting=WITH_STACK)
    if not loader_work(trace).has_frames:
        return phrase("Only ops have call stacks in this trace, so Python without an op has no line.")
    return None


WITH_STACK = code("with_stack=True")


def _lines(work: LoaderWork, chosen: Bool) -> list[LoaderLine]:
    """Of the chosen entries, most time first."""
    told = chosen & (work.line >= 0)
    totals = np.bincount(work.line[told], work.self_ns[told], len(work.lines)).astype(np.int64) // max(work.batches, 1)
    order = sorted(np.flatnonzero(totals).tolist(), key=lambda line: (-totals[line], work.lines[line]))
    return [LoaderLine(work.lines[line], int(totals[line])) for line in order[:MOST_LINES]]


def _marks(trace: Trace) -> Int64:
    """Of several loaders, the waits of the steps for the one that is waited for most."""
    batches, main = find_batches(trace), waited_for(trace)
    if main is None or len(batches.loaders) == 1:
        return loader_rows(trace)
    mine: Int64 = batches.row[batches.loader == main.loader]
    return mine


def _inside_waits(trace: Trace, rows: Int64) -> Int64:
    """Those of `rows` that lie in a wait as a whole, on a thread that waits."""
    events, marks = trace.events, _marks(trace)
    waits = Intervals.union(events.start_ns[marks], events.ends(marks))
    rows = rows[np.isin(events.thread[rows], np.unique(events.thread[marks]))]
    wait = np.searchsorted(waits.start, events.start_ns[rows], side="right") - 1
    return rows[(wait >= 0) & (events.ends(rows) <= waits.end[np.maximum(wait, 0)])] if len(waits.start) else rows[:0]


def _of_frames(trace: Trace, inside: Int64, rows: Int64) -> Words:
    of_user, of_file = (
        innermost(trace, np.intersect1d(inside, rows_named(trace, (Kind.PYTHON,), wanted), assume_unique=True), rows)
        for wanted in (is_source, is_file)
    )
    frame = np.where(of_user >= 0, of_user, of_file)
    name = np.where(frame >= 0, trace.events.name[frame], -1).astype(np.int32)
    return words_of(name, trace.strings.strings, short_frame)


def _of_stacks(trace: Trace, rows: Int64, is_op: Bool) -> Words:
    """A stack tells where an op is called, and nothing of the Python around it."""
    words = stack_words(trace, rows, _inside_loader)
    return Words(np.where(is_op, words.number, np.int32(-1)), words.texts)


def _inside_loader(stack: str) -> str | None:
    """The line of an op, of its call stack as far as the loader, innermost frame first.

    >>> loop = ";torch/utils/data/dataloader.py(1): __next__;train.py(3): main"
    >>> _inside_loader("torch/nn/functional.py(9): pad;data.py(7): __getitem__" + loop)
    'data.py(7): __getitem__'
    >>> _inside_loader("torch/utils/data/_utils/collate.py(56): default_collate" + loop)
    'torch/utils/data/_utils/collate.py(56): default_collate'
    """
    frames = stack.split(";")
    own = [place for place, frame in enumerate(frames) if _LOADER_CODE in frame]
    inside = frames[: own[-1] + 1] if own else []
    return next((short_frame(frame) for frame in (*filter(is_source, inside), *inside)), None)
