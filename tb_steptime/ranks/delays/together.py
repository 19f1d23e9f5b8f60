"""Several ranks that are late together: all of a host, or a few of many.

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

from tb_steptime.ranks.arrivals import Arrivals, waited_for
from tb_steptime.ranks.delays.late import (
    FEW_STEPS,
    MOST_OF_STEPS,
    MOST_OF_WAITS,
    MOST_OF_WAITS_OF_TWO,
    OWN_WAITS,
    is_steady,
)
from tb_steptime.ranks.matching import Matched
from tb_steptime.ranks.result import LateGroup
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.table import Bool, Int64

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
    matched: Sequence[Matched], found: Arrivals, spans: Sequence[RankSpan], steps: Int64
) -> LateGroup | None:
    """Returns None where no ranks are late together. steps: places of the matched steps."""
    waited = found.waited_ns[steps]
    for host, places in _candidates(spans, waited):
        late = np.isin(np.arange(len(spans)), places)
        cost = _cost(matched, late, found.waited_ns.shape)
        if _all_late(waited, late) and _is_late(cost, late, steps):
            first = max(places, key=lambda place: int(found.caused_ns[place]))
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


def _cost(matched: Sequence[Matched], late: Bool, shape: tuple[int, ...]) -> _Cost:
    """What late ranks cost the others. late: (ranks,), which ranks these are; shape: numbers of the job's steps and
    ranks."""
    steps, others = shape[0], max(1, int((~late).sum()))
    caused, whole, own, gain = (np.zeros(steps, np.int64) for _ in range(4))
    for found in matched:
        meeting = waited_for(found)
        length, step, member = found.length[meeting], found.step[meeting], late[found.members]
        if not len(length) or member.all():
            continue
        exposed = np.minimum(length - found.transfer_ns[meeting], found.exposed[meeting])
        ends = member[length.argmin(axis=1)]
        np.add.at(whole, step, exposed[:, ~member].sum(axis=1))
        np.add.at(caused, step[ends], exposed[ends][:, ~member].sum(axis=1))
        np.add.at(gain, step[ends], exposed[ends][:, ~member].min(axis=1))
        np.add.at(own, step[~ends], exposed[~ends][:, member].sum(axis=1))
    return _Cost(caused // others, whole // others, own // max(1, int(late.sum())), gain)


def _all_late(waited: Int64, late: Bool) -> bool:
    """Whether each of these ranks waits little, for whichever rank."""
    means = waited.mean(axis=0)
    return bool(means[late].max() <= OWN_WAITS * float(np.median(means[~late])))


def _is_late(cost: _Cost, late: Bool, steps: Int64) -> bool:
    """Applies the tests for a single rank to the group."""
    caused, whole = cost.caused[steps], cost.all[steps]
    half = 2 * int(late.sum()) >= len(late)
    if half and len(steps) < FEW_STEPS:  # by chance, one of two hosts is later in two steps
        return False
    least = MOST_OF_WAITS_OF_TWO if half else MOST_OF_WAITS
    often = int((2 * caused > whole).sum()) >= MOST_OF_STEPS * len(steps)
    little = int(cost.own[steps].sum()) <= OWN_WAITS * int(caused.sum())
    return int(caused.sum()) >= least * int(whole.sum()) > 0 and often and little and is_steady(caused)


def _group(cost: _Cost, steps: Int64) -> LateGroup:
    """Returns the group without ranks and host."""
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
        own_wait_ns=round(float(cost.own[steps].mean())),
        gain_ns=min(wait_ns, round(float(np.median(cost.gain[steps])))),
    )
