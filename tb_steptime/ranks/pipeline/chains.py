"""Finds the ranks that are the stages of one pipeline, their order, and how far their clocks are apart, from the rule
that each pass follows the passes that it needs.

rank 2  |F0|     |B0|          F0 ends before F0 of rank 5 begins: rank 5's clock is at most 3 behind
rank 5      |F0B0|             B0 of rank 5 ends before B0 of rank 2 begins: and at most 2 ahead

The order of their passes shows which schedule the ranks follow, and each prescribes an order.

GPipe         F F F F B B B B            all forward passes, then all backward
1F1B          F F F B F B B B            as many forward passes ahead as there are stages behind, then in turns
interleaved   F0 F0 F2 F2 B2 F0 ...      the same with several stages on each rank, in turns of as many micro-batches
breadth first F0 F0 F2 F2 B2 B2 B0 B0    the same as GPipe with several stages on each rank
zero bubble   F F I F I W W ...          gradients of inputs before those of weights, which fill what would be idle
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tb_steptime.ranks.matching import Instances
from tb_steptime.ranks.pipeline.program import (
    BACKWARD,
    FORWARD,
    INPUTS,
    WEIGHTS,
    Orders,
    Pass,
    Program,
    RankPasses,
    looped,
    needs,
    numbered,
    programs,
)
from tb_steptime.ranks.pipeline.result import ScheduleId
from tb_steptime.trace.table import Int64

#: Tolerance for the order of events: start times are in microseconds, and events of two threads of a host may seem to
#: overlap by some of them.
_TOLERANCE_NS = 50_000
#: Maximum number of stages that a rank is assumed to compute where no labels name them.
_MOST_CHUNKS = 8


@dataclass(frozen=True, eq=False)
class Chain:
    """Ranks that form one pipeline.

    programs   of the ranks, by stage; times are on the clock of the first rank
    steps      places among the job's steps
    offsets    what converts the times of each rank to those of the first, ns
    """

    programs: list[Program]
    steps: list[int]
    offsets: list[int]

    @property
    def orders(self) -> Orders:
        return [program.passes for program in self.programs]


def chains(
    passes: Sequence[RankPasses], ranks: Sequence[Instances], numbers: Sequence[int], *, missing: bool = False
) -> list[Chain]:
    """Returns the pipelines of a job of which all stages were recorded. passes: the ranks that have passes; ranks:
    messages of all ranks of the job; numbers: the numbers of all ranks. missing: some ranks of the job were not
    recorded."""
    by_place = {member.place: member for member in passes}
    partly = {member.place for member in passes if _peers(ranks[member.place]) - {*numbers}}
    if all((member.stage >= 0).all() for member in passes):
        labelled = [
            members for members in _groups_by_labels(passes) if partly.isdisjoint(member.place for member in members)
        ]
        candidates = (_chain([numbered(member, {}) for member in members]) for members in labelled)
    elif missing and not any(_peers(rank) for rank in ranks):
        return []
    else:
        lines = [line for line in _groups_by_messages(by_place, ranks, numbers) if partly.isdisjoint(line)]
        candidates = (_chain_of_members(line, by_place) for line in lines)
    return [chain for chain in candidates if chain is not None]


def _peers(rank: Instances) -> set[int]:
    """Returns the numbers of the ranks that it sends to or receives from."""
    return {one.peer for one in rank.classes if one.peer is not None}


def _groups_by_labels(passes: Sequence[RankPasses]) -> Iterator[list[RankPasses]]:
    """Yields the ranks of each chain, by their stages. Where several ranks compute the same stages, the n-th of each
    belongs to chain n."""
    by_stages: dict[tuple[int, ...], list[RankPasses]] = defaultdict(list)
    for member in passes:
        by_stages[tuple(sorted(set(member.stage.tolist())))].append(member)
    stages = sorted(stage for of_stage in by_stages for stage in of_stage)
    if len({len(same) for same in by_stages.values()}) == 1 and len(by_stages) > 1 and stages == [*range(len(stages))]:
        yield from (list(chain) for chain in zip(*(by_stages[stages] for stages in sorted(by_stages)), strict=True))


def _groups_by_messages(
    passes: Mapping[int, RankPasses], ranks: Sequence[Instances], numbers: Sequence[int]
) -> Iterator[list[int]]:
    """Yields the places of ranks that send to each other in a line or a ring. If ranks do not record their peers, all
    ranks are yielded in order."""
    place = {number: at for at, number in enumerate(numbers)}
    peers = {at: {place[peer] for peer in _peers(ranks[at]) if peer in place} - {at} for at in passes}
    if not any(peers.values()):
        yield sorted(passes)
        return
    left = set(peers)
    while left:
        members = _joined(min(left), peers)
        left -= members
        ends = sorted(at for at in members if len(peers[at]) == 1)
        if members <= set(passes) and all(1 <= len(peers[at]) <= 2 for at in members) and len(ends) in (0, 2):
            yield _in_line(ends[0] if ends else min(members), peers)


def _joined(first: int, peers: Mapping[int, set[int]]) -> set[int]:
    members, waiting = {first}, [first]
    while waiting:
        new = peers.get(waiting.pop(), set()) - members
        members |= new
        waiting += new
    return members


def _in_line(first: int, peers: Mapping[int, set[int]]) -> list[int]:
    line = [first]
    while following := sorted(peers[line[-1]] - set(line)):
        line.append(following[0])
    return line


def _chain_of_members(members: Sequence[int], passes: Mapping[int, RankPasses]) -> Chain | None:
    """Considers the assignments of stages, one or several per rank, in which all passes are in order, and returns the
    first that follows a known schedule, or else the first."""
    candidates = [chain for numbered_so in _numberings(members, passes) if (chain := _chain(numbered_so)) is not None]
    return next((chain for chain in candidates if followed(chain.orders).id is not None), next(iter(candidates), None))


def _numberings(members: Sequence[int], passes: Mapping[int, RankPasses]) -> Iterator[list[RankPasses]]:
    for line in (members, members[::-1]):
        stage_of = {place: stage for stage, place in enumerate(line)}
        yield [numbered(passes[place], stage_of) for place in line]
    for chunks in range(2, _MOST_CHUNKS + 1):
        several = [looped(passes[place], rank, len(members), chunks) for rank, place in enumerate(members)]
        even = [step_and_program for step_and_program in several if step_and_program is not None]
        if len(even) == len(members):
            yield even


def _chain(members: Sequence[RankPasses]) -> Chain | None:
    """Returns the chain of these ranks. Returns None for fewer than two ranks, and where passes of a stage are missing
    or begin before what they need."""
    steps_and_programs = programs(members) if len(members) > 1 else None
    if steps_and_programs is None or not _is_whole(
        [one for program in steps_and_programs[1] for one in program.passes]
    ):
        return None
    steps, of_ranks = steps_and_programs
    offsets = _offsets(of_ranks)
    if offsets is None:
        return None
    return Chain([program.moved(ns) for program, ns in zip(of_ranks, offsets, strict=True)], steps, offsets)


def _is_whole(passes: Sequence[Pass]) -> bool:
    """Returns whether every stage computes every micro-batch both forward and backward. Backward passes may be
    split."""
    stages, batches = ({one[field] for one in passes} for field in (1, 2))
    grid = {(stage, batch) for stage in stages for batch in batches}
    forward = {(one.stage, one.micro_batch) for one in passes if one.kind == FORWARD}
    backward = {(one.stage, one.micro_batch) for one in passes if one.kind != FORWARD}
    return len(stages) > 1 and forward == grid and backward == grid


def _offsets(rank_programs: Sequence[Program]) -> list[int] | None:
    """Returns the offsets of the ranks' clocks with which each pass begins after the one that it needs on another rank,
    in both directions. An offset is 0 where the clocks agree already. Returns None where no offsets put the passes in
    order."""
    slack = _slack(rank_programs)
    if any(slack.get((a, b), 0) + slack.get((b, a), 0) < -_TOLERANCE_NS for a, b in slack):
        return None
    offsets = [0]
    for rank in range(1, len(rank_programs)):
        to, back = slack.get((rank - 1, rank)), slack.get((rank, rank - 1))
        if to is None or back is None:
            return None
        agree = min(to, back) >= -_TOLERANCE_NS
        offsets.append(offsets[-1] + (0 if agree else (back - to) // 2))
    return offsets


def _slack(rank_programs: Sequence[Program]) -> dict[tuple[int, int], int]:
    """Returns for two ranks the least time in ns from the end of a pass on the first to the start of one on the second
    that needs it, each on its own clock."""
    where = {
        one: (rank, column) for rank, program in enumerate(rank_programs) for column, one in enumerate(program.passes)
    }
    last = max(one.stage for one in where)
    slack: dict[tuple[int, int], int] = {}
    for one, (rank, column) in where.items():
        needed = needs(one, where, last)
        if needed is not None and where[needed][0] != rank:
            other, source = where[needed]
            least = int(np.min(rank_programs[rank].start[:, column] - rank_programs[other].end[:, source]))
            slack[other, rank] = min(slack.get((other, rank), least), least)
    return slack


def window(chain: Chain) -> tuple[Int64, Int64]:
    """Returns for each step the first begin of a pass and the last end of one."""
    return (
        np.min([program.start.min(axis=1) for program in chain.programs], axis=0),
        np.max([program.end.max(axis=1) for program in chain.programs], axis=0),
    )


#: Minimum share of the ranks that have to follow a schedule for it to be theirs.
_MOST_FOLLOW = 0.5


class FollowedSchedule(NamedTuple):
    """The schedule that the ranks of a pipeline follow.

    id       None if no known schedule matches
    orders   the orders that the schedule prescribes for each rank; if none matches, those of 1F1B with one stage per
             rank, else the recorded ones
    odd      places of ranks that run in another order
    """

    id: ScheduleId | None
    orders: Orders
    odd: list[int]


def followed(orders: Orders) -> FollowedSchedule:
    """Returns the schedule that these orders follow. orders: the recorded ones of the ranks, sorted by their first
    stage."""
    if any(one.kind in (INPUTS, WEIGHTS) for order in orders for one in order):
        return FollowedSchedule("zero_bubble", orders, [])
    several = max(len({one.stage for one in order}) for order in orders) > 1
    all_forward_first = all(_all_forward_first(order) for order in orders)
    if all_forward_first:
        return FollowedSchedule("breadth_first" if several else "gpipe", orders, [])
    if several:
        return _compared("interleaved", orders, interleaved(orders), orders)
    expected = [one_forward_one_backward(order, len(orders) - place) for place, order in enumerate(orders)]
    return _compared("1f1b", orders, expected, expected)


def _compared(id: ScheduleId, orders: Orders, expected: Orders | None, otherwise: Orders) -> FollowedSchedule:
    if expected is None:
        return FollowedSchedule(None, otherwise, [])
    different = [place for place, order in enumerate(orders) if list(order) != list(expected[place])]
    if len(orders) - len(different) >= _MOST_FOLLOW * len(orders):
        return FollowedSchedule(id, expected, different)
    return FollowedSchedule(None, otherwise, [])


def _all_forward_first(order: Sequence[Pass]) -> bool:
    kinds = [one.kind for one in order]
    return kinds == sorted(kinds)


def one_forward_one_backward(order: Sequence[Pass], ahead: int) -> list[Pass]:
    """Returns the same passes in the order of 1F1B: `ahead` forward passes, then a backward and a forward pass
    alternately."""
    forward, backward = ([one for one in order if one.kind == kind] for kind in (FORWARD, BACKWARD))
    turns = [one for two in zip(backward, forward[ahead:], strict=False) for one in two]
    return [*forward[:ahead], *turns, *backward[len(forward[ahead:]) :]]


def interleaved(orders: Orders) -> Orders | None:
    """Returns the orders in which PyTorch and Megatron run these passes, or None where ranks have different numbers of
    stages, or stages are not assigned to the ranks in turn."""
    stages = [sorted({one.stage for one in order}) for order in orders]
    ranks, chunks = len(orders), len(stages[0])
    if any(rank_stages != list(range(rank, ranks * chunks, ranks)) for rank, rank_stages in enumerate(stages)):
        return None
    batches = 1 + max(one.micro_batch for order in orders for one in order)
    at_once = batches // max(1, batches // ranks)
    orders_of_ranks = [
        _interleaved(rank, ranks, rank_stages, batches, at_once) for rank, rank_stages in enumerate(stages)
    ]
    return (
        orders_of_ranks
        if all(set(rank_order) == set(order) for rank_order, order in zip(orders_of_ranks, orders, strict=True))
        else None
    )


def _interleaved(rank: int, ranks: int, stages: Sequence[int], batches: int, at_once: int) -> list[Pass]:
    """Returns the order that the interleaved schedule prescribes for a rank. at_once: number of micro-batches that one
    stage computes before the next one's turn."""
    total = batches * len(stages)
    ahead = min(total, (len(stages) - 1) * at_once + 2 * (ranks - 1 - rank))
    turns = [number // at_once % len(stages) for number in range(total)]
    forward = _in_turns(FORWARD, [stages[turn] for turn in turns])
    backward = _in_turns(BACKWARD, [stages[-1 - turn] for turn in turns])
    steady = [one for two in zip(forward[ahead:], backward, strict=False) for one in two]
    return [*forward[:ahead], *steady, *backward[total - ahead :]]


def _in_turns(kind: int, stages: Sequence[int]) -> list[Pass]:
    """Numbers the passes: the n-th of a stage is of micro-batch n."""
    counts: dict[int, int] = defaultdict(int)
    passes = []
    for stage in stages:
        passes.append(Pass(kind, stage, counts[stage]))
        counts[stage] += 1
    return passes
