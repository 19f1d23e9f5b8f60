"""Small numbers of launches between two calls that wait for the device: a graph can hold no more than these.

thread   [sync]lll[sync]ll[sync]llllllllllllllllllllllll[sync]
                few      few       a graph could launch these at once
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.idle.gaps import find_gaps
from tb_steptime.metrics.idle.long_gaps import late_gaps
from tb_steptime.metrics.phases.assignment import SITES, activity_sites
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, distinct, is_in

#: A graph of fewer launches saves less than a tenth of a millisecond, as each launch takes 5 to 10 us.
FEW_LAUNCHES = 10


def split_late_ns(trace: Trace, device: int) -> list[int]:
    """Returns for each place in `SITES` how long the device idles because such launches come late, ns per step;
    without long gaps and bubbles of the calls themselves."""
    launch, (late_ns, long) = find_gaps(trace, device).launch, late_gaps(trace, device)
    counts = (launch >= 0) & ~long
    counts[counts] = _is_split(trace)[launch[counts]]
    site = activity_sites(trace)[launch[counts]].astype(np.int64)
    return [ns // len(find_steps(trace).steps) for ns in exact_sums(site, late_ns[counts], len(SITES)).tolist()]


def _is_split(trace: Trace) -> Bool:
    """Returns for each row of `find_launches`, whether few activities are launched between its thread's waiting calls
    before and after it. A graph's launch counts as many."""
    events, call, calls = trace.events, find_launches(trace).call, blocking_calls(trace)
    waits = calls.row[is_in(calls.kind, WAITING)]
    found = np.zeros(len(call), bool)
    for thread in distinct(events.thread[waits]).tolist():
        mine = np.flatnonzero((call >= 0) & (events.thread[call] == thread))
        begun = events.start_ns[waits[events.thread[waits] == thread]]
        between = np.searchsorted(begun, events.start_ns[call[mine]])
        inner = (between > 0) & (between < len(begun))
        found[mine] = inner & (np.bincount(between, minlength=1)[between] < FEW_LAUNCHES)
    return found
