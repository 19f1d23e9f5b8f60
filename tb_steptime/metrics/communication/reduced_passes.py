"""When the backward passes compute whose gradients are reduced: only they can hide that exchange."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import find_collectives
from tb_steptime.metrics.gpu.utilization import computing_kernels
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named
from tb_steptime.trace.table import Bool, Int64, Kind, is_in


def backward_computing(trace: Trace, reduces: Bool) -> Intervals | None:
    """Returns when the backward passes compute whose gradients these of `find_collectives` reduce; None if the trace
    shows no such pass. Nothing else can hide the exchange of gradients.

    computes    ffff bbbb ffff bbbb oo
    reduces                      rrrrr       gradients of the last backward pass that began before
    result                     bbbb
    """
    found = _reduced_passes(trace, reduces)
    return None if found is None else Intervals.of_events(trace.events, found.kernels)


def before_gradients(trace: Trace, reduces: Bool) -> Intervals:
    """Returns when these passes compute before their first gradient is ready. Work that the host launches before that
    also runs before any bucket can be sent. A backward pass that is compiled as a whole returns all gradients at its
    end.

    host        [bbbbbbbbbbbbbbb][AccumulateGrad][AccumulateGrad]
    computes     bbbbbbbbbbbbbbb
    """
    found = _reduced_passes(trace, reduces)
    if found is None:
        return Intervals.empty()
    launched, next_pass = _launched_ns(trace, found.kernels), _launched_ns(trace, found.next)
    ready = np.sort(trace.events.start_ns[rows_named(trace, (Kind.CPU_OP,), _ACCUMULATES.fullmatch)])
    by_pass = Groups.of(found.number)
    begin = by_pass.extremes(launched)[0]
    first = np.append(ready, NEVER)[np.searchsorted(ready, begin)][by_pass.place]
    return Intervals.of_events(trace.events, found.kernels[(first < next_pass) & (launched < first)])


def _launched_ns(trace: Trace, kernels: Int64) -> Int64:
    """Returns when the host launches each kernel, ns; a time in the far future without a launch, or for -1."""
    call = np.where(kernels >= 0, find_launches(trace).calls_of(np.maximum(kernels, 0)), -1)
    return np.where(call >= 0, trace.events.start_ns[np.maximum(call, 0)], NEVER - 1)


_ACCUMULATES = expression(r"torch::autograd::AccumulateGrad")


class _Passes(msgspec.Struct, frozen=True, eq=False):
    """The computing kernels of backward passes, the number of each one's pass, and the first kernel of the pass after
    that, -1 for none."""

    kernels: Int64
    number: Int64
    next: Int64


def _reduced_passes(trace: Trace, reduces: Bool) -> _Passes | None:
    kernels, launches = computing_kernels(trace), find_launches(trace).activity
    phase = SITE_PHASE[activity_sites(trace)[np.searchsorted(launches, kernels)]]
    in_pass = is_in(phase, (_FORWARD, _BACKWARD))
    kernels, is_backward = kernels[in_pass], phase[in_pass] == _BACKWARD
    if not is_backward.any():
        return None
    passes = np.cumsum(np.append(False, is_backward[1:] != is_backward[:-1]))
    first = np.flatnonzero(np.append(True, np.diff(passes) > 0))
    started = find_collectives(trace).start[reduces]
    place = np.searchsorted(trace.events.start_ns[kernels[first]], started, side="right") - 1
    reduced = is_backward & is_in(passes, place)
    after = np.append(kernels[first[1:]], -1)[passes[reduced]]
    return _Passes(kernels[reduced], passes[reduced], after) if reduced.any() else None


_FORWARD, _BACKWARD = PHASES.index("forward"), PHASES.index("backward")
