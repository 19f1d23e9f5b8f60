"""Recordings of a job's ranks -> its pipeline, if it is one.

The idle time of each stage is divided by cause, as differences between replays of the same passes.

recorded                       |----------------------------------|
without messages               |-----------------------------|        what is gone: transfer
in the order of the schedule   |-------------------------|            ordering
stages of one length           |--------------------|                 imbalance
what a stage computes          |---------|                            what is left of it: the schedule
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.ranks.matching import FEWEST_STEPS, Instances, MatchedGroup, steps_within
from tb_steptime.ranks.pipeline.chains import Chain, chains, followed, window
from tb_steptime.ranks.pipeline.program import (
    FORWARD,
    INPUTS,
    WEIGHTS,
    Orders,
    Pass,
    Program,
    RankPasses,
    ReplayedSteps,
    lengths_of,
    rank_passes,
    replay,
)
from tb_steptime.ranks.pipeline.result import (
    CAUSES,
    BubbleCause,
    BubblePiece,
    PassPiece,
    Pipeline,
    PipelineStep,
    StageRow,
)
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason
from tb_steptime.trace.table import Float64, Int64

#: Maximum number of passes over all ranks. If there are more, the first steps are enough, and a job of a thousand ranks
#: takes no longer than a second.
MOST_PASSES = 100_000
#: Maximum number of passes in a picture: with more, each would be less than a third of a pixel.
MOST_SHOWN = 6_000


def pipeline(
    spans: Sequence[RankSpan], ranks: Sequence[Instances], names: Sequence[str], *, missing: bool = False
) -> Pipeline | None:
    """Returns the chain of stages whose step is longest, or None for a job without one. spans: by rank; ranks: the
    exchanges of each; names: of the job's steps; missing: some ranks were not recorded. Raises what reading results
    raises."""
    recorded = rank_passes(spans, ranks, names)
    first = 1 if len(names) >= FEWEST_STEPS else 0
    end = first + _steps_within(recorded, first, len(names))
    passes = [in_range for each in recorded if len((in_range := each.of_steps(range(first, end))).step)]
    if len(passes) < 2:
        return None
    of_job = chains(passes, ranks, [span.rank for span in spans], missing=missing)
    if not of_job:
        return None
    slowest = max(of_job, key=lambda chain: float(np.mean(np.subtract(*window(chain)[::-1]))))
    return _pipeline(slowest, len(of_job), spans, names)


def within_stages(matched: Sequence[MatchedGroup], messages: Sequence[MatchedGroup]) -> list[MatchedGroup]:
    """Returns the groups without those among several stages of a pipeline, such as those for the norm of all gradients.
    Their ranks wait while the pipeline fills and drains, as its schedule prescribes. messages: those between its
    ranks."""
    lines: list[set[int]] = []  # ranks that send to each other, directly or through others
    for each in messages:
        line = set(each.members.tolist())
        line = line.union(*(other for other in lines if other & line))
        lines = [*(other for other in lines if not other & line), line]
    return [group for group in matched if all(len(line.intersection(group.members.tolist())) < 2 for line in lines)]


def _steps_within(passes: Sequence[RankPasses], first: int, steps: int) -> int:
    """Returns how many steps, counted from the first, are analysed."""
    return steps_within([(each.step[each.step >= first] - first).astype(np.int32) for each in passes], steps - first,
                        MOST_PASSES)  # fmt: skip


def _pipeline(chain: Chain, chains: int, spans: Sequence[RankSpan], names: Sequence[str]) -> Pipeline | None:
    schedule = followed(chain.orders)
    idle = bubbles(chain, schedule.orders)
    if idle is None:
        return None
    rows = [_row(chain, idle, rank, spans, names) for rank in range(len(chain.programs))]
    parts = _rounded([float(idle.work.mean()), *(float(idle.costs[cause].mean()) for cause in CAUSES)])
    window_ns, slowest_ns = sum(parts), round(float(idle.work.mean(axis=1).max()))
    step_ns = max(window_ns, *(row.step_ns for row in rows))
    passes = [one for program in chain.programs for one in program.passes]
    return Pipeline(
        schedule=schedule.id,
        reason=None if schedule.id else Reason("pipeline_order_unknown"),
        odd_ranks=[rows[place].rank for place in schedule.odd],
        chains=chains,
        micro_batches=len({one.micro_batch for one in passes}),
        stages=len({one.stage for one in passes}),
        steps=len(chain.steps),
        step_ns=step_ns,
        window_ns=window_ns,
        work_ns=parts[0],
        other_ns=step_ns - window_ns,
        **{f"{cause}_ns": part for cause, part in zip(CAUSES, parts[1:], strict=True)},
        perfect_ns=min(step_ns, step_ns - window_ns + slowest_ns),
        rows=rows,
        shown=_shown(chain, idle, spans, names) if len(passes) <= MOST_SHOWN else None,
    )


def _rounded(parts: Sequence[float]) -> list[int]:
    """Rounds the parts so that they sum to their rounded sum."""
    return np.diff(np.rint(np.cumsum(parts)).astype(np.int64), prepend=0).tolist()


def _row(chain: Chain, idle: Bubbles, rank: int, spans: Sequence[RankSpan], names: Sequence[str]) -> StageRow:
    """Returns the row of a rank. Each part takes at most what the step has left, and the rest is other time: the
    recorded step may end while its last messages are in transit."""
    each = chain.programs[rank]
    span, causes = spans[each.place], idle.of_rank(rank)
    step_ns = round(float(_step_ns(span, [names[step] for step in chain.steps]).mean()))
    left, parts = step_ns, []
    for part in (*pass_times(each), *(round(float(causes[cause].mean())) for cause in CAUSES)):
        parts.append(min(left, part))
        left -= parts[-1]
    return StageRow(span.rank, each.stages, step_ns, parts[0], parts[1], left, *parts[2:])


def _step_ns(span: RankSpan, names: Sequence[str]) -> Int64:
    return span.step_ns[[span.step_names.index(name) for name in names]]


def _shown(chain: Chain, idle: Bubbles, spans: Sequence[RankSpan], names: Sequence[str]) -> PipelineStep:
    """Returns the step whose window is closest to the median."""
    step = int(np.argmin(np.abs(idle.length - np.median(idle.length))))
    begin = int(window(chain)[0][step])
    passes = [
        PassPiece(row, *one, int(each.start[step, place]) - begin, int(each.end[step, place]) - begin)
        for row, each in enumerate(chain.programs)
        for place, one in enumerate(each.passes)
    ]
    return PipelineStep(
        name=names[chain.steps[step]],
        length_ns=round(float(idle.length[step])),
        shift_ns=[
            begin - offset - spans[each.place].origin_ns
            for each, offset in zip(chain.programs, chain.offsets, strict=True)
        ],
        passes=passes,
        bubbles=bubble_pieces(chain, idle, step),
    )


@dataclass(frozen=True, eq=False)
class Bubbles:
    """The steps of a pipeline and their idle time, in ns; (steps,) or (ranks, steps).

    length    from the first begin of a pass to the last end
    work      computing time of each rank, with its own time between passes
    costs     idle time of the job by cause; mean work + costs = length
    replays   replays of the passes: without messages, in the prescribed order, and with balanced ranks
    """

    length: Float64
    work: Float64
    costs: dict[BubbleCause, Float64]
    replays: Sequence[ReplayedSteps]

    def of_rank(self, rank: int) -> dict[BubbleCause, Float64]:
        """Returns a rank's idle time by cause. With its work these sum to the length."""
        ordering, transfer = self.costs["ordering"], self.costs["transfer"]
        idle = np.maximum(0, self.length - ordering - transfer - self.work[rank])
        schedule = np.minimum(idle, self.costs["schedule"])
        return {"schedule": schedule, "imbalance": idle - schedule, "ordering": ordering, "transfer": transfer}


def bubbles(chain: Chain, expected: Orders) -> Bubbles | None:
    """Returns the idle time of a chain's ranks by cause, or None if the recorded order could not run. expected: the
    order that the schedule prescribes."""
    programs, lengths = chain.programs, lengths_of(chain.programs)
    arriving = replay(chain.orders, lengths)
    if arriving is None:
        return None
    begin, end = window(chain)
    work = np.array([sum(lengths[one] for one in program.passes) for program in programs], np.float64)
    in_order = replay(expected, lengths) or arriving
    balanced = replay(expected, _balanced(programs, lengths, work)) or in_order
    length = (end - begin).astype(np.float64)
    without = np.minimum(length, arriving.length)
    ordered = np.minimum(without, in_order.length)
    even = np.clip(balanced.length, work.mean(axis=0), ordered)
    costs: dict[BubbleCause, Float64] = {
        "schedule": even - work.mean(axis=0),
        "imbalance": ordered - even,
        "ordering": without - ordered,
        "transfer": length - without,
    }
    return Bubbles(length, work, costs, (arriving, in_order, balanced))


def _balanced(programs: Sequence[Program], lengths: dict[Pass, Int64], work: Float64) -> dict[Pass, Float64]:
    """Returns the lengths if each pass takes as long as the mean of its kind. Where backward passes are split, which
    may differ between stages, passes are scaled so that each rank has the mean work."""
    kinds = {one.kind for one in lengths}
    if kinds & {INPUTS, WEIGHTS}:
        share = work.mean(axis=0) / np.maximum(1, work)
        return {one: lengths[one] * share[rank] for rank, each in enumerate(programs) for one in each.passes}
    means = {kind: np.mean([length for one, length in lengths.items() if one.kind == kind], axis=0) for kind in kinds}
    return {one: means[one.kind] for one in lengths}


def pass_times(each: Program) -> tuple[int, int]:
    """Returns the mean forward and backward times of a step in ns."""
    forward = np.array([one.kind == FORWARD for one in each.passes])
    length = each.end - each.start
    return round(float(length[:, forward].sum(axis=1).mean())), round(float(length[:, ~forward].sum(axis=1).mean()))


def bubble_pieces(chain: Chain, idle: Bubbles, step: int) -> list[BubblePiece]:
    """Returns the bubbles in one of the chain's steps, in times relative to the start of its first pass."""
    begin, end = (int(edge[step]) for edge in window(chain))
    pieces = []
    for row, each in enumerate(chain.programs):
        gap_begin = np.append(begin, each.end[step])
        gap_end = np.append(each.ready[step], end)
        room = np.maximum(0, gap_end - gap_begin)
        costs = {cause: float(values[step]) for cause, values in idle.of_rank(row).items()}
        shares = _fill_gaps(room.astype(np.float64), costs, _hints(idle, row, step))
        pieces += _pieces(row, gap_begin - begin, room, shares)
    return pieces


def _hints(rank_idle: Bubbles, row: int, step: int) -> dict[BubbleCause, Float64]:
    """Returns where the replays are idle for each cause: before each pass, and after the last one."""
    idle = []
    for each in rank_idle.replays:
        before = each.idle[row][step]
        used = before.sum() + rank_idle.work[row, step]
        idle.append(np.append(before, max(0.0, float(each.length[step] - used))))
    arriving, in_order, balanced = idle
    return {
        "schedule": balanced,
        "imbalance": np.maximum(0, in_order - balanced),
        "ordering": np.maximum(0, arriving - in_order),
        "transfer": np.zeros_like(arriving),
    }


def _fill_gaps(
    room: Float64, costs: dict[BubbleCause, float], hints: dict[BubbleCause, Float64]
) -> dict[BubbleCause, Float64]:
    """Returns how much of each gap every cause fills. A cause fills gaps first where its replay is idle, then wherever
    there is room."""
    left, shares = room.copy(), {}
    for cause in CAUSES:
        first = np.minimum(left, hints[cause])
        first *= min(1.0, costs[cause] / max(1.0, float(first.sum())))
        rest = left - first
        more = min(costs[cause] - first.sum(), rest.sum())
        shares[cause] = first + rest * max(0.0, more) / max(1.0, float(rest.sum()))
        left = np.maximum(0, left - shares[cause])
    return shares


def _pieces(row: int, begin: Int64, room: Int64, shares: dict[BubbleCause, Float64]) -> list[BubblePiece]:
    """Cuts each gap at whole ns. The causes follow each other in the order of CAUSES, and fill the gap completely."""
    edges = np.cumsum([np.zeros(len(room)), *(shares[cause] for cause in CAUSES)], axis=0)
    cuts = np.minimum(np.rint(edges).astype(np.int64), room)
    cuts[-1] = room
    return [
        BubblePiece(row, cause, int(begin[gap] + cuts[place, gap]), int(begin[gap] + cuts[place + 1, gap]))
        for gap in range(len(room))
        for place, cause in enumerate(CAUSES)
        if cuts[place + 1, gap] > cuts[place, gap]
    ]
