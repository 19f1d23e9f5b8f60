"""Relations between events, and values that only some have: written once, so that details need no trace.

    activity.event, .call, .site, ...   one entry a kernel, copy or memset, in time order
    call.event, .activity               the same relations sorted by call
    kernel.event, ...                   values of kernels
    node.event, .forward                rows of the backward pass and the op that created them
    noted.event, .stream, .module, ...  activities that are annotated, and on which stream they ran
    stack.event, input.event, ...       ops with a call stack or with shapes of their inputs

Events are referred to by number, columns sorted by it; -1 means none. Texts are numbers of strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.metrics.gpu.occupancy import filling
from tb_steptime.metrics.gpu.utilization import blocks_per_sm
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.tensor_cores.usage import kernel_answers
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.sources import modules, sources
from tb_steptime.trace.table import Int32, ranges_from


def write_ties(trace: Trace, columns: Columns, first_string: int) -> list[str]:
    """Writes the relations. Returns the strings that are needed besides the trace's own, of which the first one gets
    the number first_string."""
    strings = _Strings(first_string)
    _write_launches(trace, columns)
    _write_kernels(trace, columns, strings)
    _write_annotations(trace, columns, strings)
    _write_inputs(trace, columns, strings)
    _write_stacks(trace, columns, strings)
    nodes = backward_nodes(trace)
    columns.add("node.event", nodes.event)
    columns.add("node.forward", nodes.forward)
    return list(strings.numbers)


class _Strings:
    def __init__(self, first: int) -> None:
        self.first = first
        self.numbers: dict[str, int] = {}

    def number(self, string: str | None) -> int:
        return -1 if string is None else self.numbers.setdefault(string, self.first + len(self.numbers))

    def numbers_of(self, place: npt.NDArray[Any], texts: Iterable[str]) -> Int32:
        """Returns the numbers of texts that are given by their place, -1 for none."""
        numbers = np.array([*(self.number(text) for text in texts), -1], np.int32)
        return numbers[place]


def _write_launches(trace: Trace, columns: Columns) -> None:
    launches, events = find_launches(trace), trace.events
    columns.add("activity.event", launches.activity)
    columns.add("activity.call", launches.call)
    columns.add("activity.site", activity_sites(trace))
    columns.add("activity.correlation", events.correlation_id[launches.activity].astype(np.int64))
    if events.bytes is not None:
        columns.add("activity.bytes", events.bytes[launches.activity])
    order = np.argsort(launches.call, kind="stable")
    order = order[launches.call[order] >= 0]
    columns.add("call.event", launches.call[order])
    columns.add("call.activity", launches.activity[order])


def _write_kernels(trace: Trace, columns: Columns, strings: _Strings) -> None:
    kernels = trace.kernels
    filled = filling(trace)
    answers = kernel_answers(trace)
    columns.add("kernel.event", kernels.event.astype(np.int32))
    reasons = [f"{answer.answer.capitalize()}: {answer.reason}" for answer in answers.distinct]
    columns.add("kernel.tensor_cores", strings.numbers_of(answers.place, reasons))
    columns.add("kernel.occupancy", filled.occupancy)
    columns.add("kernel.waves", filled.waves)
    columns.add("kernel.blocks_per_sm", blocks_per_sm(trace))
    for name in ("grid", "block", "registers", "shared_memory", "kineto_occupancy"):
        values = getattr(kernels, name)
        if values is not None:
            columns.add(f"kernel.{name}", values.ravel())


def _write_annotations(trace: Trace, columns: Columns, strings: _Strings) -> None:
    """Writes the annotations of activities, and for an activity that is shown on another lane the stream on which it
    ran. Others get -1."""
    table, texts = trace.annotations, trace.annotation_texts.strings
    if len(table):
        columns.add("noted.event", table.event.astype(np.int32))
        columns.add("noted.stream", np.where(table.lane >= 0, trace.events.stream[table.event], -1).astype(np.int32))
        for name in ("module", "name", "phase", "text"):
            columns.add(f"noted.{name}", strings.numbers_of(getattr(table, name), texts))


def _write_inputs(trace: Trace, columns: Columns, strings: _Strings) -> None:
    shapes, dtypes = trace.events.shapes, trace.events.dtypes
    if shapes is None or dtypes is None:
        return
    rows = np.flatnonzero(shapes >= 0).astype(np.int32)
    columns.add("input.event", rows)
    columns.add("input.shapes", strings.numbers_of(shapes[rows], trace.inputs.strings))
    columns.add("input.dtypes", strings.numbers_of(dtypes[rows], trace.inputs.strings))


def _write_stacks(trace: Trace, columns: Columns, strings: _Strings) -> None:
    """Writes call stacks. They are not needed where a trace has a row for each Python frame: these enclose the op."""
    rows = trace.stacks.event
    if not len(rows):
        return
    columns.add("stack.event", rows)
    for name, row_texts in (("source", sources(trace, rows)), ("module", modules(trace, rows))):
        columns.add(f"stack.{name}", strings.numbers_of(row_texts.number, row_texts.texts))


def row_of(events: EventFile, column: str, number: int) -> int | None:
    """Returns the row of an event in the columns of a family such as "kernel", or None if it is not among them."""
    if not events.has(f"{column}.event"):
        return None
    numbers = events.column(f"{column}.event")
    row = int(np.searchsorted(numbers, number))
    return row if row < len(numbers) and numbers[row] == number else None


def launched_by(events: EventFile, calls: Sequence[int] | Int32) -> Int32:
    """Returns the activities that these calls launched, call by call. The calls are ascending."""
    numbers = events.column("call.event")
    first = np.searchsorted(numbers, calls)
    count = np.searchsorted(numbers, calls, side="right") - first
    rows = ranges_from(first, count)
    return events.column("call.activity")[rows]
