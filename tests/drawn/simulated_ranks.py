"""The summaries that the ranks of a simulated job would have, and the job from them: without files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.analyses.trends import StepMark, TrendsResult
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.communication.exchanges import ExchangeClass, ExchangeGroup, Exchanges
from tb_steptime.metrics.communication.packed import packed
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.messages import Links
from tb_steptime.ranks.result import JobRanks
from tb_steptime.ranks.spans import RankSpan, rank_span
from tb_steptime.trace.table import Float64
from tests.truth.simulate.rank_jobs import EPOCH_NS, Ns, Ran

MS = 1_000_000


def job_of(ran: Ran, links: Links | None = None) -> JobRanks:
    """The job from the summaries that its ranks would have."""
    return job_ranks([span_of(ran, rank) for rank in range(ran.declared.ranks)], links)


def job_on_hosts(ran: Ran, ranks_each: int) -> JobRanks:
    """node0 has the first of its ranks, node1 the next."""
    spans = [replace(span_of(ran, rank), host=f"node{rank // ranks_each}") for rank in range(ran.declared.ranks)]
    return job_ranks(spans)


def span_of(ran: Ran, rank: int, clock_jumps: Ns | int = 0) -> RankSpan:
    """clock_jumps: by how much each collective is recorded too late, ns."""
    world = ran.declared.ranks
    begins = [0, *ran.step_end[:-1]]
    marks = [StepMark(str(n), *pair) for n, pair in enumerate(zip(begins, ran.step_end, strict=True), 5)]
    computing = [float(sum(end - begin for begin, end in of_step[rank])) for of_step in ran.computed]
    series = [
        Series("step_time", None, None, [float(mark.end_ns - mark.start_ns) for mark in marks]),
        Series("kernel_time", None, None, computing),
    ]
    sizes = list(dict.fromkeys(ran.declared.bucket_bytes))
    starts = np.array([meeting.start[rank] for meeting in ran.meetings])
    exchanges = Exchanges(
        groups=[ExchangeGroup("0", world, "default_pg", list(range(world)))],
        classes=[ExchangeClass("all_reduce", 0, size, "Float", "backward.hooks") for size in sizes],
        of=packed(np.array([sizes.index(meeting.bytes) for meeting in ran.meetings])),
        step=packed(np.array([meeting.step for meeting in ran.meetings])),
        start=packed((starts + clock_jumps) // 1000),
        length=packed(np.array([meeting.end for meeting in ran.meetings]) - starts),
        exposed=packed(np.full(len(starts), -1)),
    )
    trends = TrendsResult(EPOCH_NS + int(ran.clock[rank]), marks, series, [], [])
    results = {"trends": trends, "ranks": RanksResult(exchanges), "compare": CompareResult()}
    return rank_span(results, key=str(rank), worker=f"rank{rank}", rank=rank, world_size=world)


def with_parts(ran: Ran) -> list[RankSpan]:
    """With the parts of the step: kernels, and how much of the rest collectives take."""
    spans = [span_of(ran, rank) for rank in range(ran.declared.ranks)]
    return [replace(span, figures={**span.figures, "communication_time": _rest(span)}) for span in spans]


def _rest(span: RankSpan) -> Float64:
    rest: Float64 = span.figures["step_time"] - span.figures["kernel_time"]
    return rest
