"""Answers about the recordings of a log directory: a list, a summary of one, a comparison of two."""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.comparison.comparison import compare
from tb_steptime.comparison.row_changes import RowChange, table_of
from tb_steptime.comparison.waterfall import Contribution
from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.insights import judge
from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.card_text import as_one
from tb_steptime.insights.wording.compare import CONTRIBUTION_LABELS, comparison_headline, warning_texts
from tb_steptime.insights.wording.job_what_if import what_if_texts
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.pipeline import pipeline_text
from tb_steptime.insights.wording.ranks import experts_texts, path_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import DATA_LOADING_TILES, HOST_TILES, METRICS, TILES
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.notes import note_line
from tb_steptime.tables.ranks import STAGES
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError, Which, at_hand
from tb_steptime.terminal.agent.numbers import in_unit, lines, maybe_ms, ms, unit_of
from tb_steptime.terminal.compared import AskedWronglyError, compared_sides
from tb_steptime.terminal.contract import RunReport
from tb_steptime.terminal.ranks.jobs import FoundJob, Jobs
from tb_steptime.terminal.run_lines import Runs
from tb_steptime.text.printer import plain

#: Maximum number of recordings in a list, and of kernels in a comparison. An agent can request a recording by name.
_LISTED, _KERNELS = 100, 10
_SHOWN = dict.fromkeys((*TILES, *HOST_TILES, *DATA_LOADING_TILES))
_METRICS = {metric.id: metric for metric in METRICS}


def runs(logs: Logs) -> contract.Runs:
    spans, problems = logs.spans()
    listed = [(span, at_hand(span)) for span in spans[:_LISTED]]
    return contract.Runs(
        recordings=[_run_line(span, measured) for span, measured in listed],
        more=len(spans) - len(listed),
        problems=[f"{each.file}: {each.problem}." for each in problems],
        first_cards=_first_cards(listed, {span.run for span in spans[_LISTED:]}),
    )


def _first_cards(listed: Iterable[tuple[FoundSpan, MeasuredSpan | None]], cut: Container[str]) -> dict[str, str]:
    """cut: runs of which some recordings are not listed, whose jobs would lack ranks."""
    jobs, read = Jobs(), Runs()
    for span, measured in listed:
        if measured is not None:
            if span.run not in cut:
                jobs.add(span, measured)
            read.add(span, measured, judge(measured.results, measured.facts.gaps))
    read.add_jobs(jobs.found())
    return {_of_work(report): report.text for report in read.reports()}


def _of_work(report: RunReport) -> str:
    """Names the run, and the processes that are meant where others of the run do different work."""
    return f"{report.run} ({', '.join(report.workers)})" if report.workers else report.run


def _run_line(span: FoundSpan, measured: MeasuredSpan | None) -> contract.RunLine:
    if measured is None:
        return contract.RunLine(span.run, span.worker, span.number, False)
    facts = measured.facts
    step_ms, gpu = maybe_ms(facts.mean_step_ns), ", ".join(facts.device_names) or None
    return contract.RunLine(span.run, span.worker, span.number, True, step_ms, facts.step_count, gpu)


def summary(logs: Logs, which: Which) -> contract.Summary:
    """Raises RefusalError."""
    span = logs.find(which)
    measured = logs.measured(span)
    judged = judge(measured.results, measured.facts.gaps)
    overview = measured.result("overview", OverviewResult)
    return contract.Summary(
        run=span.run,
        worker=span.worker,
        span=span.number,
        job=plain(judged.job.line),
        verdict=plain(judged.verdict.text),
        steps=len(overview.steps),
        step_ms=ms(overview.mean_duration_ns),
        left_out_ms=ms(sum(row.duration_ns - row.judged_ns for row in overview.steps) / max(1, len(overview.steps))),
        parts_ms=_times(overview.mean_parts_ns),
        gpu_idle_ms=_idle(measured),
        figures=[_figure(each) for each in measured.result("trends", TrendsResult).series if each.metric in _SHOWN],
        cards=lines(CARDS, judged.insights),
        notes=[note_line(worded(note)) for note in measured.facts.notes],
        quality=[plain(as_one(each)) for each in judged.quality],
        steady_step_ms=maybe_ms(overview.steady_step_ns),
        excess=[plain(each) for each in judged.excess.values()],
    )


def _times(parts: msgspec.Struct) -> dict[str, float]:
    return {name: ms(ns) for name, ns in msgspec.structs.asdict(parts).items() if ns}


def _idle(measured: MeasuredSpan) -> dict[str, float] | None:
    host = measured.result("host", HostResult)
    mean = next((each.mean for each in host.devices if each.device == host.device), None)
    return None if mean is None else _times(mean)


def _figure(series: Series) -> contract.FigureLine:
    metric = _METRICS[series.metric]
    why = plain(explain(series.reason)) if series.reason else None
    return contract.FigureLine(metric.id, in_unit(series.value, metric), unit_of(metric), why)


def comparison(logs: Logs, base: str, candidate: str) -> contract.Comparison:
    """Raises RefusalError."""
    problems: list[Problem] = []
    folders = [_folder(logs, Which(run)) for run in (base, candidate)]
    try:
        sides = [side for _, side in compared_sides(folders, problems, "found")]
    except AskedWronglyError as error:
        raise RefusalError(str(error)) from error
    if problems or len(sides) < 2:
        raise RefusalError("; ".join(f"{each.file}: {each.problem}. {each.hint}" for each in problems))
    found = compare(*sides)
    step = found.step
    return contract.Comparison(
        headline=plain(comparison_headline(found)),
        distinguishable=step.distinguishable,
        step=contract.ChangeLine(
            "step", ms(step.base_ns), ms(step.candidate_ns), ms(step.change_ns), maybe_ms(step.low),
            maybe_ms(step.high),
        ),
        parts=_changes(found.waterfalls[0].rows),
        kernels=[_kernel(row) for row in table_of("kernels", found.tables).rows[:_KERNELS]],
        predictions=[
            contract.PredictionLine(each.insight, ms(each.predicted_ns), ms(each.measured_ns))
            for each in found.predictions
        ],
        warnings=list(map(note_line, warning_texts(found))),
    )  # fmt: skip


def _kernel(row: RowChange) -> contract.KernelChangeLine:
    base, candidate = row.base_short or row.base_name, row.candidate_short or row.candidate_name
    return contract.KernelChangeLine(base, candidate, row.matched_by, ms(row.base_ns), ms(row.candidate_ns))


def _changes(rows: Iterable[Contribution]) -> list[contract.ChangeLine]:
    return [
        contract.ChangeLine(
            CONTRIBUTION_LABELS.get(row.id, row.id), ms(row.base_ns), ms(row.candidate_ns), ms(row.change_ns),
            maybe_ms(row.low), maybe_ms(row.high),
        )
        for row in rows
    ]  # fmt: skip


def _folder(logs: Logs, which: Which) -> AnyPath:
    """Returns the folder of a run. Raises RefusalError where there is none."""
    run = logs.find(which).run
    return logs.folder if run == "." else logs.folder / run


def ranks(logs: Logs, run: str | None) -> contract.Ranks:
    """Raises RefusalError."""
    jobs, chosen = Jobs(), logs.find(Which(run)).run
    for span in logs.spans()[0]:
        if span.run == chosen:
            jobs.add(span, logs.measured(span))
    return contract.Ranks([_job(each) for each in jobs.found()])


def _job(found: FoundJob) -> contract.Job:
    job = found.ranks
    path, pipeline = path_text(job), job.pipeline
    return contract.Job(
        run=found.run,
        ranks=[row.rank for row in job.ranks],
        missing=job.missing,
        verdict=" ".join(map(plain, ranks_sentences(job))),
        path=None if path is None else plain(path),
        pipeline=None if pipeline is None else plain(pipeline_text(pipeline)),
        stages=lines(STAGES, pipeline.rows if pipeline else []),
        what_if=[plain(each) for each in what_if_texts(job.what_if)],
        what_if_unknown=None if job.what_if_reason is None else plain(explain(job.what_if_reason)),
        experts=list(map(plain, experts_texts(job))),
        cards=lines(CARDS, judge_job(job)),
        notes=[note_line(worded(note)) for note in job.notes],
    )
