"""Whether a job is eager, compiled or in graphs. The launches of kernels show it; without kernels, the places of CPU
ops do.

thread   |Torch-Compiled Region: 0/0|  aten::add   aten::mul   |cudaGraphLaunch|
kernels          cc                       ee          ee           gggggggg
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.kernel_names.work_kinds import (
    COMPILED_KERNEL,
)
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import compiling
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, named_in, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import GRAPH_CALL, graph_calls
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind, is_in

ExecutionId = Literal["eager", "compiled", "graphs", "mixed", "unknown"]

#: A way of launching with at least this share of the work is the job's. Otherwise the job is mixed.
LEADING_SHARE = 0.80

#: Minimum share of kernel time whose launch is known. With less, nothing is concluded about the rest.
KNOWN_SHARE = 0.50

#: If graphs have no recorded kernels, at least this many launches show that the job runs in graphs.
FEWEST_GRAPHS = 3

#: Ranges that torch.compile writes around its code, on the host.
_COMPILED_RANGE = expression(r"Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction(Backward)?$")


class Execution(msgspec.Struct, frozen=True):
    """How the work is launched. The shares are those of kernel time without collectives, or of CPU time in ops if there
    are no kernels; None if nothing ran. The rest up to 1 is eager."""

    id: ExecutionId
    compiled_share: float | None
    graph_share: float | None
    evidence: list[JobEvidence]


@shared
def compiled_ranges(trace: Trace) -> Int64:
    """Returns the rows of the host's ranges and ops in which compiled code runs, in time order."""
    return rows_named(trace, (Kind.CPU_OP, Kind.USER), _COMPILED_RANGE.match)


def execution_of(trace: Trace) -> Execution:
    """Returns the way in which most work is launched; unknown if nothing ran. If the kernels of graphs were not
    recorded, it is graphs, without shares."""
    if len(graphs_without_kernels(trace)) >= FEWEST_GRAPHS:
        return Execution("graphs", None, None, _evidence(trace))
    shares = _shares_of_kernels(trace) if len(trace.kernels) else _shares_of_ops(trace)
    if shares is None:
        return Execution("unknown", None, None, [])
    compiled, graphs = shares
    by_share: dict[ExecutionId, float] = {"compiled": compiled, "graphs": graphs, "eager": 1 - compiled - graphs}
    leading = max(by_share, key=lambda each: by_share[each])
    return Execution(leading if by_share[leading] >= LEADING_SHARE else "mixed", compiled, graphs, _evidence(trace))


def graphs_without_kernels(trace: Trace) -> Int64:
    """Returns the rows of graph launches if no kernel of any graph is in the trace; otherwise none."""
    calls = graph_calls(trace)
    return calls[:0] if is_in(find_launches(trace).call, calls).any() else calls


def _evidence(trace: Trace) -> list[JobEvidence]:
    host = (Kind.CPU_OP, Kind.USER)
    return [
        *named_evidence("graph_launches", trace, CALL_KINDS, GRAPH_CALL.search),
        *named_evidence("compiled_regions", trace, host, _COMPILED_RANGE.match),
        *named_evidence("compiled_kernels", trace, (Kind.KERNEL,), COMPILED_KERNEL.match),
    ]


def _shares_of_kernels(trace: Trace) -> tuple[float, float] | None:
    """Returns the shares of compiled code and of graphs in the time of computing kernels with known launches; None if
    these have less than half of the time of computing kernels. Without launches, only the few kernels with inductor's
    names would count."""
    events, rows = trace.events, trace.kernels.event
    by_name = named_in(trace, rows, COMPILED_KERNEL.match)
    call = find_launches(trace).calls_of(rows)
    graph = is_in(call, graph_calls(trace))
    compiled = ~graph & (by_name[events.name[rows]] | (innermost(trace, compiled_ranges(trace), call) >= 0))
    computes = ~collective_names(trace)[events.name[rows]]
    length = np.where(((call >= 0) | compiled) & computes, events.dur_ns[rows], 0)
    total = int(length.sum())
    if total < KNOWN_SHARE * int(events.dur_ns[rows[computes]].sum()) or not total:
        return None
    return int(length[compiled].sum()) / total, int(length[graph].sum()) / total


def _shares_of_ops(trace: Trace) -> tuple[float, float] | None:
    """Returns the share of compiled ranges in the time of ops and such ranges, without that of the compiler, and 0 for
    graphs; None without ops."""
    compiled = Intervals.of_events(trace.events, compiled_ranges(trace)) - compiling(trace)
    ops = (Intervals.of_events(trace.events, trace.events.rows(Kind.CPU_OP)) - compiling(trace)) | compiled
    return (compiled.total_ns / ops.total_ns, 0.0) if ops.total_ns else None
