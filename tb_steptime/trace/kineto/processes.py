"""Files that hold the recordings of several processes, one after the other: which rows are of the first process.

SGLang's ProfileMerger and TraceLens' TraceFuse write such files, for Perfetto. Each process numbers its launches from
the same beginning, so that a number alone does not say whose launch a kernel is; and no figure of a step means anything
over two hosts. A device does not say either which process drives it. The order of the file does:

    track     [TP00] 506  [TP00] 0   [TP01] 507  [TP01] 1        in order of first appearance
              launches    a device   launches    a device   ->   [TP00] 0 is of [TP00] 506, [TP01] 1 of [TP01] 507

Where one process ran after the other on the same device, the first one's rows are those until the next one begins.

Where no device is recorded, ops of several processes show such a file: no profiler records those of another process.
Where devices alone are recorded, one stream of one device that has kernels of several processes shows such a file: a
profiler writes a device as one process, and a tool that merges files gives each a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.trace.groups import Groups
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Bool, Int64, Kind, distinct_in, is_in

#: A process with fewer launches or ops, or with less than this share of those of another one, does not count: the
#: process of a call may be a damaged value.
LEAST_LAUNCHES, LEAST_FRACTION = 2, 0.01


class Processes(msgspec.Struct, frozen=True, eq=False):
    """The processes of a file that launch work, or run ops where no device is recorded, at least two.

    names    as the file names them, in its order
    first    for each thread of the file, whether it is of the first one, or of a device that this drives; None if the
             file does not show which device is of which process, and their launches have the same numbers
    until    when the next one begins, on the clock of the events, where they ran one after the other; else None
    """

    names: list[str]
    first: Bool | None
    until: int | None = None


def several_processes(
    columns: Mapping[str, npt.NDArray[np.integer[Any]]], threads: Iterable[tuple[str, str]]
) -> Processes | None:
    """Returns the processes, or None if at most one launches work, or if the launches of each can be identified without
    the order of the file.

    columns: start, dur, kind, thread, correlation, device and stream of the events. threads: pid and tid of each
    thread, in the order of the file.
    """
    kind, thread, correlation = (columns[name] for name in ("kind", "thread", "correlation"))
    calls = np.flatnonzero(is_in(kind, CALL_KINDS) & (correlation >= 0))
    numbers: dict[str, int] = {}
    process = np.array([numbers.setdefault(pid, len(numbers)) for pid, _ in threads], np.int64)
    if not is_in(kind, (*CALL_KINDS, *DEVICE_KINDS)).any():
        hosts = _frequent(np.bincount(process[thread[kind == Kind.CPU_OP]]))
        return Processes([[*numbers][each] for each in hosts], _owner(hosts, process) == 0) if len(hosts) > 1 else None
    if not is_in(kind, (*CALL_KINDS, Kind.CPU_OP)).any():
        kernels = np.flatnonzero(kind == Kind.KERNEL)
        device, stream = (columns[name][kernels].astype(np.int64) for name in ("device", "stream"))
        return _processes_of_streams(device, stream, process[thread[kernels]], process, [*numbers])
    if len(distinct_in(process[distinct_in(thread[calls])])) < 2:
        return None
    work = np.flatnonzero(is_in(kind, DEVICE_KINDS))
    calls = calls[is_in(correlation[calls], correlation[work])]
    number, launcher = _distinct_pairs(correlation[calls], process[thread[calls]])
    hosts = _frequent(np.bincount(launcher))
    if len(hosts) < 2:
        return None
    owner = _owner(hosts, process)
    names = [name for name, place in numbers.items() if place in hosts.tolist()]
    if len(distinct_in(owner[thread[work]])) == len(hosts):
        return Processes(names, owner == 0)
    ran = _one_after_the_other(columns, process, hosts)
    if ran is not None:
        order, until = ran
        return Processes([[*numbers][each] for each in order], ~is_in(process, order[1:]), until)
    number = number[is_in(launcher, hosts)]
    return Processes(names, None) if (number[1:] == number[:-1]).any() else None


def _one_after_the_other(
    columns: Mapping[str, npt.NDArray[np.integer[Any]]], process: Int64, hosts: Int64
) -> tuple[list[int], int] | None:
    """Returns these processes in the order in which they ran, and when the second one began, or None where they ran at
    the same time. process: of each thread."""
    rows = np.flatnonzero(is_in(columns["kind"], (*CALL_KINDS, Kind.CPU_OP)))
    of = process[columns["thread"][rows]]
    start = columns["start"][rows].astype(np.int64)
    end = start + columns["dur"][rows]
    ranges = sorted((int(start[of == each].min()), int(end[of == each].max()), each) for each in hosts.tolist())
    if any(later[0] < earlier[1] for earlier, later in pairwise(ranges)):
        return None
    return [each for _, _, each in ranges], ranges[1][0]


def _frequent(number: Int64) -> Int64:
    """Returns the places with enough launches, kernels or ops."""
    return np.flatnonzero(number >= max(LEAST_LAUNCHES, LEAST_FRACTION * number.max(initial=0)))


def _owner(hosts: Int64, process: Int64) -> Int64:
    """Returns the place in `hosts` of the one whose recording each process is in, by the order of the file."""
    return np.maximum(np.searchsorted(hosts, process, side="right") - 1, 0)


def _processes_of_streams(
    device: Int64, stream: Int64, process: Int64, of_threads: Int64, names: list[str]
) -> Processes | None:
    """Returns the processes, where kernels of several have one stream of one device. device, stream, process: of each
    kernel."""
    pairs = Groups.of(device, stream, process)
    counted = pairs.first[_frequent(pairs.count())]
    if len(counted) < 2:
        return None
    track, owner = Groups.of(device[counted], stream[counted]), process[counted]
    first, _ = track.extremes(owner)
    shared = int(np.argmax(track.count()))
    if track.count()[shared] < 2:
        return None
    later = owner[owner > first[track.place]]
    return Processes([names[each] for each in sorted(owner[track.place == shared])], ~is_in(of_threads, later))


def _distinct_pairs(number: npt.NDArray[np.integer[Any]], process: Int64) -> tuple[npt.NDArray[Any], Int64]:
    """Returns the launch numbers of each process, each pair once, by number."""
    order = np.lexsort((process, number))
    number, process = number[order], process[order]
    new = np.ones(len(order), bool)
    new[1:] = (number[1:] != number[:-1]) | (process[1:] != process[:-1])
    return number[new], process[new]
