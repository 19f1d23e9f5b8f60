"""The runs of `tb-steptime compare --ranks` with all their ranks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from tb_steptime.ingest.compared import WorkerOfRun
from tb_steptime.ingest.job_ranks import RecordedRank, at_the_same_time, rank_spans, recorded_ranks
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.user_paths import find_spans
from tb_steptime.insights.wording.ranks import held_text
from tb_steptime.ranks.job import job_ranks
from tb_steptime.ranks.scaling import ScaledJob, Scaling, scaling
from tb_steptime.terminal.ranks.jobs import NEEDED_VIEWS
from tb_steptime.terminal.spans import measured_span, read_found
from tb_steptime.text.printer import plain


def scalings(runs: Sequence[WorkerOfRun], problems: list[Problem]) -> list[Scaling | None]:
    """Compares each run but the first with the first; None where one of the two has no steps, or both have one rank.
    Spans that cannot be read are added to problems."""
    base, *others = [_scaled(run, problems) for run in runs]
    return [_scaling(base, job) for job in others]


def _scaling(base: ScaledJob | None, job: ScaledJob | None) -> Scaling | None:
    if base is None or job is None or max(len(base.spans), len(job.spans)) < 2:
        return None
    return scaling(base, job)


def _scaled(run: WorkerOfRun, problems: list[Problem]) -> ScaledJob | None:
    """Uses the recording with the most ranks, or the first span where no rank is known."""
    found = [span for span in find_spans([run.path], problems) if span.run == run.run]
    read = [
        (span, msgspec.structs.replace(measured, results={view: measured.results[view] for view in NEEDED_VIEWS}))
        for span, measured in read_found(found, problems, measured_span)
    ]
    ranks = recorded_ranks(read) or [RecordedRank(span, measured, 0) for span, measured in read[:1]]
    if not ranks:
        return None
    spans = rank_spans(max(at_the_same_time(ranks), key=len))
    job = job_ranks(spans)
    return ScaledJob(spans, job) if job.steps else None


def scaling_paragraph(found: Scaling, width: int) -> str:
    return "\n".join(textwrap.wrap(plain(held_text(found)), width))
