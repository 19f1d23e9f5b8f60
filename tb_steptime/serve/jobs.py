"""The spans of one job, and the results computed from them, which are cached for the jobs requested last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.job_ranks import RecordedRank, at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.ranks.arrivals import StepWaits
from tb_steptime.ranks.job import job_step, job_with_waits
from tb_steptime.ranks.result import JobRanks
from tb_steptime.ranks.step_lanes import StepLanes
from tb_steptime.serve.pages import LruCache
from tb_steptime.serve.served import ServedSpan

#: Maximum number of cached jobs, such as the one on display and the ones before it. A job of a thousand ranks takes a
#: few MB.
CACHED_JOBS = 4

#: The errors that reading results raises. ValueError and IndexError mean that a packed column is malformed, and
#: OverflowError that a number is larger than any recording can contain.
UNREADABLE = (OSError, DamagedSummary, LookupError, ValueError, OverflowError)


@dataclass(frozen=True)
class Job:
    """The spans that were recorded together. spans, recorded: those that are read, in the order of ranks; unread: the
    number of spans of the same number that are not read and may belong to the job; workers: how many the run has."""

    spans: Sequence[ServedSpan]
    recorded: Sequence[RecordedRank]
    unread: int
    workers: int = 1


@dataclass(frozen=True, eq=False)
class KnownJob:
    """ranks: without the values of step_time, which are as large as all other fields together. waits: None where no
    collectives are matched."""

    ranks: JobRanks
    waits: StepWaits | None


class Jobs:
    """All methods may be called from any thread."""

    def __init__(self) -> None:
        self._known: LruCache[KnownJob] = LruCache(CACHED_JOBS)
        self._step: tuple[tuple[str, ...], str, list[str], StepLanes | None] | None = None

    def step(self, job: Job, name: str) -> tuple[list[str], StepLanes | None]:
        """Returns a step as `job_step` has it; the last one is kept, so that zooming matches no collectives again.
        Raises what reading results raises."""
        key, cached = versions(each.found for each in job.recorded), self._step
        if cached is None or cached[:2] != (key, name):
            cached = self._step = key, name, *job_step(rank_spans(job.recorded), name)
        return cached[2], cached[3]

    def get(self, job: Job) -> KnownJob:
        """Returns what is known of at least one rank. Raises what reading results raises."""
        return self._known.get(versions(each.found for each in job.recorded), None, lambda: _known_job(job))


def _known_job(job: Job) -> KnownJob:
    ranks, waits = job_with_waits(rank_spans(job.recorded))
    return KnownJob(replace(ranks, step_time=replace(ranks.step_time, values=[])), waits)


def versions(spans: Iterable[FoundSpan]) -> tuple[str, ...]:
    """Returns the key of what is made of these recordings, which changes when one of them is rewritten."""
    return tuple(f"{span.id} {span.stamp}" for span in spans)


def find_job(chosen: ServedSpan, run_spans: Sequence[ServedSpan]) -> Job:
    """Finds the job among the spans of its run. A span that does not say its rank is a job of its own."""
    by_id = {span.found.id: span for span in run_spans}
    measured = [(span.found, span.measured) for span in run_spans if span.measured]
    jobs = at_the_same_time(recorded_ranks(measured))
    unread = sum(not (span.measured or span.problem) and span.found.number == chosen.found.number for span in run_spans)
    workers = len({span.found.worker for span in run_spans})
    for recorded in jobs:
        if any(each.found.id == chosen.found.id for each in recorded):
            return Job([by_id[each.found.id] for each in recorded], recorded, unread, workers)
    return Job([chosen], [], unread, workers)


def alone(span: ServedSpan) -> Job:
    """Returns a span that does not say its rank, as the one rank of its job. Raises FileNotFoundError where it is not
    read."""
    return Job([span], [RecordedRank(span.found, span.at_hand(), 0)], 0)
