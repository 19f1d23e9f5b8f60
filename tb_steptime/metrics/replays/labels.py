"""Labels for the kernels of CUDA graphs, from an eager recording of the same job.

    eager    aten::addmm in Linear_0, forward     gemm 128x128 [64,2,1]
    graph    cudaGraphLaunch                      gemm 128x128 [64,2,1]     -> aten::addmm in Linear_0, forward

Kernels show whether two recordings are of the same job: if less than half of the graphs' kernel time is in kernels that
the eager step has too, no labels are copied.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.kernel_names.short_names import kind_of, short_name
from tb_steptime.metrics.kernels.launch_places import kernel_makers, kernel_module_rows
from tb_steptime.metrics.operators.modules import find_modules
from tb_steptime.metrics.phases.assignment import kernel_phases
from tb_steptime.metrics.phases.sites import PHASES
from tb_steptime.metrics.replays.alignment import Alignment, Match, Sequence, align
from tb_steptime.metrics.replays.graph_time import LEAST_NAMED_FRACTION
from tb_steptime.trace.frames import module_frames, module_name
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import graph_kernels, kernel_origins
from tb_steptime.trace.sources import Words
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import (
    MODULE_SEPARATOR,
    Bool,
    Int32,
    Int64,
    KernelLabels,
    StringTable,
    UInt8,
    distinct,
    distinct_in,
    places_in,
    values_at,
)


class LabelledTrace(msgspec.Struct, frozen=True, eq=False):
    """The trace with labels for the kernels of its graphs. It is unchanged if the two recordings are not of the same
    job.

    named_fraction      share of the time of these kernels that ran with kernels that the eager step has too
    labelled_fraction   share of the time of these kernels that has a label; 0 if no label was carried over
    """

    trace: Trace
    named_fraction: float
    labelled_fraction: float


def labelled(trace: Trace, eager: Trace) -> LabelledTrace | None:
    """Returns the trace with labels; None if it has no kernels of graphs, or if the other recording is not an eager
    one."""
    graph, step = graph_kernels(trace), _typical_step(eager)
    if not graph.any() or not len(step):
        return None
    eager_rows, match = _aligned(trace, eager, step)
    eager_rows[~graph], match[~graph] = -1, Match.NONE
    time = trace.events.dur_ns[trace.kernels.event]
    graph_ns = max(1, int(time[graph].sum()))
    named, some = (int(time[match >= least].sum()) / graph_ns for least in (Match.NAME, Match.PLACE))
    if named < LEAST_NAMED_FRACTION:
        return LabelledTrace(trace, named, 0.0)
    return LabelledTrace(_with_labels(trace, eager, eager_rows, match == Match.SAME), named, some)


def _aligned(trace: Trace, eager: Trace, step: Int64) -> tuple[Int64, UInt8]:
    """Returns for each kernel the row of its eager kernel, -1 for none, and how well the two match. The rows of the
    eager step's kernels are `step`."""
    eager_kernels, kernels = _sequences(eager, trace)
    alignments: dict[bytes, Alignment] = {}
    eager_rows = np.full(len(trace.kernels), -1, np.int64)
    match = np.zeros(len(trace.kernels), np.uint8)
    for rows in _units(trace):
        unit = kernels.rows(rows)
        key = unit.shape.tobytes()
        if key not in alignments:
            alignments[key] = align(eager_kernels.rows(step), unit)
        alignment = alignments[key]
        eager_rows[rows] = np.where(alignment.eager >= 0, step[alignment.eager], -1)
        match[rows] = alignment.match
    return eager_rows, match


def _typical_step(trace: Trace) -> Int64:
    """Returns the rows of the kernel table of one step, in the order of execution. Of the steps with the most frequent
    number of kernels, it is the middle one. The result is empty for a recording with graphs, because its kernels have
    no ops themselves."""
    if graph_kernels(trace).any():
        return np.empty(0, np.int64)
    steps = _by_step(trace)
    counts = [len(rows) for rows in steps]
    usual = max(sorted(set(counts)), key=counts.count, default=0)
    alike = [rows for rows in steps if len(rows) == usual]
    return alike[len(alike) // 2] if alike else np.empty(0, np.int64)


def _units(trace: Trace) -> list[Int64]:
    """Returns the rows of the kernel table that are aligned together. These are the rows of each step, or of each graph
    launch if the recording has no steps."""
    if find_steps(trace).by != "recording":
        return _by_step(trace)
    call = kernel_origins(trace).call
    rows = _in_order(trace, np.flatnonzero(graph_kernels(trace)))
    return [rows[call[rows] == each] for each in distinct(call[rows]).tolist()]


def _by_step(trace: Trace) -> list[Int64]:
    """Returns the kernels that the host launches in each step. Kernels without a recorded launch belong to the step in
    which they begin."""
    events = trace.events
    call = kernel_origins(trace).call
    steps = find_steps(trace)
    rows = _in_order(trace, np.arange(len(trace.kernels)))
    launch = call[rows]
    start = events.start_ns[np.where(launch >= 0, launch, trace.kernels.event[rows])]
    by_step = []
    for step in steps.steps:
        on_host = (start >= step.host_start_ns) & (start < step.host_end_ns)
        on_device = (start >= step.start_ns) & (start < step.end_ns)
        by_step.append(rows[np.where(launch >= 0, on_host, on_device)])
    return by_step


def _in_order(trace: Trace, rows: Int64) -> Int64:
    return rows[np.argsort(trace.events.start_ns[trace.kernels.event[rows]], kind="stable")]


def _sequences(*traces: Trace) -> list[Sequence]:
    """Returns all kernels of each trace, with numbers that the traces share."""
    names: dict[str, int] = {}
    number_of = [
        {
            name: names.setdefault(trace.strings[name], len(names))
            for name in distinct_in(trace.events.name[trace.kernels.event]).tolist()
        }
        for trace in traces
    ]
    kinds: dict[str, int] = {}
    kind = np.array([kinds.setdefault(kind_of(short_name(name)), len(kinds)) for name in names], np.int64)
    columns = [_shapes(trace, number) for trace, number in zip(traces, number_of, strict=True)]
    _, shape = np.unique(np.concatenate(columns), axis=0, return_inverse=True)
    shapes = np.split(shape.reshape(-1).astype(np.int64), np.cumsum([len(column) for column in columns])[:-1])
    return [Sequence(each[:, 0], own, kind[each[:, 0]]) for each, own in zip(columns, shapes, strict=True)]


def _shapes(trace: Trace, number: dict[int, int]) -> Int64:
    """Returns the number of the name, the grid and the block of each kernel, with the shape (kernels, 7)."""
    table = trace.kernels
    new = np.zeros(max(number, default=0) + 1, np.int64)
    new[list(number)] = list(number.values())
    name = new[trace.events.name[table.event]]
    unknown = np.full((len(table), 3), -1, np.int64)
    grid, block = (unknown if column is None else column for column in (table.grid, table.block))
    return np.column_stack((name, grid, block)).astype(np.int64)


class _Texts:
    """The texts of a table, with further texts appended."""

    def __init__(self, strings: list[str]) -> None:
        self.strings = list(strings)
        self._number = {text: number for number, text in enumerate(strings)}

    def numbers(self, rows: Int64, texts: list[str]) -> Int32:
        """Returns the number in this table of each of these rows of another one. New texts are appended, and -1 stays
        -1."""
        new = np.full(len(texts) + 1, -1, np.int32)
        for each in distinct_in(rows[rows >= 0]).tolist():
            text = texts[each]
            if text not in self._number:
                self._number[text] = len(self.strings)
                self.strings.append(text)
            new[each] = self._number[text]
        return new[rows]


def _with_labels(trace: Trace, eager: Trace, row: Int64, is_same: Bool) -> Trace:
    """Returns the trace with labels.

    row      for each kernel the row of the eager kernel table, -1 for none
    is_same  whether that is the same kernel in the same launch shape
    """
    strings = _Texts(trace.strings.strings)
    inputs = _Texts(trace.inputs.strings)
    texts = _Texts([])
    op = values_at(kernel_origins(eager).op, row)

    def of_op(column: Int32 | None, into: _Texts, texts: list[str]) -> Int32:
        return into.numbers(np.full(len(row), -1) if column is None else values_at(column, op), texts)

    makers, events = kernel_makers(eager), eager.events
    paths = _module_paths(eager)
    label = KernelLabels(
        op=of_op(events.name, strings, eager.strings.strings),
        call=op.astype(np.int32),
        shapes=of_op(events.shapes, inputs, eager.inputs.strings),
        dtypes=of_op(events.dtypes, inputs, eager.inputs.strings),
        settings=of_op(events.settings, inputs, eager.inputs.strings),
        is_same=is_same,
        modules=texts.numbers(values_at(paths.number, row), list(paths.texts)),
        line=texts.numbers(values_at(makers.line.number, row), list(makers.line.texts)),
        phase=texts.numbers(values_at(kernel_phases(eager), row), list(PHASES)),
        texts=StringTable(texts.strings),
    )
    return replace(
        trace, kernel_labels=label, strings=StringTable(strings.strings), inputs=StringTable(inputs.strings), memo={}
    )


def _module_paths(trace: Trace) -> Words:
    """Returns for each kernel the modules around the op that made it, from the outermost to the innermost, with "/"
    between them."""
    frames = module_frames(trace)
    if not len(frames):
        return kernel_makers(trace).module
    modules = find_modules(trace)
    path = np.append(modules.paths.of_call, -1)[places_in(modules.calls.row, kernel_module_rows(trace))]
    texts = list[str]()
    for parent, frame in zip(modules.paths.parent.tolist(), modules.paths.frame.tolist(), strict=True):
        name = module_name(modules.names[frame])
        texts.append(f"{texts[parent]}{MODULE_SEPARATOR}{name}" if parent >= 0 else name)
    return Words(path.astype(np.int32), texts)
