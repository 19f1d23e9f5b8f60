"""Recordings of the ranks of a job, made at the same time -> what is known of the job."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.matrices import matrix_values, measured_metrics, rank_matrix
from tb_steptime.ranks.members import members
from tb_steptime.ranks.result import Clocks, JobRanks, JobStep, RankRow
from tb_steptime.ranks.spans import RankSpan, step_names
from tb_steptime.text import Reason
from tb_steptime.trace.table import Float64


def job_ranks(spans: Sequence[RankSpan]) -> JobRanks:
    """Of at least one span, in any order."""
    found = members(spans)
    step_ns = matrix_values(found.spans, "step_time")
    names = step_names(found.spans)
    return JobRanks(
        world_size=found.world_size,
        ranks=[_row(span) for span in found.spans],
        missing=found.missing,
        steps=[_step(name, found.spans, step_ns[:, column]) for column, name in enumerate(names)],
        step_time=rank_matrix(found.spans, "step_time"),
        metrics=measured_metrics(found.spans),
        clocks=Clocks(None, Reason("no_matched_collectives")),
        unmatched=Reason("no_matched_collectives"),
        notes=found.notes,
    )


def _row(span: RankSpan) -> RankRow:
    return RankRow(
        rank=span.rank,
        key=span.key,
        worker=span.worker,
        host=span.host,
        steps=len(span.step_names),
        mean_step_ns=span.mean_step_ns,
        cut_short=span.cut_short,
    )


def _step(name: str, spans: Sequence[RankSpan], step_ns: Float64) -> JobStep:
    """step_ns: (ranks,), NaN where a rank did not record it; at least one did."""
    there = np.flatnonzero(~np.isnan(step_ns))
    lengths = step_ns[there]
    slowest, fastest = there[int(lengths.argmax())], there[int(lengths.argmin())]
    return JobStep(
        name=name,
        ranks=len(there),
        slowest=spans[slowest].rank,
        slowest_ns=round(float(lengths.max())),
        median_ns=round(float(np.median(lengths))),
        fastest=spans[fastest].rank,
        fastest_ns=round(float(lengths.min())),
    )
