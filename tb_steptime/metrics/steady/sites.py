"""Numbers calls of the same code by their site, from exact sites to merely similar ones.

exact    the same name, shapes and enclosing events, and the same neighbours; for a kernel: launch shape and op
path     the same without shapes: inputs of other sizes
alike    the same name between the same neighbours, anywhere
name     the same name

In a file that several recordings were joined into, each has sites of its own. The first calls of the second one are
compared with those that follow them there.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.steady.excess import Likeness, SiteColumns
from tb_steptime.metrics.steady.host_segments import HostEvents, HostSegments, host_events, host_places
from tb_steptime.text.patterns import expression
from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.groups import numbered
from tb_steptime.trace.model import Trace, find_launches, recording_at, shared
from tb_steptime.trace.table import ALL_ROWS, CALL_KINDS, Bool, Int32, Int64, Kind, distinct_in, is_in, values_at

#: Number of segments whose sites are computed at a time, so that their intermediate columns stay in the cache.
_AT_ONCE = 2**15
#: Numbers in users' range names, such as "step 5" and "ProfilerStep#5".
_NUMBER = expression(r"\d+")

#: Ops that only describe or allocate. Their duration does not depend on the data.
_DESCRIBES = expression(
    r"aten::(empty|empty_like|empty_strided|new_empty(_strided)?|view|view_as|_unsafe_view|_reshape_alias|reshape|expand"
    r"|expand_as|t|transpose|permute|as_strided|detach_?|alias|slice|select|split(_with_sizes)?|chunk|unbind|narrow"
    r"|squeeze|unsqueeze|flatten|result_type|set_|resize_|record_stream)|detach_?"
)


class Sites(NamedTuple):
    """Site numbers of some calls, the most exact first, and what similar calls allow to conclude."""

    sites: SiteColumns
    like: Likeness


def mixed(*columns: Int64) -> Int64:
    """Returns a number that rows share if they agree in all columns. Two of a million rows that do not agree share one
    with a probability of 1 in 10 million."""
    wide = [column.astype(np.int64, copy=False) for column in columns]
    if result := one_pass("mix", (np.int64,), *wide):
        return result[0]
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in wide:
        mixed ^= np.ascontiguousarray(column).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)


class HostCode(msgspec.Struct, frozen=True, eq=False):
    """The code of each of the `host_events`, as numbers that events of the same code share.

    name    int32, row of the string table; the same for users' ranges that differ only in numbers
    path    int32, its name and those of the events around it
    exact   int32, the same with the shapes of their inputs
    fixed   bool, whether its time does not depend on the data
    shaped  bool, whether the shapes of its inputs are recorded
    """

    name: Int32
    path: Int32
    exact: Int32
    fixed: Bool
    shaped: Bool


@shared
def host_code(trace: Trace) -> HostCode:
    """Returns the code of all host events."""
    host = host_events(trace)
    name, shapes = _names(trace, host), np.zeros(len(host), np.int64)
    if trace.events.shapes is not None:
        shapes = trace.events.shapes.take(host.row).astype(np.int64) + 1
    path = numbered(_paths(host, name)).astype(np.int32)
    exact = numbered(_paths(host, mixed(name, shapes))).astype(np.int32)
    return HostCode(name.astype(np.int32), path, exact, _is_fixed(trace, host), shapes > 0)


def segment_sites(trace: Trace, segments: HostSegments) -> Sites:
    """Returns the sites of each segment: exact, path, alike and, for segments that are whole events, name. Other
    segments of one name are parts of an event and have nothing in common."""
    code, inside = host_code(trace), segments.inside

    def around(own: Int32, rows: Int64 | slice) -> Int64:
        some = segments.where(rows)
        return _apart(trace, some.start_ns, _around(some, own, code.name))

    def whole(rows: Int64 | slice) -> Int64:
        some = segments.where(rows)
        return _apart(trace, some.start_ns, _whole(some, code.name))

    exact = numbered(around(code.exact, ALL_ROWS))
    columns = (exact.__getitem__, partial(around, code.path), partial(around, code.name), whole)
    return Sites(columns, Likeness(_is_at(code.fixed, inside), _is_at(code.shaped, inside)))


def _apart(trace: Trace, start_ns: Int64, site: Int64) -> Int64:
    """Returns the sites of calls that begin at these instants, so that each recording has its own."""
    return site if len(trace.windows) < 2 else mixed(site, recording_at(trace, start_ns))


def _around(segments: HostSegments, own: Int32, name: Int32) -> Int64:
    """Returns a number for each segment that shows its code and the names of the events before and after it. The
    columns `own` and `name` belong to the `host_events`."""
    if columns := one_pass("around", (np.int64,), segments.inside, segments.before, segments.after, own, name):
        return columns[0]
    site = np.empty(len(segments), np.int64)
    for first in range(0, len(site), _AT_ONCE):
        chunk = slice(first, first + _AT_ONCE)
        places = ((own, segments.inside), (name, segments.before), (name, segments.after))
        site[chunk] = mixed(*(values_at(column, place[chunk]) for column, place in places))
    return site


def _whole(segments: HostSegments, name: Int32) -> Int64:
    """Returns the name of each segment that is a whole event. Any other segment gets a number that no other segment
    has."""
    whole = (segments.inside >= 0) & (segments.before < 0) & (segments.after < 0)
    site = np.arange(-2, -2 - len(segments), -1)
    site[whole] = name[segments.inside[whole]]
    return site


def op_sites(trace: Trace, ops: Int64) -> Sites:
    """Returns the sites of some places in `host_events`: exact, path and name."""
    code = host_code(trace)
    start_ns = trace.events.start_ns[host_events(trace).row[ops]]
    sites = [_apart(trace, start_ns, column[ops].astype(np.int64)) for column in (code.exact, code.path, code.name)]
    return Sites(_functions(_exact_first(sites)), Likeness(code.fixed[ops], code.shaped[ops]))


def _is_fixed(trace: Trace, host: HostEvents) -> Bool:
    """Returns which host events have a duration that does not depend on the data: calls of the runtime and the driver,
    ops that make such calls, and ops that only describe or allocate. Other ops may compute on the host, as may ops on
    CPU tensors of kinds that otherwise launch. Users' ranges may contain any code."""
    kind = trace.events.kind.take(host.row)
    calls = is_in(kind, CALL_KINDS)
    above = calls.copy()
    for depth in range(int(host.depth.max(initial=0)), 0, -1):
        above[host.parent[(host.depth == depth) & above]] = True
    names = np.zeros(len(trace.strings), bool)
    for each in distinct_in(trace.events.name[host.row[kind == Kind.CPU_OP]]).tolist():
        names[each] |= _DESCRIBES.fullmatch(trace.strings[each]) is not None
    return np.asarray(calls | ((kind == Kind.CPU_OP) & (above | names[trace.events.name[host.row]])), bool)


def activity_sites(trace: Trace) -> Sites:
    """Returns the sites of each device activity, in the order of `find_launches`: exact, path and alike."""
    columns, like = _activity_columns(trace)
    return Sites(_functions(columns), like)


@shared
def _activity_columns(trace: Trace) -> tuple[list[Int64], Likeness]:
    """Returns the columns of the sites of device activities, and what similar activities allow to conclude. Those with
    only the name in common may have any size. Even those of one launch shape may loop over different lengths: only the
    shapes of the op, or the bytes that are copied or exchanged, show that their work is the same."""
    events, launches = trace.events, find_launches(trace)
    host = host_events(trace)
    code = host_code(trace)
    activity = launches.activity
    call = host_places(trace, launches.call)
    sites_of_calls = [values_at(column, call) for column in (code.exact, code.path)]
    name = events.name[activity].astype(np.int64)
    size = np.zeros(len(activity), np.int64) if events.bytes is None else events.bytes.take(activity)
    copied = size > 0
    if trace.kernels.grid is not None:
        kernel, place = _places_among(activity, trace.kernels.event)
        size[place] = mixed(*trace.kernels.grid[kernel].astype(np.int64).T)
    exchanged = trace.collectives
    kernel, place = _places_among(activity, exchanged.event)
    numbers = exchanged.elements, exchanged.group.astype(np.int64), exchanged.name.astype(np.int64)
    size[place] = mixed(*(column[kernel] for column in numbers))
    copied[place] = exchanged.elements[kernel] >= 0
    shape = mixed(name, size, events.stream[activity].astype(np.int64))
    shapes = events.shapes
    around = values_at(host.row, values_at(host.parent, call))  # the event around each launch call; -1 for none
    shaped = np.zeros(len(around), bool) if shapes is None else (around >= 0) & (shapes[np.maximum(around, 0)] >= 0)
    sites = [mixed(shape, sites_of_calls[0]), mixed(shape, sites_of_calls[1]), shape]
    sites = [_apart(trace, events.start_ns[activity], site) for site in sites]
    return _exact_first(sites), Likeness(copied, shaped)


def _exact_first(sites: list[Int64]) -> list[Int64]:
    """Returns columns of sites, of which the exact ones are counted from 0."""
    return [numbered(sites[0]), *sites[1:]]


def _functions(sites: list[Int64]) -> SiteColumns:
    """Returns columns that are at hand in the form of those that are not."""
    return [site.__getitem__ for site in sites]


def _places_among(rows: Int32, events: Int32 | Int64) -> tuple[Int64, Int64]:
    """Returns which of these events are among ascending rows, and where there."""
    place = np.minimum(np.searchsorted(rows, events), max(len(rows) - 1, 0))
    matching_rows = np.flatnonzero(rows[place] == events) if len(rows) else np.empty(0, np.int64)
    return matching_rows, place[matching_rows]


def _is_at(column: Bool, place: Int32) -> Bool:
    return (place >= 0) & column.take(place) if len(column) else np.zeros(len(place), bool)


def _names(trace: Trace, host: HostEvents) -> Int64:
    """Returns the name of each event, as a row of the string table. Users' ranges that differ only in numbers have the
    same."""
    alike = np.arange(len(trace.strings), dtype=np.int64)
    first: dict[str, int] = {}
    for name in distinct_in(trace.events.name[trace.events.rows(Kind.USER)]).tolist():
        alike[name] = first.setdefault(_NUMBER.sub("#", trace.strings[name]), name)
    return alike.take(trace.events.name.take(host.row))


def _paths(host: HostEvents, own: Int64) -> Int64:
    """Returns a number for each event and everything that encloses it, from the outermost inwards."""
    if columns := one_pass("paths", (np.int64,), own, host.parent):
        return columns[0]
    path = mixed(own)
    for depth in range(1, int(host.depth.max(initial=0)) + 1):
        at_depth = np.flatnonzero(host.depth == depth)
        path[at_depth] = mixed(path[host.parent[at_depth]], own[at_depth])
    return path
