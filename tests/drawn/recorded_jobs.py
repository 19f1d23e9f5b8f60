"""Jobs from a folder with a recording of each rank."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tb_steptime.ingest.found import spans_of_files
from tb_steptime.ingest.job_ranks import at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.result import JobRanks
from tests.drawn.real_traces import real_path


def job_in(folder: Path) -> JobRanks:
    found = spans_of_files(sorted(folder.glob("*.json.gz")))
    (job,) = at_the_same_time(recorded_ranks([(each, measure_file(each.path)) for each in found]))
    return job_ranks(rank_spans(job))


@cache
def real_job(folder: str) -> JobRanks:
    """A job of other people that several tests use: it must not be changed."""
    return job_in(real_path(f"traces_world/{folder}"))
