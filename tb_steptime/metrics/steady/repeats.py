"""The steady duration of each call, from the calls of its site, and which calls are far longer.

A call is compared with the calls of its exact site; with too few of those, of sites that are alike. A call that is as
long at the same place of another step is real work: twenty convolutions without recorded shapes are one site, and
their longest one is not too long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.steady.sites import mixed
from tb_steptime.trace.groups import numbered
from tb_steptime.trace.table import Bool, Float64, Int64

#: Calls of an exact site, and of a less exact one, that are enough to compare with.
FEWEST, FEWEST_ALIKE = 2, 4
#: A first call counts from so many steady ones on, another call from more on: noise of a host doubles many calls.
TIMES_FIRST, TIMES_LATER, TIMES_ALIKE = 2, 3, 10
#: The clocks and the scheduler of a host move calls by some microseconds.
LEAST_FIRST_NS, LEAST_LATER_NS, LEAST_ALIKE_NS = 10_000, 50_000, 500_000
#: A long call lies so many times as far above the steady one as nine tenths of the calls do.
TIMES_SPREAD = 5
#: What more than this share of the calls do is the habit of the site.
RARE_FRACTION = 0.1


class Judged(NamedTuple):
    """For each call its excess, ns, 0 for none; and its place among the calls of its site in time order."""

    excess_ns: Int64
    rank: Int64


def judge(length: Int64, step: Int64, sites: list[Int64]) -> Judged:
    """Compare calls with those of their sites.

    length: of each call without waits, ns; step: number of the step that it is in; sites: numbers of the sites of each
    call, the most exact first. Calls are in time order within each site.
    """
    usual, spread, count, rank = _centres(length, sites[0])
    alike = np.zeros(len(length), bool)
    for site in sites[1:]:
        few = count < np.where(alike, FEWEST_ALIKE, FEWEST)
        if not few.any():
            break
        alike |= few
        new_usual, new_spread, new_count, _ = _centres(length, site)
        usual, spread = np.where(few, new_usual, usual), np.where(few, new_spread, spread)
        count = np.where(few, new_count, count)
    enough = count >= np.where(alike, FEWEST_ALIKE, FEWEST)
    at_place = _at_place(length, step, sites[0])
    usual = np.where(np.isnan(at_place), usual, np.maximum(usual, at_place))
    excess = length - usual
    first = rank == 0
    times = np.where(alike, TIMES_ALIKE, np.where(first, TIMES_FIRST, TIMES_LATER))
    least = np.where(alike, LEAST_ALIKE_NS, np.where(first, LEAST_FIRST_NS, LEAST_LATER_NS))
    long = enough & (length >= times * usual) & (excess >= least) & (excess >= TIMES_SPREAD * spread)
    return Judged(np.where(long & _is_rare(long, sites[0]), np.rint(excess), 0).astype(np.int64), rank)


def _is_rare(long: Bool, site: Int64) -> Bool:
    calls, longs = np.bincount(site), np.bincount(site, long)
    rare: Bool = longs <= np.maximum(1, RARE_FRACTION * calls)
    return rare[site]


def _centres(length: Int64, site: Int64) -> tuple[Float64, Float64, Int64, Int64]:
    """Of the site of each call: the median, of two calls the lesser; what nine tenths of the calls stay below, less
    that; the number of calls; and the rank of the call in time."""
    order = np.lexsort((length, site))
    count = np.bincount(site)
    first = np.cumsum(count) - count
    usual = length[order][first + (count - 1) // 2]
    high = length[order][first + np.maximum((9 * (count - 1)) // 10, 0)]
    spread = np.where(count >= 10, high - usual, 0)
    rank = np.empty(len(site), np.int64)
    rank[np.argsort(site, kind="stable")] = np.arange(len(site)) - np.repeat(first, count)
    return usual[site].astype(np.float64), spread[site].astype(np.float64), count[site], rank


def _at_place(length: Int64, step: Int64, site: Int64) -> Float64:
    """The least length of the calls at this place of a site in the other steps, ns; NaN where there is no other."""
    in_step = numbered(mixed(site, step))
    order = np.argsort(in_step, kind="stable")
    count = np.bincount(in_step)
    place = np.empty(len(site), np.int64)
    place[order] = np.arange(len(site)) - np.repeat(np.cumsum(count) - count, count)
    usual, _, calls, _ = _centres(length, numbered(mixed(site, place)))
    return np.where(calls >= 2, usual, np.nan)
