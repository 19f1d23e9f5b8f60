"""The time that calls took beyond the steady duration of their site, as intervals.

call       [ 5 us ]   [            60 us            ]   [ 5 us ]
excess                       [#########55 us########]             at the end of what was too long

The steady duration of each call follows from the calls of its site. It shows which calls are far longer.

A call is compared with the calls of its exact site. If these are too few and its work does not depend on its data, it
is compared with those of similar sites. A call that is equally long at the same place of another step is real work.
Twenty convolutions without recorded shapes are one site, for example, and the longest one is not too long.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.groups import numbered
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.table import ALL_ROWS, Bool, Columns, Float64, Int32, Int64, UInt8, is_in


class ExcessKind(enum.IntEnum):
    """Why a call took longer than usual for its site.

    ONCE         The first calls of a site, or work that the recording identifies as that of a first use.
                 Similar: Real work of other sizes; therefore calls whose work depends on data are compared only if
                 shapes are recorded or another step shows the same place. Clocks that warm up, which stay below two
                 times.
    INTERRUPTED  One call among equal ones that is not the first.
                 Similar: The usual noise of a host, which stays below three times the steady duration or 50 us. Sites
                 with two typical durations, of which neither is rare. Kernels that share the device with others.
    PROFILER     The profiler's own work, by its rows.
                 Similar: The loading of code, which has such rows but belongs to the job.
    PERIODIC     Every k-th call of a site, three times at least.
                 Similar: Sites that alternate between two sizes.
    EDGE         The device runs work from before the recording, or has none because the recording ends.
                 Similar: A device that is idle at the end of every step.
    UNKNOWN      Far longer than similar calls, and nothing shows that its work is the same. Also a collective in the
                 only step, which may wait for another rank in every step.
                 Similar: Everything above, and real work, so conclusions do not leave this out.
    """

    ONCE = 0
    INTERRUPTED = 1
    PROFILER = 2
    PERIODIC = 3
    EDGE = 4
    UNKNOWN = 5


#: Kinds that are no part of the steady step. Time of unknown kind remains part of it.
REMOVED = tuple(kind for kind in ExcessKind if kind != ExcessKind.UNKNOWN)


class Excess(Columns, frozen=True, eq=False):
    """Excess intervals, sorted by (track, start); those of one track are disjoint.

    track             int32, row of `Trace.threads`: a host thread, or a stream of a device
    start_ns, end_ns  int64, relative to `Trace.origin_ns`
    kind              uint8, an `ExcessKind`
    event             int32, row of the event table: the innermost event that took too long, or the one beside which the
                      thread did; -1 if no event is beside it
    """

    track: Int32
    start_ns: Int64
    end_ns: Int64
    kind: UInt8
    event: Int32

    @property
    def dur_ns(self) -> Int64:
        return self.end_ns - self.start_ns

    def on(self, *tracks: int) -> Excess:
        """Returns the excess of these tracks only."""
        return self.where(is_in(self.track, tracks))

    def of(self, *kinds: ExcessKind) -> Excess:
        """Returns the excess of these kinds only."""
        return self.where(is_in(self.kind, kinds))

    def intervals(self, *kinds: ExcessKind) -> Intervals:
        """Returns when there is excess of these kinds, or of any if none is given, on any track."""
        rows = is_in(self.kind, kinds) if kinds else np.ones(len(self), bool)
        return Intervals.union(self.start_ns[rows], self.end_ns[rows])


def no_excess() -> Excess:
    narrow, wide = np.empty(0, np.int32), np.empty(0, np.int64)
    return Excess(narrow, wide, wide, np.empty(0, np.uint8), narrow)


def joined(parts: Iterable[Excess]) -> Excess:
    """Joins several tables. No two of them may have excess on one track at the same time."""
    tables = [no_excess(), *parts]
    columns = ("track", "start_ns", "end_ns", "kind", "event")
    table = Excess(*(np.concatenate([getattr(each, column) for each in tables]) for column in columns))
    return table.where(np.lexsort((table.start_ns, table.track)))


#: Minimum number of calls to compare with, at an exact site and at a similar one.
FEWEST, FEWEST_ALIKE = 2, 4
#: Factors over the steady duration from which a call is too long: a first call, a later one (noise of a host doubles
#: many calls), and one compared with similar sites.
TIMES_FIRST, TIMES_LATER, TIMES_ALIKE = 2, 3, 10
#: Minimum excess in each case. The clocks and the scheduler of a host shift calls by some microseconds.
LEAST_FIRST_NS, LEAST_LATER_NS, LEAST_ALIKE_NS = 10_000, 50_000, 500_000
#: A long call exceeds the steady duration by this many times the excess of the 90th percentile.
TIMES_SPREAD = 5
#: If a first call takes this many times as long as the longest of several later ones, it is not just a larger piece of
#: the same work.
TIMES_SURE, FEWEST_SURE = 20, 3
#: If more than this share of the calls are long, that is normal for the site.
RARE_FRACTION = 0.1
#: This many long calls at equal distances are no coincidence. Sites that alternate between two sizes have distances of
#: two.
REGULAR, LEAST_PERIOD = 3, 3
#: Maximum number of first calls of a site. A JIT compiles in the second one, and a benchmark of algorithms ends with
#: the third.
FIRST_CALLS = 3
#: The limits, as passed to C.
_LIMITS = np.array(
    (TIMES_FIRST, LEAST_FIRST_NS, TIMES_LATER, LEAST_LATER_NS, FEWEST, LEAST_ALIKE_NS),
    np.int64,
)
#: Number of bits of a site number that distinguish most sites.
_BITS = 16
#: Number of calls that are processed together, so that intermediate columns stay in the cache.
_AT_ONCE = 2**16


class Likeness(NamedTuple):
    """For each call, whether its work equals that of the calls with which it is compared.

    fixed   whether the work does not depend on the data: a call of the runtime, an op that launches or makes a view
    shaped  whether calls of its exact site have the same shapes
    """

    fixed: Bool
    shaped: Bool


#: Columns of site numbers, the most exact first. Each computes the numbers of the calls that are asked for: of a
#: million segments a column takes 8 MB, and most are read for few calls.
SiteColumns = Sequence[Callable[[Int64 | slice], Int64]]


class CallExcess(NamedTuple):
    """The excess of each call, 0 if it has none, and its kind, an `ExcessKind`."""

    excess_ns: Int64
    kind: UInt8


def judge(length: Int64, step: Int64, sites: SiteColumns, like: Likeness) -> CallExcess:
    """Compares calls with those of their sites. Calls are in time order within each site.

    length  of each call without waits, ns
    step    number of the step that contains it
    sites   site numbers of each call, the most exact first, each counted from 0
    """
    fixed, shaped = like
    may = _may_be_long(length, step, sites[0](ALL_ROWS), fixed)
    rows = _compared(may, sites, fixed)
    excess = np.zeros(len(length), np.int64)
    kind = np.full(len(length), ExcessKind.INTERRUPTED, np.uint8)
    if not len(rows):
        return CallExcess(excess, kind)
    one_step = bool(step.min() == step.max())
    rows = rows[np.argsort(step[rows], kind="stable")]
    like = Likeness(fixed[rows], shaped[rows])
    steps = None if one_step else step[rows]
    long = np.flatnonzero(may[rows])
    near = [numbered(site(rows)) for site in sites]
    excess[rows[long]], kind[rows[long]] = _judged(length[rows], long, steps, near, like)
    return CallExcess(excess, kind)


def _may_be_long(length: Int64, step: Int64, site: Int64, fixed: Bool) -> Bool:
    """Returns which calls are long enough for any excess. No steady duration is below the shortest call of the site, or
    below that of all sites if a call is alone at its own. There are few such calls, and only they and similar calls are
    examined."""
    if columns := one_pass("may_be_long", (bool,), length, step, site, fixed, _LIMITS):
        return np.asarray(columns[0], bool)
    sites = int(site.max(initial=-1)) + 1
    least, first = np.full(sites, NEVER), np.full(sites, NEVER)
    np.minimum.at(least, site, length)
    np.minimum.at(first, site, step)
    over = length - least[site]
    may: Bool = (over >= LEAST_FIRST_NS) & (length >= TIMES_FIRST * least[site])
    may &= (step == first[site]) | (over >= LEAST_LATER_NS) & (length >= TIMES_LATER * least[site])
    alone = fixed & (np.bincount(site, minlength=1)[site] < FEWEST)
    may |= alone & (length - int(length.min(initial=0)) >= LEAST_ALIKE_NS)
    return may


def _compared(may: Bool, sites: SiteColumns, fixed: Bool) -> Int64:
    """Returns the calls that may be long, and those with which they are compared."""
    exact = sites[0](ALL_ROWS)
    alone = may & fixed & (np.bincount(exact, minlength=1) < FEWEST)[exact]
    compared = may.copy()
    for place, site_of in enumerate(sites):
        if (chosen := may if place < 2 else alone).any():
            site = site_of(ALL_ROWS)
            compared[_calls_of_sites(site, site[chosen])] = True
            del site  # before the next column is computed
    return np.flatnonzero(compared)


def _calls_of_sites(site: Int64, chosen: Int64) -> Int64:
    """Returns the calls of the chosen sites. Site numbers are scattered and few are chosen, so a few bits rule out most
    calls."""
    may_be = np.zeros(1 << _BITS, bool)
    may_be[chosen & len(may_be) - 1] = True
    pieces = [np.empty(0, np.int64)]
    for first in range(0, len(site), _AT_ONCE):
        piece = site[first : first + _AT_ONCE]
        pieces.append(first + np.flatnonzero(may_be.take(piece & len(may_be) - 1)))
    near = np.concatenate(pieces)
    return near[is_in(site[near], chosen)]


def _judged(length: Int64, rows: Int64, step: Int64 | None, sites: list[Int64], like: Likeness) -> CallExcess:
    """Returns the excess of the calls at these rows, which may be long. The other calls are only compared with.

    step   None for a recording of one step
    sites  numbers from 0 on
    """
    exact = sites[0]
    order = _places_in(exact)
    rank, own = order[rows], length[rows]
    usual, spread, count = _centres(length, exact, rows)
    fixed = like.fixed[rows]
    alike = np.zeros(len(rows), bool)
    for site in sites[1:]:
        few = fixed & (count < np.where(alike, FEWEST_ALIKE, FEWEST))
        if not few.any():
            break
        alike |= few
        usual[few], spread[few], count[few] = _centres(length, site, rows[few])
        rank[few] = _places_in(site)[rows[few]]
    enough = count >= np.where(alike, FEWEST_ALIKE, FEWEST)
    places, at_place = exact, np.full(len(rows), np.nan)
    if step is not None:  # the shortest call at this place of a site in all steps, if there are several
        place = _places_in(numbered(places * (int(step.max()) + 1) + step))
        places = numbered(places * (int(place.max()) + 1) + place)
        shortest, _, calls = _centres(length, places, rows)
        at_place = np.where(calls >= 2, shortest, np.nan)
    usual = np.where(np.isnan(at_place), usual, np.maximum(usual, at_place))
    excess = own - usual
    first = rank == 0
    sure = fixed | like.shaped[rows] | ~np.isnan(at_place)
    sure |= first & (count >= FEWEST_SURE) & ~alike & (own >= TIMES_SURE * _longest_later(length, order, exact, rows))
    is_far = alike | ~sure
    times = np.where(is_far, TIMES_ALIKE, np.where(first, TIMES_FIRST, TIMES_LATER))
    least = np.where(is_far, LEAST_ALIKE_NS, np.where(first, LEAST_FIRST_NS, LEAST_LATER_NS))
    tall = enough & (own >= times * usual) & (excess >= least)
    long = tall & (excess >= TIMES_SPREAD * spread)
    begins = long & _is_early(rows, long, rank, order, exact)
    usually = np.zeros(len(rows), bool)
    for group in (exact, places, *sites[1:2]):
        usually |= _is_habit(length, rows, long, begins, group)
    regular = tall & _is_regular(rows, tall, places)
    kind = np.where(begins, ExcessKind.ONCE, ExcessKind.INTERRUPTED)
    kind = np.where(regular, ExcessKind.PERIODIC, np.where(sure, kind, ExcessKind.UNKNOWN))
    # Work that recurs within the only step, such as in every sixth layer, is part of the step.
    counts = long & ~usually & ~regular if step is None else regular | (long & ~usually)
    return CallExcess(np.where(counts, np.rint(excess), 0).astype(np.int64), kind.astype(np.uint8))


def _is_habit(length: Int64, rows: Int64, long: Bool, begins: Bool, site: Int64) -> Bool:
    """Returns which of the long calls are at sites where too many later calls are at least half as long as this one."""
    same_site = _calls_of_sites(site, site[rows[long]])  # few sites have any long call
    if not len(same_site):
        return long
    number = numbered(site[same_site])
    later = length[same_site]
    first = is_in(same_site, rows[begins])
    later[first] = 0
    ranked, count = later[np.lexsort((later, number))], np.bincount(number)
    most = np.maximum(1, RARE_FRACTION * (count - np.bincount(number, first))).astype(np.int64)
    ends = np.cumsum(count)
    place = np.maximum(ends - 1 - most, ends - count)
    habit = np.zeros(len(length), bool)
    habit[same_site] = 2 * np.where(count > most, ranked[place], 0)[number] >= length[same_site]
    return habit[rows] & long


def _is_early(rows: Int64, long: Bool, rank: Int64, order: Int64, site: Int64) -> Bool:
    """Returns which calls are the first of their site, or follow long first calls. They are at most a third of all."""
    short = np.full(int(site.max(initial=-1)) + 1, FIRST_CALLS, np.int64)
    early = order < FIRST_CALLS
    early[rows[long]] = False
    np.minimum.at(short, site[early], order[early])
    short = np.minimum(short, np.maximum(np.bincount(site, minlength=len(short)) // 3, 1))
    return np.asarray(rank < short[site[rows]], bool)


def _longest_later(length: Int64, order: Int64, site: Int64, rows: Int64) -> Int64:
    """Returns for the calls at these rows the longest call of their site after the first one, in ns."""
    longest = np.zeros(int(site.max(initial=-1)) + 1, np.int64)
    later = np.flatnonzero(order)
    np.maximum.at(longest, site[later], length[later])
    return longest[site[rows]]


def _is_regular(rows: Int64, tall: Bool, site: Int64) -> Bool:
    """Returns which calls are at sites whose tall calls occur often enough and at equal distances."""
    long = rows[tall]
    often = np.flatnonzero(np.bincount(site[long]) >= REGULAR)
    if not len(often):
        return np.zeros(len(rows), bool)
    same_site = _calls_of_sites(site, often)
    place = np.zeros(len(site), np.int64)
    place[same_site] = _places_in(numbered(site[same_site]))
    regular = np.zeros(int(site.max()) + 1, bool)
    for each in often.tolist():
        distance = np.diff(place[long[site[long] == each]])
        regular[each] = distance[0] >= LEAST_PERIOD and (distance == distance[0]).all()
    return regular[site[rows]]


def _centres(length: Int64, site: Int64, rows: Int64) -> tuple[Float64, Float64, Int64]:
    """Returns for the site of each call at these rows the median (of two calls the shorter), the 90th percentile minus
    the median, and the number of calls."""
    count = np.bincount(site)
    first = np.cumsum(count) - count
    ranked = ranked_in_groups(length, site)
    usual = ranked[first + (count - 1) // 2]
    high = ranked[first + np.maximum((9 * (count - 1)) // 10, 0)]
    spread = np.where(count >= 10, high - usual, 0)
    at = site[rows]
    return usual[at].astype(np.float64), spread[at].astype(np.float64), count[at]


def ranked_in_groups(length: Int64, site: Int64) -> Int64:
    """Returns the lengths, sorted by (site, length)."""
    low, high = int(length.min(initial=0)), int(length.max(initial=0))
    width = (high - low).bit_length()
    if int(site.max(initial=0)).bit_length() + width > 62:
        return length[np.lexsort((length, site))]
    both = site << width
    both += length
    both -= low
    both.sort()  # sorting values is far faster than sorting places
    both &= (1 << width) - 1
    both += low
    return both


def _places_in(group: Int64) -> Int64:
    """Returns the place of each call among those of its group."""
    width, count = len(group).bit_length(), np.bincount(group)
    order = np.sort((group << width) | np.arange(len(group))) & ((1 << width) - 1)  # faster than argsort
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    return place
