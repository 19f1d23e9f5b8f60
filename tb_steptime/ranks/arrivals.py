"""Who arrives last at a collective, and what that costs the others. All ranks leave it together, so the rank on which
it is shortest arrived last, and the extra time on any other rank is that rank's wait. A rank that exchanges more bytes
than that one may need the extra time for these.

    rank 0   |wait wait|==|        transfer: ==, the shortest      rank 0 waits 9, rank 1 waits 4
    rank 1        |wait|==|        rank 2 arrived last: it waits 0, and 9 + 4 = 13 of waiting ends with its arrival
    rank 2             |==|        had it arrived with rank 1, both others would wait 4 less: the least of their waits

The clock that ranks of one host share bounds the wait: a rank waits until the last one begins, and what a kernel takes
beyond that is its own. It also shows whether collectives that are matched by their order in a step belong to the same
step.

rank 0, node1   step 7 [==]           step 8 [==]         no rank leaves a collective before all have come: these
rank 1, node1   step 6 [==]           step 7 [==]         ranks number their steps differently, by one

Waits are summed by rank and step.

                step 6   step 7
rank 0  waits       9        8      what no computation hides of its waits
rank 1  waits       9        8
rank 2  causes      9        8      what each of the others so waits for it, as a mean
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tb_steptime.ranks.matching import MatchedGroup, Matching
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.table import Bool, Float64, Int64

#: Kinds of collectives that no rank leaves before all have arrived. The root may leave a broadcast at once, and the
#: other ranks a reduce.
MEETING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Per rank of the job (ranks,), sums over the matched steps: see `RankRow`. Per step and rank (steps, ranks), in
    ns: late_ns: waits of the others that end with its arrival; exposed_ns: the part of late_ns that no computation
    hides, where simultaneous collectives count once; gain_ns: the smallest exposed wait among the others; waited_ns:
    the rank's own exposed waits."""

    matched: Int64
    transfer_ns: Int64
    wait_ns: Int64
    exposed_wait_ns: Int64
    last: Int64
    late_ns: Int64
    exposed_ns: Int64
    gain_ns: Int64
    waited_ns: Int64

    @property
    def caused_ns(self) -> Int64:
        return self.late_ns.sum(axis=0)


def meetings(group: MatchedGroup) -> Bool:
    """Returns for each matched collective whether all ranks leave it together."""
    return _are_of_kind(group, *MEETING) & group.alike


def waited_for(group: MatchedGroup) -> Bool:
    """Returns for each matched collective whether its times show which rank arrives last. They also do for all-to-alls
    in which ranks exchange different numbers of bytes, and for broadcasts that, by the clock that the ranks share, no
    rank left before all had arrived: these wait for a root that is late."""
    shown = meetings(group) | (_are_of_kind(group, "all_to_all") & (group.bytes >= 0).all(axis=1))
    if group.later_ns is None:
        return shown
    all_there = group.start.max(axis=1) <= (group.start + group.length).min(axis=1)
    return np.asarray(shown | (_are_of_kind(group, "broadcast") & group.alike & all_there))


def _are_of_kind(group: MatchedGroup, *names: str) -> Bool:
    matches = np.array([one.kind in names for one in group.classes], bool)
    return matches[group.of] if len(matches) else np.zeros(len(group.of), bool)


def arrivals(matched: Sequence[MatchedGroup], ranks: int, steps: int) -> Arrivals:
    """Returns the sums over all groups. A rank may be in several groups."""
    total = Arrivals(*(np.zeros(ranks, np.int64) for _ in range(5)),
                     *(np.zeros((steps, ranks), np.int64) for _ in range(4)))  # fmt: skip
    for group in matched:
        _add(total, group, waited_for(group))
    return total


def _add(total: Arrivals, group: MatchedGroup, meeting: Bool) -> None:
    """Adds the collectives of a group to the total. meeting: (m,), which of the collectives count."""
    length = group.length[meeting]
    members = group.members
    step = group.step[meeting]
    if not len(length):
        return
    wait = group.wait_ns[meeting]
    exposed = np.minimum(wait, group.exposed[meeting])
    last = length.argmin(axis=1)
    waited = wait.sum(axis=1)
    total.matched[members] += len(length)
    total.transfer_ns[members] += (length - wait).sum(axis=0)
    total.wait_ns[members] += wait.sum(axis=0)
    total.exposed_wait_ns[members] += exposed.sum(axis=0)
    total.last[members] += np.bincount(last[waited > 0], minlength=len(members))
    np.add.at(total.late_ns, (step, members[last]), waited)
    np.add.at(total.exposed_ns, (step, members[last]), exposed.sum(axis=1))
    np.add.at(total.gain_ns, (step, members[last]), _least_of_others(exposed, last))
    np.add.at(total.waited_ns, (step[:, None], members[None, :]), exposed)


def _least_of_others(exposed: Int64, last: Int64) -> Int64:
    others = exposed.copy()
    others[np.arange(len(last)), last] = NEVER
    return others.min(axis=1)


#: Ranks of one host share a clock if this part of their collectives ends on all of them within this time. Others end
#: apart where a kernel is off its device for a while; on separate clocks all ends are apart by about the same time. On
#: shared ones, recorded ends are 1 to 9 us apart.
_SHARED_PERCENT, _SHARED_NS = 25, 50_000


def on_shared_clocks(matching: Matching, hosts: Sequence[str | None]) -> Matching:
    """Returns the matching with the time until the last rank begins, for groups within a host. hosts: of the job's
    ranks, None where not known."""
    return replace(matching, matched=[_on_shared_clock(each, hosts) for each in matching.matched])


def _on_shared_clock(group: MatchedGroup, hosts: Sequence[str | None]) -> MatchedGroup:
    own, meeting = {hosts[place] for place in group.members.tolist()}, waited_for(group)
    if None in own or len(own) > 1 or not meeting.any():
        return group
    end = (group.start + group.length)[meeting]
    shared = np.percentile(end.max(axis=1) - end.min(axis=1), _SHARED_PERCENT) <= _SHARED_NS
    return replace(group, later_ns=group.start.max(axis=1, keepdims=True) - group.start) if shared else group


#: Minimum distance, as a share of a step: if ranks number their steps differently, these are at least one step apart;
#: hosts with the same name but separate clocks mostly differ by less.
_APART = 0.5


def of_the_same_steps(matching: Matching, hosts: Sequence[str | None], step_ns: float) -> Matching:
    """Returns the matching without groups whose ranks number their steps differently. Their collectives count as
    `shifted`. hosts: of the job's ranks, None where not known; step_ns: the median step. Collectives that are matched
    by number are kept."""
    same_steps = [each for each in matching.matched if each.by_number or not _is_shifted(each, hosts, step_ns)]
    shifted = sum(len(each.step) for each in matching.matched) - sum(len(each.step) for each in same_steps)
    return replace(matching, matched=same_steps, shifted=shifted)


def _is_shifted(group: MatchedGroup, hosts: Sequence[str | None], step_ns: float) -> bool:
    """Returns whether most collectives end on one rank of a host long before they begin on another rank of it."""
    own, meeting = [hosts[place] for place in group.members.tolist()], meetings(group)
    start = group.start[meeting]
    end = start + group.length[meeting]
    for host in dict.fromkeys(own):
        on_host = np.array([host is not None and one == host for one in own])
        if on_host.sum() > 1 and len(start):
            apart = start[:, on_host].max(axis=1) - end[:, on_host].min(axis=1)
            if np.median(apart) > _APART * step_ns:
                return True
    return False


@dataclass(frozen=True, eq=False)
class StepWaits:
    """The waits of each rank in each step, and the waits that it caused: (ranks, steps), ns; NaN in steps whose
    collectives are not matched."""

    waits: Float64
    caused: Float64

    def caused_ns(self) -> list[int]:
        """Returns the waits that each rank causes, mean of the matched steps, or 0 where there are none."""
        known_steps = self.caused[:, ~np.isnan(self.caused).all(axis=0)]
        means = known_steps.mean(axis=1) if known_steps.shape[1] else np.zeros(len(self.caused))
        return [round(value) for value in means.tolist()]


def step_waits(totals: Arrivals, steps: Int64) -> StepWaits:
    """Returns the waits in the matched steps. steps: their places."""
    others = max(1, int((totals.matched > 0).sum()) - 1)
    return StepWaits(_by_rank(totals.waited_ns, steps), _by_rank(totals.exposed_ns / others, steps))


def _by_rank(values: Int64 | Float64, steps: Int64) -> Float64:
    """Transposes (steps, ranks) to (ranks, steps), with NaN for the other steps."""
    result = np.full(values.T.shape, np.nan)
    result[:, steps] = values.T[:, steps]
    return result
