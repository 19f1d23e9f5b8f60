"""The part of host threads' time that is waiting, whose length is determined by something else."""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity, has_device_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.launches.queue import blocked_intervals
from tb_steptime.metrics.phases.marks import autograd_threads, backward_passes, training_threads
from tb_steptime.metrics.steady.stretches import HostEvents, Stretches
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.table import CALL_KINDS, Bool, Int32, Int64, Kind, is_in

#: Marks of backends whose exchanges run on the host, and ops that wait for exchanges.
_ON_HOST = expression(r"(?:gloo|mpi):")
_EXCHANGES = expression(r"(?:gloo|mpi|nccl|rccl|ucc):|_?c10d|record_param_comms")
#: Ops that read a value from the device; for a CPU tensor this takes less than a microsecond.
_READS = expression(r"aten::(_local_scalar_dense|item|nonzero)$")
_ALL = slice(None)


def waits_ns(trace: Trace, host: HostEvents, stretches: Stretches) -> Int64:
    """Returns how long the thread waits in each stretch, ns: for the device, for room in the queue, for a batch, for
    other ranks, or for the thread of the autograd engine.

    A call with the name of a wait does nothing else. A call that frees memory waits while a device works, and otherwise
    sets something up. If the device is not recorded, ops that read from it may wait.
    """
    start, end, inside = stretches.start_ns, stretches.end_ns, stretches.inside
    calls = blocking_calls(trace)
    waits = _in(host, inside, is_in(host.row, calls.row[is_in(calls.kind, WAITING)]))
    frees = _in(host, inside, is_in(host.row, calls.row[calls.kind == Blocks.ALLOCATOR]))
    if not has_device_activity(trace):
        waits |= _in(host, inside, _named(trace, host, _READS))
    waiting: Int64 = np.where(waits, end - start, 0)

    def add(when: Intervals, may: Bool | slice = _ALL) -> None:
        rows = np.flatnonzero(may) if isinstance(may, np.ndarray) else may
        if len(when):
            waiting[rows] = np.maximum(waiting[rows], when.overlap_ns(start[rows], end[rows]))

    for device in devices_with_activity(trace):
        add(busy_intervals(trace, device), frees)
    if devices_with_activity(trace) and len(full := blocked_intervals(trace)):
        add(full, _in(host, inside, is_in(trace.events.kind.take(host.row), CALL_KINDS)))
    add(loader_intervals(trace))
    exchanging = rows_named(trace, (Kind.CPU_OP, Kind.USER), _ON_HOST.match)
    if len(exchanging):
        on_host = Intervals.of_events(trace.events, exchanging)
        may = (inside < 0) | _in(host, inside, _named(trace, host, _EXCHANGES) | _is_range(trace, host))
        add(on_host, may)
    if autograd_threads(trace):
        add(backward_passes(trace), is_in(stretches.thread, training_threads(trace)))
    return waiting


def _in(host: HostEvents, inside: Int32, found: Bool) -> Bool:
    return (inside >= 0) & found.take(inside) if len(host) else np.zeros(len(inside), bool)


def _is_range(trace: Trace, host: HostEvents) -> Bool:
    is_range: Bool = trace.events.kind.take(host.row) == Kind.USER
    return is_range


def _named(trace: Trace, host: HostEvents, names: re.Pattern[str]) -> Bool:
    return are_named(trace, host.row, names.match)
