"""Decides whether one rank or several make the others wait, ranks take turns, or nobody waits for long.

straggler   rank 2 arrives last in nearly every step, and hardly waits itself
late_ranks  so do several ranks together, all those of a host or two of many
imbalance   now one rank arrives last, now another: batches of different sizes, pauses, noise
balanced    waits are a small share of the step

Being late is more than chance by how often it happens, its share of all waits, and how similar it is in each step.

ranks that are late by chance     cost 9  1  4  7  2  3  8      one of them is last in most of few steps, but not by
a rank that loads slowly          cost 9  9  8 10  9  9  8      the same time
the same where cores are shared   cost 9  4  6 10  5  9  8      the others are late too now and then; but it loads
                               loading 9  9  9 10  9  9  9      longer by the same time in each step

Ranks that take turns are late for what takes more time on the late rank of each step than on the median of the others
in that step, as a mean over steps.

              step 6   step 7   step 8
    rank 0    [100]      80       82        the rank that is late in a step computes 100 in it, and the others 81:
    rank 1      81     [101]      79        work differs from step to step and from rank to rank
    rank 2      80       82      [99]

Several ranks may be late together: all of a host, or a few of many.

rank 0   node1   waits 6      each of the late ones is the last by chance, so that none of them is a straggler;
rank 1   node1   waits 6      but all of them arrive at about the same time, and all others wait for them
rank 2   node2   waits 0.2
rank 3   node2   waits 0.1
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.ranks.arrivals import Arrivals, StepWaits, waited_for
from tb_steptime.ranks.delays.causes import parts_of, worth_naming
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.result import Balance, Cause, LateGroup, LateRank
from tb_steptime.ranks.spans import RankSpan, matrix_values
from tb_steptime.trace.table import Bool, Float64, Int64

#: Maximum number of ranks that are named.
MOST_NAMED = 5
#: Minimum share of all waits that has to end with a rank's arrival for the rank to be named.
WORTH_NAMING = 0.05


def balance_of(
    first: LateRank | None, group: LateGroup | None, waits_ns: int, step_ns: float, ranks: int, *, straggles: bool
) -> Balance:
    """Returns how evenly the ranks work.

    first       the rank that makes the others wait most, of this many ranks
    straggles   it does so by more than chance (`is_straggler`)
    group       the ranks that are late together
    waits_ns    waits of the median rank in the median step
    step_ns     length of the job's step
    """
    if first is None:
        return "balanced"
    if straggles and first.gain_ns >= worth_naming_one_ns(first, ranks, step_ns):
        return "straggler"
    if group is not None and group.gain_ns >= worth_naming_ns(first.steps, step_ns):
        return "late_ranks"
    return "imbalance" if waits_ns >= LEAST_SHARE * step_ns else "balanced"


def is_straggler(first: LateRank, arrivals: Arrivals, excess: Int64 | None, steps: Int64) -> bool:
    """Returns whether a rank is late by more than chance. first: the rank that makes the others wait most; excess: how
    much longer its main cause takes on it than on the others, for each of these steps, in ns."""
    least = MOST_OF_WAITS if len(arrivals.matched) > 2 else MOST_OF_WAITS_OF_TWO
    often = first.late_steps >= MOST_OF_STEPS * first.steps
    little = first.own_wait_ns <= OWN_WAITS * first.wait_ns
    ranks = int((arrivals.matched > 0).sum())
    cost = arrivals.exposed_ns[steps, int(arrivals.caused_ns.argmax())] // max(1, ranks - 1)
    by_more_than_chance = (
        is_always_last(first, ranks) or is_steady(cost) or (excess is not None and is_explained(cost, excess))
    )
    return first.caused_share >= least and often and little and by_more_than_chance


def late_ranks(arrivals: Arrivals, spans: Sequence[RankSpan], matched_steps: Int64, waits: StepWaits) -> list[LateRank]:
    """Returns the ranks that make others wait, most first. matched_steps: places among the job's steps; waits: those in
    the matched steps."""
    caused = arrivals.caused_ns
    whole = int(arrivals.wait_ns.sum())
    wait_ns = waits.caused_ns()
    order = [
        place for place in np.argsort(-caused, kind="stable").tolist() if caused[place] >= WORTH_NAMING * whole > 0
    ]
    return [_late(arrivals, spans[place].rank, place, matched_steps, wait_ns[place]) for place in order[:MOST_NAMED]]


def _late(arrivals: Arrivals, rank: int, place: int, steps: Int64, wait_ns: int) -> LateRank:
    exposed_ns = arrivals.exposed_ns[steps]
    worst = (exposed_ns.argmax(axis=1) == place) & (exposed_ns.max(axis=1) > 0)
    return LateRank(
        rank=rank,
        last_share=int(arrivals.last[place]) / max(1, int(arrivals.matched[place])),
        late_steps=int(worst.sum()),
        steps=len(steps),
        caused_share=int(arrivals.caused_ns[place]) / int(arrivals.wait_ns.sum()),
        wait_ns=wait_ns,
        own_wait_ns=round(int(arrivals.exposed_wait_ns[place]) / len(steps)),
        gain_ns=min(wait_ns, round(float(np.median(arrivals.gain_ns[steps, place])))),
    )


def imbalance_gain_ns(arrivals: Arrivals, steps: Int64) -> int:
    """Returns the upper limit of the gain per step if all ranks arrived with the median one: the wait of the median
    rank in the median step."""
    return round(float(np.median(np.median(arrivals.waited_ns[steps], axis=1)))) if len(steps) else 0


#: One rank is the reason if at least this share of all waits ends with its arrival, in at least this share of the
#: steps.
MOST_OF_WAITS, MOST_OF_STEPS = 0.6, 0.6
#: The share of all waits that is required with two ranks, of which one is late half of the time by chance.
MOST_OF_WAITS_OF_TWO = 0.8
#: A late rank waits for others at most this share of the time that they wait for it.
OWN_WAITS = 0.5
#: A late rank costs about the same in each step: the lower quartile is at least this share of the upper one, by minimum
#: number of steps. In many steps no rank is late by chance in most of them; in few steps that happens in one in ten to
#: one in two recordings of pure noise.
_STEADY = ((16, 0.5), (5, 0.7), (0, 0.8))
#: Alternatively, the cause of its lateness is that steady and explains at least this share of it, and the cost in three
#: of four steps is at least half of the usual cost.
EXPLAINED, _HALF_OF_USUAL = 0.5, 0.5
#: With fewer steps than this, a rank has to cost a larger share of the step to be named.
FEW_STEPS = 5
#: Exception: it is the latest in all steps, and with this number of ranks that happens by chance in a smaller share of
#: recordings than this. Then it need not cost about the same in each step, either.
_UNLIKELY = 0.01
#: Exposed waits below this share of the step do not matter; with few steps, those below the second share.
LEAST_SHARE, LEAST_SHARE_OF_FEW = 0.03, 0.10


def is_steady(cost: Int64) -> bool:
    """Returns whether the cost is about the same in each step. cost: of each step, ns."""
    least = next(share for steps, share in _STEADY if len(cost) >= steps)
    low, high = np.percentile(cost, (25, 75)).tolist()
    return bool(low >= least * high)


def is_explained(cost: Int64, excess: Int64) -> bool:
    """Returns whether a cause explains what the rank costs the others. excess: how much longer the cause takes on the
    rank than on the others, in each step, ns."""
    usual = float(np.median(cost))
    often = float(np.percentile(cost, 25)) >= _HALF_OF_USUAL * usual
    return often and is_steady(excess) and float(np.median(excess)) >= EXPLAINED * usual > 0


def worth_naming_ns(steps: int, step_ns: float) -> float:
    """Returns the least time per step for which a rank has to make the others wait to be named, in a recording of this
    many matched steps."""
    return (LEAST_SHARE_OF_FEW if steps < FEW_STEPS else LEAST_SHARE) * step_ns


def worth_naming_one_ns(late: LateRank, ranks: int, step_ns: float) -> float:
    """Returns the same limit for one rank out of this many.

    >>> late = LateRank(5, 1.0, late_steps=4, steps=4, caused_share=1.0, wait_ns=0, own_wait_ns=0, gain_ns=0)
    >>> worth_naming_one_ns(late, 4, 1000), worth_naming_one_ns(late, 64, 1000)
    (100.0, 30.0)
    """
    return LEAST_SHARE * step_ns if is_always_last(late, ranks) else worth_naming_ns(late.steps, step_ns)


def is_always_last(late: LateRank, ranks: int) -> bool:
    """Returns whether the rank is the latest in every step, which would hardly ever happen by chance with this many
    ranks.

    >>> late = LateRank(5, 1.0, late_steps=7, steps=7, caused_share=1.0, wait_ns=0, own_wait_ns=0, gain_ns=0)
    >>> is_always_last(late, 4), is_always_last(late, 2)
    (True, False)
    """
    return late.late_steps == late.steps and float(ranks) ** (1 - late.steps) < _UNLIKELY


def causes_of_turns(spans: Sequence[RankSpan], exposed_ns: Int64, steps: Int64) -> list[Cause]:
    """Returns the causes for which ranks that take turns are late, the largest first. exposed_ns: (steps, ranks), waits
    of the others that end with each rank's arrival; steps: places of the matched steps."""
    steps = steps[exposed_ns[steps].any(axis=1)]
    if not len(steps):
        return []
    last_rank = exposed_ns[steps].argmax(axis=1)
    delay_ns = round(float(exposed_ns[steps, last_rank].mean()) / (len(spans) - 1))
    candidates = [
        _cause(Cause(id, 0, 0, 0.0, metrics[0]), _values(spans, metrics)[:, steps], last_rank)
        for id, metrics in parts_of(spans[0], with_kernels=True)
    ]
    return worth_naming(candidates, delay_ns)


def _values(spans: Sequence[RankSpan], metrics: Sequence[str]) -> Float64:
    """Returns the sums of the metrics, (ranks, steps), with NaN where one of them is not known."""
    return np.sum([matrix_values(spans, metric) for metric in metrics], axis=0)


def _cause(cause: Cause, values: Float64, late_rank: Int64) -> Cause:
    """Returns the cause with its times on the rank that is late in each step, and on the others. It is unchanged, with
    zero times, if no value is known. values: (ranks, steps); late_rank: the late rank of each step."""
    columns = np.arange(len(late_rank))
    own = values[late_rank, columns]
    others = values.copy()
    others[late_rank, columns] = np.nan
    measured = ~np.isnan(values).any(axis=0)
    if not measured.any():
        return cause
    usual = np.nanmedian(others[:, measured], axis=0)
    return Cause(cause.id, round(float(own[measured].mean())), round(float(usual.mean())), 0.0, cause.metric)


#: Minimum gap between the waits of late ranks without a common host and those of all others, as a share of what the
#: others wait.
APART = 0.6


@dataclass(frozen=True, eq=False)
class _Cost:
    """The cost of some ranks in each of the matched steps (steps,), ns. As means over ranks: caused: waits of the
    others that end when one of these ranks arrives; all: all waits of the others; own: waits of these ranks for others.
    gain: the smallest of the caused waits."""

    caused: Int64
    all: Int64
    own: Int64
    gain: Int64


def late_group(
    matched: Sequence[MatchedGroup], arrivals: Arrivals, spans: Sequence[RankSpan], steps: Int64
) -> LateGroup | None:
    """Returns the ranks that are late together, or None where there are none. steps: places of the matched steps."""
    waited = arrivals.waited_ns[steps]
    for host, places in _candidates(spans, waited):
        is_late = np.isin(np.arange(len(spans)), places)
        cost = _cost(matched, is_late, arrivals.waited_ns.shape)
        if _all_late(waited, is_late) and _is_late(cost, is_late, steps):
            first = max(places, key=lambda place: int(arrivals.caused_ns[place]))
            group = _group(cost, steps)
            return msgspec.structs.replace(
                group, ranks=[spans[place].rank for place in places], first=spans[first].rank, host=host
            )
    return None


def _candidates(spans: Sequence[RankSpan], waited: Int64) -> Iterator[tuple[str | None, list[int]]]:
    """Yields the host whose ranks wait least, then the ranks that wait least, up to the largest gap: fewer than half of
    all."""
    hosts: dict[str | None, list[int]] = defaultdict(list)
    for place, span in enumerate(spans):
        hosts[span.host].append(place)
    usual = np.median(waited, axis=0)
    several = {host: places for host, places in hosts.items() if host is not None and len(places) > 1}
    if len(hosts) > 1 and several:
        host = min(several, key=lambda host: float(usual[several[host]].max()))
        yield host, several[host]
    order, most = np.argsort(usual, kind="stable"), (len(spans) - 1) // 2
    if most < 2:
        return
    gaps = np.diff(usual[order])[1:most]
    size = 2 + int(gaps.argmax())
    if gaps.max() >= APART * float(np.median(usual[order[size:]])):
        yield None, sorted(order[:size].tolist())


def _cost(matched: Sequence[MatchedGroup], is_late: Bool, shape: tuple[int, ...]) -> _Cost:
    """Returns what late ranks cost the others. is_late: (ranks,), which ranks these are; shape: numbers of the job's
    steps and ranks."""
    steps, others = shape[0], max(1, int((~is_late).sum()))
    caused, whole, own, gain = (np.zeros(steps, np.int64) for _ in range(4))
    for group in matched:
        meeting = waited_for(group)
        length = group.length[meeting]
        step = group.step[meeting]
        member = is_late[group.members]
        if not len(length) or member.all():
            continue
        exposed = np.minimum(group.wait_ns[meeting], group.exposed[meeting])
        ends = member[length.argmin(axis=1)]
        np.add.at(whole, step, exposed[:, ~member].sum(axis=1))
        np.add.at(caused, step[ends], exposed[ends][:, ~member].sum(axis=1))
        np.add.at(gain, step[ends], exposed[ends][:, ~member].min(axis=1))
        np.add.at(own, step[~ends], exposed[~ends][:, member].sum(axis=1))
    return _Cost(caused // others, whole // others, own // max(1, int(is_late.sum())), gain)


def _all_late(waited: Int64, is_late: Bool) -> bool:
    """Returns whether each of these ranks waits little, whichever rank it waits for."""
    means = waited.mean(axis=0)
    return bool(means[is_late].max() <= OWN_WAITS * float(np.median(means[~is_late])))


def _is_late(cost: _Cost, is_late: Bool, steps: Int64) -> bool:
    """Applies the tests for a single rank to the group."""
    caused, whole = cost.caused[steps], cost.all[steps]
    half = 2 * int(is_late.sum()) >= len(is_late)
    if half and len(steps) < FEW_STEPS:  # by chance, one of two hosts is later in two steps
        return False
    least = MOST_OF_WAITS_OF_TWO if half else MOST_OF_WAITS
    often = int((2 * caused > whole).sum()) >= MOST_OF_STEPS * len(steps)
    little = int(cost.own[steps].sum()) <= OWN_WAITS * int(caused.sum())
    return int(caused.sum()) >= least * int(whole.sum()) > 0 and often and little and is_steady(caused)


def _group(cost: _Cost, steps: Int64) -> LateGroup:
    """Returns the group, without its ranks and host."""
    caused, whole = cost.caused[steps], cost.all[steps]
    wait_ns = round(float(caused.mean()))
    return LateGroup(
        ranks=[],
        first=0,
        host=None,
        late_steps=int((2 * caused > whole).sum()),
        steps=len(steps),
        caused_share=int(caused.sum()) / int(whole.sum()),
        wait_ns=wait_ns,
        gain_ns=min(wait_ns, round(float(np.median(cost.gain[steps])))),
    )
