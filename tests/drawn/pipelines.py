"""Pipelines drawn by the order of each rank's passes and how long these take: what their recordings would hold.

Times are found by going over all passes until none begins later any more, which is another way than the replay's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup, Exchanges
from tb_steptime.metrics.communication.packed import packed
from tb_steptime.metrics.communication.passes import Passes
from tb_steptime.ranks.spans import RankSpan

MS = 1_000_000
#: A pass: its kind as in PyTorch's labels, stage, micro-batch.
Drawn = tuple[str, int, int]


def one_stage_each(*orders: str) -> list[list[Drawn]]:
    """The passes of each rank: one_stage_each("F0 F1 B0 B1", "F0 B0 F1 B1")."""
    return [[(word[0], stage, int(word[1:])) for word in order.split()] for stage, order in enumerate(orders)]


def gpipe(stages: int, batches: int) -> list[list[Drawn]]:
    return [[(kind, stage, batch) for kind in "FB" for batch in range(batches)] for stage in range(stages)]


def in_turns(stages: int, batches: int) -> list[list[Drawn]]:
    """1F1B: a rank never has more micro-batches in flight than there are stages from its own on."""
    orders = []
    for stage in range(stages):
        order: list[Drawn] = []
        forward = backward = 0
        while backward < batches:
            if forward < batches and forward - backward < stages - stage:
                order.append(("F", stage, forward))
                forward += 1
            else:
                order.append(("B", stage, backward))
                backward += 1
        orders.append(order)
    return orders


@dataclass(frozen=True)
class DrawnPipeline:
    """orders: of each rank; forward, backward: of each stage, ns. transfer: of each message, ns; late: what a stage
    does before each pass though all is there; clocks: added to the times of each rank; beside: after the last pass of a
    step, on all ranks. apart: each rank begins its next step when its last pass ends, and waits in it. labelled: passes
    are named as PyTorch does; peers: messages say to whom they go. ranks: their numbers in the job, in the order of
    orders; () for 0, 1, 2, .."""

    orders: Sequence[Sequence[Drawn]]
    forward: Sequence[int]
    backward: Sequence[int]
    transfer: int = 0
    late: int = 0
    clocks: Sequence[int] = ()
    beside: int = 0
    apart: bool = False
    labelled: bool = False
    peers: bool = True
    steps: int = 3
    ranks: Sequence[int] = field(default=())

    def length(self, one: Drawn) -> int:
        kind, stage, _ = one
        whole = self.forward[stage] if kind == "F" else self.backward[stage]
        return whole // 2 if kind in "IW" else whole

    def before(self, one: Drawn) -> list[Drawn]:
        """The pass whose result it needs."""
        kind, stage, batch = one
        last = len(self.forward) - 1
        if kind == "F":
            return [("F", stage - 1, batch)] if stage else []
        if kind == "W":
            return [("I", stage, batch)]
        return [(kind, stage + 1, batch)] if stage < last else [("F", last, batch)]

    def times(self) -> dict[Drawn, tuple[int, int]]:
        """For each pass when its rank starts with it, and its end; counted from 0."""
        rank_of = {one: rank for rank, order in enumerate(self.orders) for one in order}
        end = dict.fromkeys(rank_of, 0)
        ready = dict.fromkeys(rank_of, 0)
        changed = True
        while changed:
            changed = False
            for rank, order in enumerate(self.orders):
                now = 0
                for one in order:
                    there = [end[need] + self.transfer * (rank_of[need] != rank) for need in self.before(one)]
                    begin = max(now, *there, 0)
                    now = begin + self.late + self.length(one)
                    changed |= end[one] != now
                    ready[one], end[one] = begin, now
        return {one: (ready[one], end[one]) for one in end}

    @property
    def window(self) -> int:
        """The time until the last pass ends; lateness of the first pass comes before it."""
        return max(end for _, end in self.times().values()) - self.late

    def spans(self) -> list[RankSpan]:
        times = self.times()
        whole = max(end for _, end in times.values()) + self.beside
        return [self._span(rank, times, whole) for rank in range(len(self.orders))]

    def _span(self, rank: int, times: dict[Drawn, tuple[int, int]], whole: int) -> RankSpan:
        number = self.ranks[rank] if self.ranks else rank
        clock = self.clocks[rank] if self.clocks else 0
        passes = [
            (
                "FBIW".index(one[0]),
                one[1],
                one[2],
                step,
                times[one][1] - self.length(one) + step * whole,
                self.length(one),
            )
            for step in range(self.steps)
            for one in self.orders[rank]
        ]
        kind, stage, batch, step, start, length = np.array(passes, np.int64).T
        unknown = np.full(len(kind), -1, np.int64)
        ends = whole * np.arange(1, self.steps + 1) - self._waits_at_end(rank, times, whole)
        step_ns = np.diff(ends, prepend=0)
        names = tuple(str(step) for step in range(self.steps))
        result = RanksResult(
            self._messages(rank, times, whole),
            Passes(packed(step), packed(kind), packed(stage if self.labelled else unknown),
                   packed(batch if self.labelled else unknown), packed(start // 1000), packed(length)),
        )  # fmt: skip
        return RankSpan(
            key=str(number), worker=f"rank{number}", host=None, rank=number, world_size=None, cut_short=False,
            gap=False, origin_ns=10**18 + clock, step_names=names, step_start_ns=np.cumsum(step_ns) - step_ns,
            step_ns=step_ns,
            figures={"step_time": step_ns.astype(np.float64)}, results={"ranks": result},
        )  # fmt: skip

    def _waits_at_end(self, rank: int, times: dict[Drawn, tuple[int, int]], whole: int) -> int:
        """The wait for the other ranks, after its last pass, where that is in the next step."""
        return whole - times[self.orders[rank][-1]][1] if self.apart else 0

    def _messages(self, rank: int, times: dict[Drawn, tuple[int, int]], whole: int) -> Exchanges:
        """A send begins where its pass ends; its receive begins where the receiver has nothing else to do, and ends
        when the message has arrived.
        """
        rank_of = {one: place for place, order in enumerate(self.orders) for one in order}
        earlier = {one: last for order in self.orders for last, one in pairwise(order)}
        waited = self._waits_at_end(rank, times, whole)
        kept = []
        for one in rank_of:
            idle = times[earlier[one]][1] if one in earlier else -waited
            for need in self.before(one):
                if rank_of[need] == rank_of[one] or rank not in (rank_of[need], rank_of[one]):
                    continue
                sends = rank_of[need] == rank
                peer = rank_of[one] if sends else rank_of[need]
                sent = times[need][1]
                begin = sent if sends else idle
                length = self.transfer if sends else max(sent + self.transfer - idle, 0)
                kept.append((begin, length, sends, self.ranks[peer] if self.ranks else peer))
        classes = sorted({(peer, sends) for *_, sends, peer in kept})
        rows = sorted(
            (step, max(begin + step * whole, 0), classes.index((peer, sends)), length + min(begin + step * whole, 0))
            for step in range(self.steps)
            for begin, length, sends, peer in kept
        )
        step, start, number, length = np.array(rows, np.int64).reshape(-1, 4).T
        return Exchanges(
            groups=[ExchangeGroup("0", len(self.orders), "default_pg")],
            classes=[
                ExchangeClass("send_receive", 0, 4096, "Float", "forward.model", peer=peer if self.peers else None,
                              sends=sends)
                for peer, sends in classes
            ],
            of=packed(number),
            step=packed(step),
            start=packed(start // 1000),
            length=packed(length),
            exposed=packed(np.where(np.array([sends for _, sends in classes])[number], 0, -1)),
        )  # fmt: skip
