"""An eager recording, converted as if its steps had been captured in CUDA graphs, as input for the alignment.

    op        |- addmm -|- gelu -|                   .
    runtime     launch     launch        ->          cudaGraphLaunch
    kernel         gggg      aa                         ggggaa

One launch of a graph covers all kernels of a step. A tenth of the kernels may be replaced by others, as another
compiler would do, or be fused in pairs. `python -m benchmarks.graph_labels` prints for each real trace the share of
kernel time that gets its own op and modules back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.kernels.launch_places import kernel_makers
from tb_steptime.metrics.phases.assignment import kernel_phases
from tb_steptime.metrics.phases.sites import PHASES
from tb_steptime.metrics.replays.labels import labelled
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import graph_kernels, kernel_op_names, kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import MODULE_SEPARATOR, Int32, Int64, KernelTable, Kind, StringTable

#: The fraction of the kernels that is changed.
CHANGED_FRACTION = 0.1


@dataclass(frozen=True, eq=False)
class Captured:
    """trace: the recording with graphs. eager: for each of its kernels, the rows of the eager
    kernel table whose work the kernel does."""

    trace: Trace
    eager: list[tuple[int, ...]]


def captured(trace: Trace, changed: str = "", seed: int = 0) -> Captured:
    """changed: "replaced", "fused", or "" for no change."""
    events, origins, steps = trace.events, kernel_origins(trace), find_steps(trace)
    kernel = trace.kernels.event
    start = events.start_ns[np.where(origins.call >= 0, origins.call, kernel)]
    begins = np.array([step.host_start_ns for step in steps.steps], np.int64)
    step = np.clip(np.searchsorted(begins, start, side="right") - 1, 0, len(begins) - 1)
    kind, name, correlation, external = (
        column.copy()
        for column in (events.kind, events.name.astype(np.int32), events.correlation_id, events.external_id)
    )
    strings = [*trace.strings.strings, "cudaGraphLaunch", "another_kernel<float>", "fused_kernel<float>"]
    launch, another, fused = (len(trace.strings) + place for place in range(3))
    # what the replay of a graph leaves out becomes a mark, which no measurement reads
    kind[np.isin(kind, (Kind.CPU_OP, Kind.PYTHON))] = Kind.MARK
    kind[origins.call[origins.call >= 0]] = Kind.MARK
    external[kernel] = -1
    for each in np.unique(step).tolist():
        mine = np.flatnonzero((step == each) & (origins.call >= 0))
        if len(mine):
            call = int(origins.call[mine].min())
            name[call], kind[call], correlation[kernel[mine]] = launch, events.kind[call], correlation[call]
    doing = [(row,) for row in range(len(kernel))]
    included = np.ones(len(kernel), bool)
    chosen = np.random.default_rng(seed).random(len(kernel)) < CHANGED_FRACTION
    if changed == "replaced":
        name[kernel[chosen]] = another
    if changed == "fused":
        for one, other in _pairs(trace, step, chosen):
            if included[one] and included[other]:
                name[kernel[one]], kind[kernel[other]], included[other] = fused, Kind.MARK, False
                doing[one] = (one, other)
    table = KernelTable(
        *(None if column is None else column[included] for column in msgspec.structs.astuple(trace.kernels))
    )
    graphs = replace(
        trace,
        events=replace(events, kind=kind, name=name, correlation_id=correlation, external_id=external),
        kernels=table,
        strings=StringTable(strings),
        memo={},
    )
    return Captured(graphs, [doing[row] for row in np.flatnonzero(included).tolist()])


def _pairs(trace: Trace, step: Int64, chosen: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of kernels that follow each other on a stream within a step, where the first one is chosen."""
    event = trace.kernels.event
    order = np.lexsort((trace.events.start_ns[event], trace.events.stream[event], step))
    for one, other in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        alike = step[one] == step[other] and trace.events.stream[event[one]] == trace.events.stream[event[other]]
        if chosen[one] and alike:
            yield one, other


#: Op, innermost module, line and phase of a kernel. None stands for what is not known.
Said = tuple[str | None, str | None, str | None, str | None]


def right_fraction(trace: Trace, changed: str = "") -> float | None:
    """The share of the graphs' kernel time that gets its own op, module, line and phase back. None if the recording has
    no kernels or its kernels run in graphs already."""
    case = captured(trace, changed)
    found = labelled(case.trace, trace)
    if found is None:
        return None
    own, carried = _recorded(trace), _carried_over(found.trace)
    graph = graph_kernels(case.trace)
    right = np.array(
        [label in {own[row] for row in rows} for label, rows in zip(carried, case.eager, strict=True)], bool
    )
    time = case.trace.events.dur_ns[case.trace.kernels.event]
    return float(time[graph & right].sum() / max(1, time[graph].sum()))


def _recorded(trace: Trace) -> list[Said]:
    """For each kernel, what the eager recording itself says."""
    makers, phases = kernel_makers(trace), kernel_phases(trace)
    names = [
        trace.strings[name] if name >= 0 else None
        for name in kernel_op_names(trace, np.arange(len(trace.kernels))).tolist()
    ]
    return [(name, makers.module[row], makers.line[row], PHASES[int(phases[row])]) for row, name in enumerate(names)]


def _carried_over(trace: Trace) -> list[Said]:
    """For each kernel, what its label says."""
    labels = trace.kernel_labels
    if labels is None:
        return [(None, None, None, None)] * len(trace.kernels)

    def text(column: Int32, row: int) -> str | None:
        return labels.texts[int(column[row])] if column[row] >= 0 else None

    return [
        (
            trace.strings[int(labels.op[row])] if labels.op[row] >= 0 else None,
            None if (path := text(labels.modules, row)) is None else path.rpartition(MODULE_SEPARATOR)[2],
            text(labels.line, row),
            text(labels.phase, row),
        )
        for row in range(len(trace.kernels))
    ]


#: In a step with fewer kernels, a tenth of the kernels is too few to judge.
LEAST_KERNELS = 30
#: The largest share of kernels without an op in a recording that is to label kernels.
MOST_WITHOUT_OP = 0.1
