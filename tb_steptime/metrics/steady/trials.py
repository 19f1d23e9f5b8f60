"""What the first calls of an op launch on devices and later calls of the same op do not, because a library tries
algorithms.

op       [cudnn_convolution                    ]   [cudnn_convolution]   [cudnn_convolution]
stream     aaaa  bbbb  cccccccccc  dddd  k           k                     k
trials     tttt  tttt  tttttttttt  tttt

Launches of code that only a far longer first step runs are trials, too. Triton's autotuner does this.

Similar: An op whose number of launches depends on its data also has calls with many launches in later steps. An op that
does other work in the first step, such as for a prompt before tokens are generated, launches none of the later kernels.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.steady.host import only_first_calls
from tb_steptime.metrics.steady.host_segments import host_events, host_places
from tb_steptime.metrics.steady.sites import activity_sites, host_code
from tb_steptime.trace.groups import numbered
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, is_in, values_at

#: A first call launches this many times as many activities as any later one. There are at least FEWEST later ones.
TIMES_MORE, FEWEST = 3, 2


class Trials(msgspec.Struct, frozen=True, eq=False):
    """Trials in time order.

    event  row of the event table of each trial
    op     row of the op's call that launches it; its own row if no op tries it
    """

    event: Int64
    op: Int64


@shared
def trials(trace: Trace) -> Trials:
    """Returns all trials. Calls are compared with those of later steps. In a recording of one step, the first call of
    an op is compared with its later ones."""
    launches, host = find_launches(trace), host_events(trace)
    op = values_at(host.parent, host_places(trace, launches.call))
    in_ops = _are_trials_of_ops(trace, op)
    in_code = is_in(launches.call, only_first_calls(trace)) & ~in_ops
    rows = np.flatnonzero(in_ops | in_code)
    event = launches.activity[rows].astype(np.int64)
    return Trials(event, np.where(in_ops[rows], host.row[op[rows]] if len(host) else event, event))


def _are_trials_of_ops(trace: Trace, op: Int64) -> Bool:
    """Returns which activities are trials of ops. `op` is the place in `host_events` of the event around each one's
    call, or -1."""
    events = trace.events
    host = host_events(trace)
    is_trial = np.zeros(len(op), bool)
    rows = np.flatnonzero(op >= 0)
    rows = rows[events.kind[host.row[op[rows]]] == Kind.CPU_OP]
    if not len(rows):
        return is_trial
    calls, call, launched = np.unique(op[rows], return_inverse=True, return_counts=True)
    site = numbered(host_code(trace).exact[calls])
    first = _first_calls(trace, events.start_ns[host.row[calls]], site)
    later = np.bincount(site[~first], minlength=int(site.max()) + 1)
    most = np.zeros(len(later), np.int64)
    np.maximum.at(most, site[~first], launched[~first])
    more = first & (later[site] >= FEWEST) & (launched >= TIMES_MORE * most[site])
    code = numbered(activity_sites(trace).sites[0](rows))
    stays = is_in(code, code[~first[call]])
    more &= np.bincount(call, stays, minlength=len(calls)) > 0  # the algorithm that is chosen is among them
    is_trial[rows[more[call] & ~stays]] = True
    return is_trial


def trial_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when a device runs trials, or waits for the next trial of the same call, and does nothing else."""
    events = trace.events
    tried = trials(trace)
    activity = find_launches(trace).activity
    on_device = np.flatnonzero(events.device[tried.event] == device)
    if not len(on_device):
        return Intervals.empty()
    call = numbered(tried.op[on_device])
    first = np.full(int(call.max()) + 1, np.iinfo(np.int64).max)
    last = np.zeros(len(first), np.int64)
    np.minimum.at(first, call, events.start_ns[tried.event[on_device]])
    np.maximum.at(last, call, events.ends(tried.event[on_device]))
    others = activity[(events.device[activity] == device) & is_in(activity, tried.event, invert=True)]
    return Intervals.union(first, last) - Intervals.of_events(events, others)


def op_of_trial(trace: Trace, event: Int64, other: Int64) -> Int64:
    """Returns for each event the op that launches it as a trial, or the other value."""
    tried = trials(trace)
    if not len(tried.event):
        return other
    place = np.minimum(np.searchsorted(tried.event, event), len(tried.event) - 1)
    return np.where(tried.event[place] == event, tried.op[place], other)


def _first_calls(trace: Trace, start: Int64, site: Int64) -> Bool:
    """Returns which calls are in the first step or, in a recording of one step, the first of their site."""
    steps = find_steps(trace)
    if len(steps.steps) > 1:
        return np.asarray(steps.begun_on_host(start) == 0, bool)
    first = np.zeros(len(start), bool)
    order = np.argsort(start, kind="stable")
    first[order[np.unique(site[order], return_index=True)[1]]] = True
    return first
