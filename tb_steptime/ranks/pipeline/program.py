"""The passes that each rank of a chain computes in a step, in order, with their stage and micro-batch.

rank 0   F0.0 F0.1 B0.0 B0.1        kind, stage and micro-batch identify a pass of the job
rank 1   F1.0 B1.0 F1.1 B1.1

A replay begins each pass when the pass before it on its rank has ended and its inputs are there. The lengths are
(steps,) arrays, so one run through the passes replays all steps together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.communication.exchanges import START_UNIT_NS
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.metrics.communication.passes import PASS_KINDS
from tb_steptime.ranks.matching import Instances
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.intervals import BEFORE_ALL
from tb_steptime.trace.table import Bool, Float64, Int64, distinct

FORWARD, BACKWARD, INPUTS, WEIGHTS = range(len(PASS_KINDS))


class Pass(NamedTuple):
    kind: int
    stage: int
    micro_batch: int


@dataclass(frozen=True, eq=False)
class RankPasses:
    """The passes of one rank, in the order of steps and of start; (n,). place: the rank's place among the job's; step:
    place among the job's steps; start, end: epoch times, ns; ready: end of the pass before it, or of the last message
    since then."""

    place: int
    step: Int64
    kind: Int64
    stage: Int64
    micro_batch: Int64
    start: Int64
    end: Int64
    ready: Int64

    def of_steps(self, steps: Sequence[int]) -> RankPasses:
        return self._at(np.flatnonzero(np.isin(self.step, steps)))

    def _at(self, rows: Int64) -> RankPasses:
        columns = ("step", "kind", "stage", "micro_batch", "start", "end", "ready")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


@dataclass(frozen=True, eq=False)
class Program:
    """The passes of one rank in order, the same in each step; start, end, ready: (steps, passes) epoch times."""

    place: int
    passes: Sequence[Pass]
    start: Int64
    end: Int64
    ready: Int64

    @property
    def stages(self) -> list[int]:
        return sorted({one.stage for one in self.passes})

    def moved(self, ns: int) -> Program:
        return replace(self, start=self.start + ns, end=self.end + ns, ready=self.ready + ns)


def rank_passes(spans: Sequence[RankSpan], ranks: Sequence[Instances], names: Sequence[str]) -> list[RankPasses]:
    """Returns the passes of the ranks that have any, in the job's steps (names). Raises what reading results raises."""
    all_passes = [
        _rank_passes(place, span, each, names) for place, (span, each) in enumerate(zip(spans, ranks, strict=True))
    ]
    return [rank_passes for rank_passes in all_passes if len(rank_passes.step)]


def _rank_passes(place: int, span: RankSpan, each: Instances, names: Sequence[str]) -> RankPasses:
    passes = span.ranks_result.passes
    number = {name: number for number, name in enumerate(names)}
    step = np.array([number[name] for name in span.step_names], np.int64)[unpacked(passes.step)]
    start = unpacked(passes.start) * START_UNIT_NS + span.origin_ns
    end = start + unpacked(passes.length)
    kind, stage, micro_batch = (unpacked(column) for column in (passes.kind, passes.stage, passes.micro_batch))
    return RankPasses(place, step, kind, stage, micro_batch, start, end, _ready(each, step, start, end))


def _ready(each: Instances, step: Int64, start: Int64, end: Int64) -> Int64:
    """Returns the time from which nothing kept each pass from beginning: the end of the pass before it, or of the last
    message that ended before it began, whichever is later. Time before the first pass of a step, if it follows the last
    message, belongs to no pass."""
    messages = each.are_messages
    ended = np.append(BEFORE_ALL, np.sort((each.start + each.length)[messages]))
    message = ended[np.searchsorted(ended, start, side="right") - 1]
    before = np.append(start[:1], end[:-1])
    first = np.append(True, np.diff(step) != 0)[: len(step)]
    return np.where(first & (message <= before), start, np.minimum(start, np.maximum(before, message)))


def programs(chain: Sequence[RankPasses]) -> tuple[list[int], list[Program]] | None:
    """Returns the steps, ascending, in which all ranks compute the same passes as in most steps, and these passes, or
    None where there are no such steps. The passes of these ranks have stage and micro-batch."""
    orders = [_orders(rank_passes) for rank_passes in chain]
    steps = set.intersection(*(set(order) for order in orders))
    if not steps:
        return None
    usual, _ = Counter(tuple(order[step] for order in orders) for step in steps).most_common(1)[0]
    usual_steps = sorted(step for step in steps if tuple(order[step] for order in orders) == usual)
    if any(len(set(order)) < len(order) or not order for order in usual):
        return None
    return usual_steps, [
        _program(rank_passes, order, usual_steps) for rank_passes, order in zip(chain, usual, strict=True)
    ]


def _orders(each: RankPasses) -> dict[int, tuple[Pass, ...]]:
    passes = [Pass(*values) for values in np.stack([each.kind, each.stage, each.micro_batch], axis=1).tolist()]
    begins = np.searchsorted(each.step, distinct(each.step)).tolist()
    return {
        int(each.step[first]): tuple(passes[first:end])
        for first, end in zip(begins, [*begins[1:], len(passes)], strict=True)
    }


def _program(each: RankPasses, order: Sequence[Pass], steps: Sequence[int]) -> Program:
    chosen = each.of_steps(steps)
    start, end, ready = (column.reshape(len(steps), len(order)) for column in (chosen.start, chosen.end, chosen.ready))
    return Program(each.place, order, start, end, ready)


def numbered(each: RankPasses, stage_of: Mapping[int, int]) -> RankPasses:
    """Adds missing stages, by the place of the rank, and micro-batches. Where no label names them, or they begin with 0
    again within a step, the n-th pass of its kind and stage in a step is of micro-batch n."""
    stage = np.where(each.stage >= 0, each.stage, stage_of.get(each.place, 0))
    micro_batch = each.micro_batch
    if (micro_batch < 0).any() or _places(each.step, each.kind, stage, micro_batch).any():
        micro_batch = _places(each.step, each.kind, stage)
    return replace(each, stage=stage, micro_batch=micro_batch)


def looped(each: RankPasses, rank: int, ranks: int, chunks: int) -> RankPasses | None:
    """Adds the stages and micro-batches of a rank that computes several stages alternately, each for as many
    micro-batches as there are ranks. Returns None where the passes do not divide evenly."""
    number = _places(each.step, each.kind, np.zeros(len(each.kind), np.int64))
    turn = number // ranks % chunks
    chunk = np.where(each.kind == FORWARD, turn, chunks - 1 - turn)
    renumbered = replace(
        each, stage=chunk * ranks + rank, micro_batch=number // (ranks * chunks) * ranks + number % ranks
    )
    return renumbered if _is_even(number, ranks * chunks, each.kind == FORWARD) else None


def _is_even(number: Int64, round_of: int, forward: Bool) -> bool:
    return all((number[same_kind].max(initial=-1) + 1) % round_of == 0 for same_kind in (forward, ~forward))


def _places(*keys: Int64) -> Int64:
    """Counts for each row the rows before it with the same keys."""
    order = np.lexsort((np.arange(len(keys[0])), *keys[::-1]))
    changes = np.append(True, np.any([np.diff(key[order]) != 0 for key in keys], axis=0))[: len(order)]
    first = np.maximum.accumulate(np.where(changes, np.arange(len(order)), 0))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - first
    return places


#: The length of each pass, including its rank's own time before it, in ns; (steps,).
Lengths = Mapping[Pass, Int64 | Float64]
#: The passes of each rank in order.
Orders = Sequence[Sequence[Pass]]


class ReplayedSteps(NamedTuple):
    """The replayed steps of a pipeline. length: (steps,), from the start of the first pass to the end of the last;
    idle: for each rank (steps, passes), the idle time before each of its passes, in the given order."""

    length: Float64
    idle: list[Float64]


def lengths_of(programs: Sequence[Program]) -> dict[Pass, Int64]:
    return {
        one: program.end[:, place] - program.ready[:, place]
        for program in programs
        for place, one in enumerate(program.passes)
    }


def needs(one: Pass, known: Mapping[Pass, object] | frozenset[Pass], last: int) -> Pass | None:
    """Returns the pass of another kind or stage whose result this one needs, or None where it is the first of all, or
    that pass is not recorded. last: the last stage."""
    return next((other for other in _needs(one, last) if other in known), None)


def _needs(one: Pass, last: int) -> Iterator[Pass]:
    """Yields the candidates for `needs`, of which the first one that exists counts."""
    kind, stage, batch = one
    if kind == FORWARD:
        yield Pass(FORWARD, stage - 1, batch)
        return
    if kind == WEIGHTS:
        yield Pass(INPUTS, stage, batch)
    yield Pass(BACKWARD, stage + 1, batch)
    yield Pass(INPUTS, stage + 1, batch)
    if stage == last:
        yield Pass(FORWARD, stage, batch)


def replay(orders: Orders, lengths: Lengths) -> ReplayedSteps | None:
    """Replays the passes in these orders. Returns None where passes wait for each other in a cycle, so that the order
    could not run."""
    known = frozenset(one for order in orders for one in order)
    last = max(one.stage for order in orders for one in order)
    ended: dict[Pass, Float64 | Int64] = {}
    now: list[Float64 | Int64 | float] = [0.0] * len(orders)
    idle: list[list[Float64 | Int64]] = [[] for _ in orders]
    at, moved = [0] * len(orders), True
    while moved:
        moved = False
        for rank, order in enumerate(orders):
            while at[rank] < len(order):
                one = order[at[rank]]
                needed = needs(one, known, last)
                if needed is not None and needed not in ended:
                    break
                begin = np.maximum(now[rank], ended[needed] if needed else 0.0)
                idle[rank].append(begin - now[rank])
                now[rank] = ended[one] = begin + lengths[one]
                at[rank] += 1
                moved = True
    if any(place < len(order) for place, order in zip(at, orders, strict=True)):
        return None
    steps = np.zeros_like(next(iter(lengths.values())), dtype=np.float64)
    stacked = [np.stack([steps + each for each in own], axis=1) for own in idle]
    return ReplayedSteps(np.max([steps + each for each in now], axis=0), stacked)
