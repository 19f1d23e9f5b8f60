"""Which calls are the same code: each has a number of its site, from the exact site to those that are only alike.

exact    the same name, shapes and enclosing events, between the same neighbours; a kernel: launch shape and op
path     the same without shapes: inputs of other sizes
alike    the same name between the same neighbours, wherever it is
name     the same name
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.steady.stretches import HostEvents, Stretches
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import numbered
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import DEVICE_KINDS, Int32, Int64, Kind, distinct_in

#: Users number their ranges: "step 5", "ProfilerStep#5".
_NUMBER = expression(r"\d+")


def stretch_sites(trace: Trace, host: HostEvents, stretches: Stretches) -> list[Int64]:
    """For each stretch the numbers of its sites: exact, path, alike, name."""
    name = _names(trace, host)
    shapes = np.zeros(len(host), np.int64)
    if trace.events.shapes is not None:
        shapes = trace.events.shapes[host.row].astype(np.int64) + 1
    path = _paths(host, name)
    exact = _paths(host, mixed(name, shapes))
    before, after = _at(name, stretches.before), _at(name, stretches.after)
    return [numbered(mixed(_at(column, stretches.inside), before, after)) for column in (exact, path, name)] + [
        numbered(_at(name, stretches.inside))
    ]


def event_paths(trace: Trace, host: HostEvents) -> Int64:
    """For each host event a number of its name and of those of the events around it."""
    return _paths(host, _names(trace, host))


def activity_sites(trace: Trace, host: HostEvents) -> list[Int64]:
    """For each activity of a device, in the order of `find_launches`, the numbers of its sites: exact, alike, name."""
    events, launches = trace.events, find_launches(trace)
    path = np.full(len(events), -1, np.int64)
    path[host.row] = event_paths(trace, host)
    op = np.where(launches.call >= 0, path[launches.call], -1)
    name = events.name[launches.activity].astype(np.int64)
    size = np.zeros(len(events), np.int64)
    if events.bytes is not None:
        size[events.rows(*DEVICE_KINDS)] = events.bytes[events.rows(*DEVICE_KINDS)]
    if trace.kernels.grid is not None:
        size[trace.kernels.event] = mixed(*trace.kernels.grid.astype(np.int64).T)
    shape = mixed(name, size[launches.activity], events.stream[launches.activity].astype(np.int64))
    return [numbered(mixed(shape, op)), numbered(shape), numbered(name)]


def _names(trace: Trace, host: HostEvents) -> Int64:
    """The name of each event, as a row of the string table; ranges of users that differ in numbers have one."""
    alike = np.arange(len(trace.strings), dtype=np.int64)
    first: dict[str, int] = {}
    for name in distinct_in(trace.events.name[trace.events.rows(Kind.USER)]).tolist():
        alike[name] = first.setdefault(_NUMBER.sub("#", trace.strings[name]), name)
    return alike[trace.events.name[host.row]]


def _paths(host: HostEvents, own: Int64) -> Int64:
    """A number of what each event is and of what encloses it, from the outermost inwards."""
    path = mixed(own)
    for depth in range(1, int(host.depth.max(initial=0)) + 1):
        here = np.flatnonzero(host.depth == depth)
        path[here] = mixed(path[host.parent[here]], own[here])
    return path


def _at(column: Int64, place: Int32) -> Int64:
    """The value of each place; -1 of no place."""
    return np.where(place >= 0, column[place], -1) if len(column) else np.full(len(place), -1, np.int64)


def mixed(*columns: Int64) -> Int64:
    """A number that rows share if they agree in all columns. Two of a million that do not agree share one with a
    probability of 1 in 10 million."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed ^= column.astype(np.int64).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)
