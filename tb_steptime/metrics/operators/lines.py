"""The self cost of each line of the user's code. Work counts for the innermost line outside torch and Python's library.

thread   |---------- train.py(9): step ----------|    host, self   step 4, forward 8; elsewhere what no line is around
           |-- model.py(4): forward --|               host, total  step 12, forward 8
              aten::linear  [launch]                  of the launch: device time, and the GPU's idle time that it ended
device                           kkkkkkkk
Lines and "elsewhere" sum to the whole. On the host this is the steps on the training thread, including Python's own
time. On the device, in idle time and in bytes it is the costs in the table of ops, of the ops in the steps and of work
in no op. Work of the backward pass counts for the line that created it in the forward pass, if known.

The line that a trace names depends on its age (`LineOf`). Since 2022 a frame gives the line on which its function
begins, so the figures are those of a function. Frames that were open when the recording began, and those of generators,
give the line that they had reached. Earlier, the call stack of an op gave the lines being executed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from tb_steptime.metrics.operators.keys import BETWEEN, label_keys, recorded, stacks_of
from tb_steptime.metrics.operators.op_tree import (
    DEVICE_COSTS,
    Cost,
    OpTree,
    Where,
    allocated_outside_ops,
    in_steps,
    labelled_work,
    measured_costs,
    op_tree,
    outside_ops,
    own_costs,
)
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.trace.frames import short_frame, source_frames
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost_at, op_rows
from tb_steptime.trace.sources import Words, sources, words_of
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, distinct

#: What a line means: the one on which a function begins, or one that was being executed.
LineOf = Literal["function", "call"]

#: The costs that are measured for each line besides the host's time.
_COSTS: tuple[Cost, ...] = ("device", "launches", "idle", "allocated")

#: Sums by line. None stands for work without a line.
Sums = Counter[str | None]


class CodeLineSums(msgspec.Struct, frozen=True):
    """Sums over the steps, ns and bytes. The fields are as in `CodeLine`."""

    host_self_ns: int = 0
    device_ns: int | None = None
    launches: int | None = None
    idle_ns: int | None = None
    allocated_bytes: int | None = None


class CodeLine(msgspec.Struct, frozen=True):
    """One line of code; sums over the steps.

    source            for example "train.py(54): step"
    calls             how often the function is called; None if lines are those of calls
    host_self_ns      time on the main thread, including Python's own time
    host_total_ns     the same, with what the line calls; a line that calls itself counts once
    device_ns         time of what it launches; None if nothing ran on a device
    launches          number of kernels, copies and memsets that it launches; None likewise
    idle_ns           how long devices had nothing to do until what it launches began, without waits for batches; None
                      likewise
    allocated_bytes   bytes that it allocates, freed or not, on the GPUs, or on the CPU if no GPU's were recorded; None
                      if none were
    """

    source: str
    calls: int | None
    host_self_ns: int
    host_total_ns: int
    device_ns: int | None = None
    launches: int | None = None
    idle_ns: int | None = None
    allocated_bytes: int | None = None


class Lines(msgspec.Struct, frozen=True):
    """Lines with anything in the steps, those with most idle time first, then most device time, then most host time.

    host_ns: the steps on the main thread. elsewhere: the sums of what no line is around.
    """

    line_of: LineOf
    where: Where
    host_ns: int
    rows: list[CodeLine]
    elsewhere: CodeLineSums


def find_lines(trace: Trace) -> Lines | None:
    """Returns the lines; None if no line of the user's code is recorded."""
    facts = recorded(trace)
    if not facts.stacks:
        return None
    where: Where = "made" if facts.backward else "ran"
    steps = Intervals.union(find_steps(trace).host_start_ns, find_steps(trace).host_end_ns)
    own, total = _host_sums(trace, steps)
    own[None] = steps.total_ns - own.total()
    tree = op_tree(trace, where)
    lines = sources(trace, tree.row).at(tree.owner)
    costs = {cost: _costs(trace, tree, lines, cost) for cost in _COSTS if cost in measured_costs(trace)}
    calls = _calls(trace)
    texts = {text for sums in (own, total, *costs.values()) for text, value in sums.items() if text and value}
    rows = [
        CodeLine(text, None if calls is None else calls[text], own[text], total[text], *_device_costs(costs, text))
        for text in texts
    ]
    return Lines(
        line_of="call" if calls is None else "function",
        where=where,
        host_ns=steps.total_ns,
        rows=sorted(rows, key=lambda row: (-(row.idle_ns or 0), -(row.device_ns or 0), -row.host_self_ns, row.source)),
        elsewhere=CodeLineSums(own[None], *_device_costs(costs, None)),
    )


def sums_of(rows: Sequence[CodeLine | CodeLineSums]) -> CodeLineSums:
    """Returns the sum of several lines, or of sums of lines."""
    sums: list[Any] = [_sum([getattr(row, field) for row in rows]) for field in CodeLineSums.__struct_fields__]
    return CodeLineSums(*sums)


def _sum(values: Sequence[int | None]) -> int | None:
    """Returns the sum; None if any value is unknown, and 0 if there are no values."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


def _device_costs(costs: Mapping[Cost, Sums], text: str | None) -> list[int | None]:
    return [costs[cost][text] if cost in costs else None for cost in _COSTS]


def _host_sums(trace: Trace, steps: Intervals) -> tuple[Sums, Sums]:
    """Returns the training thread's time in each line itself, and the time including what it calls. Each instant of the
    steps belongs to the innermost frame open at that time, or to the innermost op if ops record their call stacks."""
    own, total = Sums(), Sums()
    events, threads = trace.events, training_threads(trace)
    if not threads:
        return own, total
    around = source_frames if len(source_frames(trace)) else op_rows
    rows = around(trace)
    rows = rows[events.thread[rows] == threads[0]]
    edges = distinct(np.concatenate((events.start_ns[rows], events.ends(rows), steps.start, steps.end)))
    within = steps.overlap_ns(edges[:-1], edges[1:])
    innermost = innermost_at(trace, around, np.full(len(within), threads[0], np.int32), edges[:-1])
    spent = (innermost >= 0) & (within > 0)
    stacks = stacks_of(trace, innermost[spent])
    for stack, ns in _by_text(stacks, within[spent]).items():
        if stack:
            lines = stack.split(BETWEEN)
            own[lines[0]] += ns
            total.update(dict.fromkeys(lines, ns))
    return own, total


def _costs(trace: Trace, tree: OpTree, lines: Words, cost: Cost) -> Sums:
    """Returns the sum of one cost by the line of the op for which it counts. lines: the line of each op of the tree."""
    sums = _by_text(lines, own_costs(trace, tree, cost))
    if cost == "allocated":
        frames, allocated = allocated_outside_ops(trace, source_frames(trace))
        return sums + _by_text(_lines_around(trace, frames), allocated)
    assert cost in DEVICE_COSTS
    outside = outside_ops(trace)
    work = labelled_work(trace)
    labels = kernel_labels(trace)
    sums += _by_text(_lines_around(trace, outside.call), outside.costs(trace, cost))
    if labels is not None:
        sums += _by_text(label_keys(trace, labels, "line").at(work.kernel), work.costs(trace, cost))
    return sums


def _lines_around(trace: Trace, rows: Int64) -> Words:
    """Returns the line around each of these rows of the event table; none for row -1."""
    words, number = sources(trace, rows[rows >= 0]), np.full(len(rows), -1, np.int32)
    number[rows >= 0] = words.number
    return Words(number, words.texts)


def _by_text(words: Words, values: Int64) -> Sums:
    sums = exact_sums(words.number + 1, values, len(words.texts) + 1)
    return Sums(dict(zip((None, *words.texts), sums.tolist(), strict=True)))


def _calls(trace: Trace) -> Counter[str] | None:
    """Returns how often each function is called in the steps; None if no frame is recorded."""
    frames = source_frames(trace)
    if not len(frames):
        return None
    called = frames[in_steps(trace, frames)]
    words = words_of(trace.events.name[called], trace.strings.strings, short_frame)
    counts = np.bincount(words.number, minlength=len(words.texts)).tolist()
    return Counter(dict(zip(words.texts, counts, strict=True)))
