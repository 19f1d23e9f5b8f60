"""Eager, compiled or in graphs: by how the kernels were launched; without kernels, by where the CPU ops ran.

thread   |Torch-Compiled Region: 0/0|  aten::add   aten::mul   |cudaGraphLaunch|
kernels          cc                       ee          ee           gggggggg
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.kernel_names.work_kinds import COMPILED_KERNEL
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, named_in, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, is_in

ExecutionId = Literal["eager", "compiled", "graphs", "mixed", "unknown"]

#: A way of launching with at least this share of the work is the job's; otherwise the job is mixed.
LEADING_SHARE = 0.80

#: Minimum share of kernel time whose launch is known; with less, nothing is concluded about the rest.
KNOWN_SHARE = 0.50

#: If graphs have no recorded kernels, at least this many launches show that the job runs in graphs.
FEWEST_GRAPHS = 3

#: Ranges that torch.compile writes around its code, on the host.
_COMPILED_RANGE = expression(r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction(Backward)?$")


class Execution(NamedTuple):
    """Shares of kernel time without collectives, or of CPU time in ops if there are no kernels; None if nothing ran.
    The rest up to 1 is eager."""

    id: ExecutionId
    compiled_share: float | None
    graph_share: float | None
    evidence: list[JobEvidence]


@shared
def compiled_ranges(trace: Trace) -> Int64:
    """Rows of the host's ranges and ops in which compiled code runs, in time order."""
    return rows_named(trace, (Kind.CPU_OP, Kind.USER), _COMPILED_RANGE.match)


def execution_of(trace: Trace) -> Execution:
    """The way in which most work is launched; unknown if nothing ran. Also graphs whose kernels were not recorded, with
    no known shares."""
    if len(graphs_without_kernels(trace)) >= FEWEST_GRAPHS:
        return Execution("graphs", None, None, _evidence(trace))
    shares = _of_kernels(trace) if len(trace.kernels) else _of_ops(trace)
    if shares is None:
        return Execution("unknown", None, None, [])
    compiled, graphs = shares
    by_share: dict[ExecutionId, float] = {"compiled": compiled, "graphs": graphs, "eager": 1 - compiled - graphs}
    leading = max(by_share, key=lambda each: by_share[each])
    return Execution(leading if by_share[leading] >= LEADING_SHARE else "mixed", compiled, graphs, _evidence(trace))


def graphs_without_kernels(trace: Trace) -> Int64:
    """Rows of graph launches, if no kernel of any graph is in the trace; otherwise empty."""
    calls = rows_named(trace, CALL_KINDS, GRAPH_CALL.search)
    return calls[:0] if is_in(find_launches(trace).call, calls).any() else calls


def _evidence(trace: Trace) -> list[JobEvidence]:
    host = (Kind.CPU_OP, Kind.USER)
    return [
        *named_evidence("graph_launches", trace, CALL_KINDS, GRAPH_CALL.search),
        *named_evidence("compiled_regions", trace, host, _COMPILED_RANGE.match),
        *named_evidence("compiled_kernels", trace, (Kind.KERNEL,), COMPILED_KERNEL.match),
    ]


def _of_kernels(trace: Trace) -> tuple[float, float] | None:
    """(compiled, graphs) as shares of the time of computing kernels with known launches; None if these have less than
    half of that time. Without launches only the few kernels with inductor's names would count."""
    events, rows = trace.events, trace.kernels.event
    by_name = named_in(trace, rows, COMPILED_KERNEL.match)
    call = find_launches(trace).calls_of(rows)
    graph = _is_graph(trace, call)
    compiled = ~graph & (by_name[events.name[rows]] | (innermost(trace, compiled_ranges(trace), call) >= 0))
    computes = ~collective_names(trace)[events.name[rows]]
    length = np.where(((call >= 0) | compiled) & computes, events.dur_ns[rows], 0)
    total = int(length.sum())
    if total < KNOWN_SHARE * int(events.dur_ns[rows[computes]].sum()) or not total:
        return None
    return int(length[compiled].sum()) / total, int(length[graph].sum()) / total


def _is_graph(trace: Trace, call: Int64) -> Bool:
    names = named_in(trace, trace.events.rows(*CALL_KINDS), GRAPH_CALL.search)
    graph: Bool = (call >= 0) & names[trace.events.name[call]]
    return graph


def _of_ops(trace: Trace) -> tuple[float, float] | None:
    """Time in compiled ranges as a share of the time in ops and such ranges."""
    compiled = Intervals.of_events(trace.events, compiled_ranges(trace))
    ops = Intervals.of_events(trace.events, trace.events.rows(Kind.CPU_OP)) | compiled
    return (compiled.total_ns / ops.total_ns, 0.0) if ops.total_ns else None
