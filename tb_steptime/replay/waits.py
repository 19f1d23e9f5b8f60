"""The edges by which the host waits for devices: from their work to calls that return because it has ended."""

from __future__ import annotations

import numpy as np

from tb_steptime.replay.host import Host, Role
from tb_steptime.replay.starts import EARLY_NS, Activities, behind_others
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of, joined
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.table import Bool, Int64, is_in

#: A synchronize returns within this time after the work for which it waits; one that waits for nothing takes no longer.
RETURN_NS = 30_000
#: A call returns up to this time before its copy of pageable memory ends, as soon as the last part is staged: 12 to
#: 90 us in the 31 such calls of more than 1 ms in real recordings.
STAGED_NS = 100_000


def return_edges(host: Host, work: Activities) -> tuple[Bool, Edges, Int64]:
    """Returns the items that return because work of a device has ended, the edges from that work to them, and how long
    each goes on after that work, ns."""
    ends = np.argsort(work.end_ns, kind="stable")
    allocates = host.role == Role.ALLOCATE
    calls = np.flatnonzero((host.role == Role.WAIT) | (allocates & (host.end_ns - host.start_ns > RETURN_NS)))
    back = host.end_ns[calls]
    last = np.searchsorted(work.end_ns[ends], back, side="right") - 1
    work_row = ends[np.maximum(last, 0)] if len(ends) else last
    ended = np.where(last >= 0, work.end_ns[work_row], 0) if len(ends) else np.zeros(len(calls), np.int64)
    # calls that free memory wait until the device has no more work, or not at all
    drained = np.searchsorted(np.sort(work.start_ns), back, side="right") == last + 1
    holds = (last >= 0) & (ended > host.start_ns[calls]) & (back - ended < RETURN_NS) & (drained | ~allocates[calls])
    lag = round(float((back - ended)[holds].mean())) if holds.any() else 0
    copies, base = _staged_copies(host, work), 2 * len(host)
    staged = work.item[copies]
    holds &= ~is_in(calls, staged)
    waits = np.zeros(len(host), bool)
    waits[calls[holds]] = waits[staged] = True
    staging = edges_of(EdgeKind.RETURN, copies + base, staged + len(host), host.end_ns[staged] - work.end_ns[copies])
    copies = _finished_copies(host, work)
    copies = copies[~waits[work.item[copies]]]
    finished, after_ns = work.item[copies], np.zeros(len(host), np.int64)
    waits[finished], after_ns[finished] = True, host.end_ns[finished] - work.end_ns[copies]
    finishing = edges_of(EdgeKind.RETURN, copies + base, finished + len(host))
    returning = edges_of(EdgeKind.RETURN, work_row[holds] + base, calls[holds] + len(host), lag)
    return waits, joined([returning, staging, finishing]), after_ns


#: Minimum length of a wait that no call shows, minimum share of it in which a device works, and minimum number of such
#: waits: one or two may end then by chance.
_LONG_NS, _WORKING, _FEWEST = 100_000, 0.9, 3
#: After a wait the host may make no call for this share of its length, if that is more than `RETURN_NS`. A host that
#: works for tens of milliseconds does not end that soon after a device again and again.
_AFTER = 0.005


def hidden_waits(host: Host, work: Activities) -> tuple[Int64, Edges]:
    """Returns stretches of the host without a call that end when all devices become idle, and the edges to them from
    the last work of the devices. The host waits in these stretches although no call shows it. Kineto records the
    launches but no waits of CUDA's driver (CuptiActivityProfiler.cpp: handleDriverActivity), which Numba, Warp and
    PhysX use, and until 2023 it recorded no waits for events. Both are empty if most long stretches beside work of a
    device end at another time, as those of a slow host do.

    host     |l|............|l|............|l|     waits     |l|........|l|........|l|     works
    device      kkkkkkkkkkkk   kkkkkkkkkkkk                     kkkkkkkkkkkk kkkkkkkkkkkk
    """
    works = Intervals.union(work.start_ns, work.end_ns)
    ends = np.argsort(work.end_ns, kind="stable")
    long = np.flatnonzero(host.start_ns - host.begin_ns >= _LONG_NS)
    length = (host.start_ns - host.begin_ns)[long]
    beside = works.overlap_ns(host.begin_ns[long], host.start_ns[long]) >= _WORKING * length
    long, length = long[beside], length[beside]
    since = host.start_ns[long] - works.end[np.searchsorted(works.start, host.start_ns[long]) - 1]
    waits = (since >= 0) & (since < np.maximum(RETURN_NS, _AFTER * length))
    if np.count_nonzero(waits) < _FEWEST or 2 * length[waits].sum() <= length.sum():
        waits[:] = False
    last = ends[np.searchsorted(work.end_ns[ends], host.start_ns[long[waits]], side="right") - 1]
    return long[waits], edges_of(EdgeKind.RETURN, last + 2 * len(host), long[waits], since[waits])


def _finished_copies(host: Host, work: Activities) -> Int64:
    """Returns the last copy of each waiting call that goes on long after the copy has ended. Such a call returns only
    once the copy is done (CUDA's "API synchronization behavior"), and then empties the staging memory, which takes 30
    to 40 % of the copy's time in real recordings.

    call     [waits for the stream and its copy   , empties the staging memory]
    stream      kkkkkkkkkkkkkkkkkkkkcccccccccccccccc
    """
    if not len(host):
        return np.empty(0, np.int64)
    item = work.item
    within = (item >= 0) & (host.role[item] == Role.WAIT) & (host.end_ns[item] - work.end_ns >= RETURN_NS)
    copies = np.flatnonzero(within & (work.start_ns >= host.start_ns[item]))
    copies = copies[np.lexsort((work.end_ns[copies], item[copies]))]
    return copies[np.append(np.diff(item[copies]) != 0, True)[: len(copies)]]


def _staged_copies(host: Host, work: Activities) -> Int64:
    """Returns the copies whose calls wait until their stream has no other work, and return before the copy ends.

    call     [waits for the stream, stages the memory ]
    stream      kkkkkkkkkkkkkkkkkkkkcccccccccccccccccccccc

    A call that finds an idle stream does not wait: it stages the memory for as long as it lasts.
    """
    if not len(host):
        return np.empty(0, np.int64)
    returned = host.end_ns[work.item]
    waits = behind_others(host, work) & (host.role[work.item] == Role.WAIT)
    early = returned - work.start_ns > EARLY_NS
    return np.flatnonzero(waits & early & (work.end_ns > returned) & (work.end_ns - returned < STAGED_NS))


def done_edges(host: Host, work: Activities, waits: Bool) -> Edges:
    """Returns the edges from the last work that a thread launched to its calls that wait for a device but found that
    work done. They would wait if the work ended later, or if the call came earlier."""
    has_call = np.flatnonzero(work.item >= 0)
    in_turn = has_call[np.lexsort((work.end_ns[has_call], work.item[has_call]))]
    calls = np.flatnonzero((host.role == Role.WAIT) & ~waits)
    place = np.searchsorted(work.item[in_turn], calls, side="right") - 1
    calls, work_row = calls[place >= 0], in_turn[place[place >= 0]]
    done = (host.lane[work.item[work_row]] == host.lane[calls]) & (work.end_ns[work_row] <= host.start_ns[calls])
    calls, work_row = calls[done], work_row[done]
    return edges_of(EdgeKind.DONE, work_row + 2 * len(host), calls + len(host))


def room_edges(host: Host, work: Activities) -> Edges:
    """Returns the edges from the work that ended last to a launch that then found room in the full queue."""
    calls = np.flatnonzero(host.queue_ns)
    room_ns = host.start_ns[calls] + host.queue_ns[calls]
    ends = np.argsort(work.end_ns, kind="stable")
    last = np.searchsorted(work.end_ns[ends], room_ns, side="right") - 1
    calls = calls[last >= 0]
    room_ns = room_ns[last >= 0]
    work_row = ends[last[last >= 0]]
    lag = room_ns - work.end_ns[work_row]
    near = lag < RETURN_NS
    return edges_of(EdgeKind.QUEUE, work_row[near] + 2 * len(host), calls[near] + len(host), lag[near])
