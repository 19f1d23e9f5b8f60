"""Groups measured spans, which are added one at a time, into the jobs whose ranks they are."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from tb_steptime.ingest.cores import cores
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.job_ranks import RecordedRank, at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.terminal.spans import trace_of
from tb_steptime.trace.reading import OnProgress

if TYPE_CHECKING:
    from tb_steptime.ranks.arrivals import StepWaits
    from tb_steptime.ranks.result import JobRanks
    from tb_steptime.trace.model import Trace

NO_JOB = "No two ranks of one job were recorded here at the same time. Record all ranks in the same steps."
#: The results of a rank that its job needs. All others are dropped, so that many ranks fit into memory.
NEEDED_VIEWS = ("trends", "ranks", "compare", "overview")


def traced_rank(span: FoundSpan, on_progress: OnProgress) -> tuple[Trace, MeasuredSpan]:
    """Reads a trace, and measures what its job needs. Raises TraceError."""
    from tb_steptime.analyses import ANALYSES
    from tb_steptime.ingest.measure import measure_trace

    others = [analysis.id for analysis in ANALYSES if analysis.id not in NEEDED_VIEWS]
    return measure_trace(trace_of(span, on_progress), others, processes=cores())


def traced_alone(span: FoundSpan, on_progress: OnProgress) -> tuple[Trace, None]:
    """Reads a trace that has no other rank beside it. Raises TraceError."""
    return trace_of(span, on_progress), None


def with_needed_results(measured: MeasuredSpan) -> MeasuredSpan:
    results = {view: measured.results[view] for view in NEEDED_VIEWS if view in measured.results}
    return msgspec.structs.replace(measured, results=results)


class FoundJob(msgspec.Struct, frozen=True, eq=False):
    """At least two ranks of a run. waits: None where nothing is matched."""

    run: str
    recorded: list[RecordedRank]
    ranks: JobRanks
    waits: StepWaits | None


class Jobs(msgspec.Struct):
    """Collects all spans into jobs. Spans that do not state their rank belong to no job."""

    _ranks_by_run: dict[str, list[RecordedRank]] = msgspec.field(default_factory=lambda: defaultdict(list))

    def add(self, span: FoundSpan, measured: MeasuredSpan) -> None:
        self._ranks_by_run[span.run] += recorded_ranks([(span, with_needed_results(measured))])

    def found(self) -> list[FoundJob]:
        """Returns the jobs by run, in time order. Raises what reading results raises."""
        jobs = [(run, job) for run, ranks in self._ranks_by_run.items() for job in at_the_same_time(ranks)]
        jobs = [(run, job) for run, job in jobs if len({each.rank for each in job}) > 1]
        if not jobs:
            return []
        from tb_steptime.ranks.job import job_with_waits  # a single rank does not need it

        return [FoundJob(run, job, *job_with_waits(rank_spans(job))) for run, job in jobs]
