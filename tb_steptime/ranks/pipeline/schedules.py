"""Recognises the schedule that ranks follow by the order of their passes, and constructs the order that it
prescribes.

GPipe         F F F F B B B B            all forward passes, then all backward
1F1B          F F F B F B B B            as many forward passes ahead as there are stages behind, then in turns
interleaved   F0 F0 F2 F2 B2 F0 ...      the same with several stages on each rank, in turns of as many micro-batches
breadth first F0 F0 F2 F2 B2 B2 B0 B0    the same as GPipe with several stages on each rank
zero bubble   F F I F I W W ...          gradients of inputs before those of weights, which fill what would be idle
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tb_steptime.ranks.pipeline.program import BACKWARD, FORWARD, INPUTS, WEIGHTS, Orders, Pass
from tb_steptime.ranks.pipeline.result import ScheduleId

#: Minimum share of the ranks that have to follow a schedule for it to be theirs.
_MOST_FOLLOW = 0.5


class Followed(NamedTuple):
    """The schedule that the ranks of a pipeline follow.

    id       None if no known schedule matches
    orders   the orders that the schedule prescribes for each rank; if none matches, those of 1F1B with one stage per
             rank, else the recorded ones
    odd      places of ranks that run in another order
    """

    id: ScheduleId | None
    orders: Orders
    odd: list[int]


def followed(orders: Orders) -> Followed:
    """The schedule that these orders follow. orders: the recorded ones of the ranks, sorted by their first stage."""
    if any(one.kind in (INPUTS, WEIGHTS) for order in orders for one in order):
        return Followed("zero_bubble", orders, [])
    several = max(len({one.stage for one in order}) for order in orders) > 1
    all_forward_first = all(_all_forward_first(order) for order in orders)
    if all_forward_first:
        return Followed("breadth_first" if several else "gpipe", orders, [])
    if several:
        return _compared("interleaved", orders, interleaved(orders), orders)
    wanted = [one_forward_one_backward(order, len(orders) - place) for place, order in enumerate(orders)]
    return _compared("1f1b", orders, wanted, wanted)


def _compared(id: ScheduleId, orders: Orders, wanted: Orders | None, otherwise: Orders) -> Followed:
    if wanted is None:
        return Followed(None, otherwise, [])
    odd = [place for place, order in enumerate(orders) if list(order) != list(wanted[place])]
    if len(orders) - len(odd) >= _MOST_FOLLOW * len(orders):
        return Followed(id, wanted, odd)
    return Followed(None, otherwise, [])


def _all_forward_first(order: Sequence[Pass]) -> bool:
    kinds = [one.kind for one in order]
    return kinds == sorted(kinds)


def one_forward_one_backward(order: Sequence[Pass], ahead: int) -> list[Pass]:
    """Returns the same passes in the order of 1F1B: `ahead` forward passes, then a backward pass and a forward pass in
    turns."""
    forward, backward = ([one for one in order if one.kind == kind] for kind in (FORWARD, BACKWARD))
    turns = [one for two in zip(backward, forward[ahead:], strict=False) for one in two]
    return [*forward[:ahead], *turns, *backward[len(forward[ahead:]) :]]


def interleaved(orders: Orders) -> Orders | None:
    """Returns the order in which PyTorch and Megatron run these passes; None where ranks have different numbers of
    stages, or stages are not assigned to the ranks in turn."""
    stages = [sorted({one.stage for one in order}) for order in orders]
    ranks, chunks = len(orders), len(stages[0])
    if any(own != list(range(rank, ranks * chunks, ranks)) for rank, own in enumerate(stages)):
        return None
    batches = 1 + max(one.micro_batch for order in orders for one in order)
    at_once = batches // max(1, batches // ranks)
    found = [_interleaved(rank, ranks, own, batches, at_once) for rank, own in enumerate(stages)]
    return found if all(set(own) == set(order) for own, order in zip(found, orders, strict=True)) else None


def _interleaved(rank: int, ranks: int, stages: Sequence[int], batches: int, at_once: int) -> list[Pass]:
    """The order that the interleaved schedule prescribes for a rank. at_once: number of micro-batches that one stage
    computes before the next one's turn."""
    total = batches * len(stages)
    ahead = min(total, (len(stages) - 1) * at_once + 2 * (ranks - 1 - rank))
    turns = [number // at_once % len(stages) for number in range(total)]
    forward = _in_turns(FORWARD, [stages[turn] for turn in turns])
    backward = _in_turns(BACKWARD, [stages[-1 - turn] for turn in turns])
    steady = [one for two in zip(forward[ahead:], backward, strict=False) for one in two]
    return [*forward[:ahead], *steady, *backward[total - ahead :]]


def _in_turns(kind: int, stages: Sequence[int]) -> list[Pass]:
    """Numbers the passes: the n-th of a stage is of micro-batch n."""
    met: dict[int, int] = defaultdict(int)
    found = []
    for stage in stages:
        found.append(Pass(kind, stage, met[stage]))
        met[stage] += 1
    return found
