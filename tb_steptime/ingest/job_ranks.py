"""Measured spans of a run -> its jobs: the ranks that were recorded at the same time.

rank 0   [span 1]          [span 2]
rank 1    [span 1]         [span 2]      two jobs of three ranks: spans that overlap, or overlap the same ones
rank 2   [span 1]           [span 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.names import machine_of
from tb_steptime.trace.file_names import rank_in_name
from tb_steptime.trace.model import is_cut_short

if TYPE_CHECKING:
    from tb_steptime.ranks.spans import RankSpan

#: Views whose results ranks are matched by.
_MATCHED = {"ranks", "trends"}


class RecordedRank(msgspec.Struct, frozen=True):
    """A span with its rank, as the file states it, or else as the worker's name does."""

    found: FoundSpan
    measured: MeasuredSpan
    rank: int


def recorded_ranks(spans: Iterable[tuple[FoundSpan, MeasuredSpan]]) -> list[RecordedRank]:
    """Returns the ranks of the spans for which one is known. It reads only the heads of summaries."""
    return [
        RecordedRank(span, measured, rank) for span, measured in spans if (rank := rank_of(span, measured)) is not None
    ]


def rank_of(span: FoundSpan, measured: MeasuredSpan | None) -> int | None:
    """Returns the rank that the trace states, or else the one in the worker's name."""
    if measured is not None and measured.facts.rank is not None:
        return measured.facts.rank
    return rank_in_name(span.worker)


def at_the_same_time(ranks: Sequence[RecordedRank]) -> list[list[RecordedRank]]:
    """Groups the spans of one run in time order. Each list has the ranks of a job, ascending. Clocks of machines differ
    by far less than recordings are apart."""
    jobs: list[list[RecordedRank]] = []
    until = 0
    for each in sorted(ranks, key=lambda each: each.measured.facts.origin_ns):
        facts = each.measured.facts
        if not jobs or facts.origin_ns >= until:
            jobs.append([])
        jobs[-1].append(each)
        until = max(until, facts.origin_ns + (facts.mean_step_ns or 0) * facts.step_count)
    return [sorted(job, key=lambda each: (each.rank, each.found.worker)) for job in jobs]


def rank_spans(job: Sequence[RecordedRank]) -> list[RankSpan]:
    """Returns what the job needs from each rank. Raises what reading results raises, and TraceError where no span has a
    rank."""
    if not job:
        problem = "No recording here says which rank of a job it is of"
        raise TraceError(problem, "", "Name files for their ranks, such as rank3_trace.json.gz.")
    from tb_steptime.ranks.spans import rank_span  # imported late: not needed where no job is found

    return [
        rank_span(
            each.measured.results,
            key=each.found.id,
            worker=each.found.worker,
            rank=each.rank,
            host=machine_of(each.found.worker),
            world_size=each.measured.facts.world_size,
            cut_short=is_cut_short(each.measured.facts.notes),
            gap=not each.measured.facts.gaps.keys().isdisjoint(_MATCHED),
        )
        for each in job
    ]
