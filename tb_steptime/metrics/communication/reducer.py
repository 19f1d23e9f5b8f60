"""The work of DistributedDataParallel's reducer besides exchanging gradients. It searches for parameters that the step
does not use, and copies gradients out of its buckets.

forward           |-- DistributedDataParallel.forward [search] --|
backward                [mul_out][mul_out]...[allreduce: 8 int]        a number for each parameter: was it used
                                                         [copy_bucket_to_grad][copy_bucket_to_grad]...
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import KINDS, Collectives, find_collectives
from tb_steptime.metrics.communication.exposure import exposure, judged_windows
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import union_where
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int64, Kind, is_in, median

_REDUCER = r"torch(?:\.|::)distributed(?:\.ddp\.|::)reducer::"
_SEARCH, _COPY_BACK = (expression(_REDUCER + name) for name in ("search_unused_parameters$", "copy_bucket_to_grad$"))
#: The op that copies a gradient into its bucket. There is one for each parameter that got a gradient.
_COPY_IN = expression(_REDUCER + "(?:mul_out|copy_)$")
_INT_BYTES = 4


class Reducer(msgspec.Struct, frozen=True):
    """Means per step; times in ns.

    copies           number of gradients copied out of buckets
    copies_ns        the host's time for them
    searches         number of searches for unused parameters
    search_ns        the host's time for them
    idle_search_ns   the part of search_ns in which no device works
    map_ns           exposed time of the all-reduces that tell which parameters were used: for each search that of the
                     median one. Such an all-reduce does not wait for late ranks, because it follows others that did.
    parameters       number of parameters in such an all-reduce; None if the trace does not show it
    all_used         whether each of them got a gradient in each step; None if the trace does not show it
    """

    copies: float
    copies_ns: int
    searches: float
    search_ns: int
    idle_search_ns: int
    map_ns: int
    parameters: int | None
    all_used: bool | None


def reducer(trace: Trace, chosen: Steps) -> Reducer | None:
    """Returns the reducer's work in these steps; None if it neither copies nor searches."""
    copies, searches = _ops(trace, _COPY_BACK, chosen), _ops(trace, _SEARCH, chosen)
    if not len(copies) and not len(searches):
        return None
    steps, judged = len(chosen.steps), judged_windows(trace) & chosen.intervals
    searching = Intervals.of_events(trace.events, searches) & judged
    maps = _integer_reduces(trace, find_collectives(trace)) if len(searches) else np.empty(0, np.int64)
    parameters = _parameters(trace, maps, len(_ops(trace, _SEARCH, find_steps(trace))))
    copied = len(_ops(trace, _COPY_IN, chosen))  # none if gradients are views of the buckets
    return Reducer(
        copies=len(copies) / steps,
        copies_ns=(Intervals.of_events(trace.events, copies) & judged).total_ns // steps,
        searches=len(searches) / steps,
        search_ns=searching.total_ns // steps,
        idle_search_ns=(searching - union_where(trace, is_in(trace.events.kind, DEVICE_KINDS))).total_ns // steps,
        map_ns=int(median(exposure(trace).exposed_ns[maps])) * len(searches) // steps if parameters else 0,
        parameters=parameters,
        all_used=copied == parameters * len(searches) if copied and parameters is not None else None,
    )


def _ops(trace: Trace, pattern: re.Pattern[str], steps: Steps) -> Int64:
    """Returns the rows of the ops whose name matches the pattern and that begin in one of the steps."""
    rows = rows_named(trace, (Kind.CPU_OP,), pattern.match)
    return rows[steps.holding(trace.events.start_ns[rows]) >= 0]


def _integer_reduces(trace: Trace, collectives: Collectives) -> Int64:
    """Returns the places of the all-reduces of integers among the collectives. Without a GPU the type may be recorded
    only among the inputs."""
    texts = trace.collective_texts.strings
    of_integers = np.array([text.lower() == "int" for text in texts] + [False], bool)[collectives.dtype]
    inputs = trace.events.dtypes
    if not has_device_activity(trace) and inputs is not None:
        by_text = np.array([text == '["int"]' for text in trace.inputs.strings] + [False], bool)
        of_integers |= by_text[inputs[collectives.event]]
    return np.flatnonzero((collectives.kind == KINDS.index("all_reduce")) & of_integers)


def _parameters(trace: Trace, maps: Int64, searches: int) -> int | None:
    """Returns the number of parameters of the one model that is searched; None if there are several models, or other
    all-reduces of integers. maps: the all-reduces of integers. searches: the number of searches."""
    size = find_collectives(trace).bytes[maps]
    alike = len(size) == searches > 0 and (size == size[0]).all() and size[0] >= _INT_BYTES
    return int(size[0]) // _INT_BYTES if alike else None
