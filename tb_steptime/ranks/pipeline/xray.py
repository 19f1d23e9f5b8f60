"""Recordings of a job's ranks -> its pipeline, if it is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.instances import FEWEST_STEPS, Instances, steps_within
from tb_steptime.ranks.pipeline.bubbles import Bubbles, bubble_pieces, bubbles, pass_times
from tb_steptime.ranks.pipeline.chains import Chain, chains, window
from tb_steptime.ranks.pipeline.program import RankPasses, rank_passes
from tb_steptime.ranks.pipeline.result import CAUSES, PassPiece, Pipeline, PipelineStep, StageRow
from tb_steptime.ranks.pipeline.schedules import followed
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.text import Reason
from tb_steptime.trace.table import Int64

#: Maximum number of passes over all ranks. If there are more, the first steps are enough, and a job of a thousand ranks
#: takes no longer than a second.
MOST_PASSES = 100_000
#: Maximum number of passes in a picture: with more, each would be less than a third of a pixel.
MOST_SHOWN = 6_000


def pipeline(spans: Sequence[RankSpan], ranks: Sequence[Instances], names: Sequence[str]) -> Pipeline | None:
    """Returns the chain of stages whose step is longest; None for a job without one. spans: by rank; ranks: the
    exchanges of each; names: of the job's steps. Raises what reading results raises."""
    recorded, first = rank_passes(spans, ranks, names), 1 if len(names) >= FEWEST_STEPS else 0
    past = first + _steps_within(recorded, first, len(names))
    found = [kept for each in recorded if len((kept := each.of_steps(range(first, past))).step)]
    if len(found) < 2:
        return None
    of_job = chains(found, ranks, [span.rank for span in spans])
    if not of_job:
        return None
    slowest = max(of_job, key=lambda chain: float(np.mean(np.subtract(*window(chain)[::-1]))))
    return _pipeline(slowest, len(of_job), spans, names)


def _steps_within(found: Sequence[RankPasses], first: int, steps: int) -> int:
    """Returns how many steps, counted from the first, are analysed."""
    return steps_within([(each.step[each.step >= first] - first).astype(np.int32) for each in found], steps - first,
                        MOST_PASSES)  # fmt: skip


def _pipeline(chain: Chain, chains: int, spans: Sequence[RankSpan], names: Sequence[str]) -> Pipeline | None:
    schedule = followed(chain.orders)
    found = bubbles(chain, schedule.orders)
    if found is None:
        return None
    rows = [_row(chain, found, rank, spans, names) for rank in range(len(chain.programs))]
    parts = _rounded([float(found.work.mean()), *(float(found.costs[cause].mean()) for cause in CAUSES)])
    window_ns, slowest_ns = sum(parts), round(float(found.work.mean(axis=1).max()))
    step_ns = max(window_ns, *(row.step_ns for row in rows))
    passes = [one for each in chain.programs for one in each.passes]
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
        shown=_shown(chain, found, spans, names) if len(passes) <= MOST_SHOWN else None,
    )


def _rounded(parts: Sequence[float]) -> list[int]:
    """Rounds the parts so that they sum to their rounded sum."""
    rounded: list[int] = np.diff(np.rint(np.cumsum(parts)).astype(np.int64), prepend=0).tolist()
    return rounded


def _row(chain: Chain, found: Bubbles, rank: int, spans: Sequence[RankSpan], names: Sequence[str]) -> StageRow:
    """Each part takes at most what the step has left, and the rest is other time: the recorded step may end while its
    last messages are under way."""
    each = chain.programs[rank]
    span, causes = spans[each.place], found.of_rank(rank)
    step_ns = round(float(_step_ns(span, [names[step] for step in chain.steps]).mean()))
    left, kept = step_ns, []
    for part in (*pass_times(each), *(round(float(causes[cause].mean())) for cause in CAUSES)):
        kept.append(min(left, part))
        left -= kept[-1]
    return StageRow(span.rank, each.stages, step_ns, kept[0], kept[1], left, *kept[2:])


def _step_ns(span: RankSpan, names: Sequence[str]) -> Int64:
    return span.step_ns[[span.step_names.index(name) for name in names]]


def _shown(chain: Chain, found: Bubbles, spans: Sequence[RankSpan], names: Sequence[str]) -> PipelineStep:
    """Returns the step whose window is closest to the median."""
    step = int(np.argmin(np.abs(found.length - np.median(found.length))))
    begin = int(window(chain)[0][step])
    passes = [
        PassPiece(row, *one, int(each.start[step, place]) - begin, int(each.end[step, place]) - begin)
        for row, each in enumerate(chain.programs)
        for place, one in enumerate(each.passes)
    ]
    return PipelineStep(
        name=names[chain.steps[step]],
        length_ns=round(float(found.length[step])),
        shift_ns=[
            begin - offset - spans[each.place].origin_ns
            for each, offset in zip(chain.programs, chain.offsets, strict=True)
        ],
        passes=passes,
        bubbles=bubble_pieces(chain, found, step),
    )
