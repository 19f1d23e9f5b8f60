"""`tb-steptime summarize PATH…`: the tab's figures as text, or as JSON for a CI job."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from tb_steptime.terminal.commands.base import (
    Command,
    add_format,
    add_names_from,
    add_paths,
    add_steps,
    exit_code,
    readable_width,
)

if TYPE_CHECKING:
    from tb_steptime.ingest.found import FoundSpan
    from tb_steptime.ingest.measured import MeasuredSpan
    from tb_steptime.ingest.states import Problem
    from tb_steptime.insights.base import Judgement
    from tb_steptime.terminal.ranks.contract import JobReport
    from tb_steptime.terminal.ranks.jobs import Jobs
    from tb_steptime.terminal.run_lines import Runs

    JudgedSpan = tuple[FoundSpan, MeasuredSpan, Judgement]


#: The last line of the output for several runs.
_IN_FULL = "Every span in full: --details, or name the folder of one run."

#: Modules needed to print, by format.
_NEEDED_TO_PRINT = {
    "json": ("tb_steptime.insights", "tb_steptime.terminal.report", "tb_steptime.terminal.ranks.contract"),
    "table": ("tb_steptime.insights", "tb_steptime.terminal.run_lines"),
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_steps(parser)
    add_names_from(parser)
    add_format(parser, "table", "json")
    parser.add_argument(
        "--details",
        action="store_true",
        help="print every span in full; default: several runs get one line each; JSON always contains everything",
    )


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.discovery import find_spans
    from tb_steptime.terminal.spans import UNPRINTED, measured_span, read_found

    problems: list[Problem] = []
    found_spans = list(find_spans(options.paths, problems))
    leave_out = (*UNPRINTED, "ranks") if len(found_spans) == 1 else UNPRINTED  # a job has several ranks
    measure = partial(measured_span, leave_out=leave_out, needed_then=_NEEDED_TO_PRINT[options.format])
    spans = read_found(found_spans, problems, measure, options.steps, options.names_from)
    first = list(islice(spans, 1))  # measured before the imports: a large trace is read by processes forked until then
    from tb_steptime.terminal.output import print_texts
    from tb_steptime.terminal.ranks.jobs import Jobs
    from tb_steptime.terminal.run_lines import Runs, run_key

    jobs, runs = Jobs(), Runs()
    judged = _judged(chain(first, spans), jobs, runs)
    if options.format == "json":
        _print_json(judged, jobs, runs, problems)
    elif options.details or len(set(map(run_key, found_spans))) < 2:
        print_texts(chain(_span_tables(judged), runs.disagreements(), _jobs_in_short(jobs)))
    else:
        _print_runs(judged, jobs, runs)
    return exit_code(problems)


def _print_json(judged: Iterator[JudgedSpan], jobs: Jobs, runs: Runs, problems: list[Problem]) -> None:
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import print_json
    from tb_steptime.terminal.ranks.contract import Report
    from tb_steptime.terminal.report import span_report

    reports = [span_report(*each) for each in judged]
    found_jobs = jobs.found()
    job_reports: list[JobReport] = []
    runs.add_jobs(found_jobs)
    if found_jobs:
        from tb_steptime.terminal.ranks.report import job_report

        job_reports = list(map(job_report, found_jobs))
    print_json(Report(reports, list(map(error_report, problems)), job_reports, runs.reports()))


def _judged(spans: Iterable[tuple[FoundSpan, MeasuredSpan]], jobs: Jobs, runs: Runs) -> Iterator[JudgedSpan]:
    """Yields each span with what the rules say of it, and adds it to the jobs and the runs."""
    from tb_steptime.insights import judge

    for span, measured in spans:
        judgement = judge(measured.results, measured.facts.gaps)
        jobs.add(span, measured)
        runs.add(span, measured, judgement)
        yield span, measured, judgement


def _print_runs(judged: Iterator[JudgedSpan], jobs: Jobs, runs: Runs) -> None:
    """Prints one line for each run, once all spans are read."""
    from tb_steptime.terminal.output import print_lines

    for _ in judged:
        pass
    runs.add_jobs(jobs.found())
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if runs.found:
        print_lines([*runs.table(width), "", _IN_FULL])


def _jobs_in_short(jobs: Jobs) -> Iterator[str]:
    """Yields a short text for each job. It comes after the spans, since a job is judged by all its ranks."""
    found_jobs = jobs.found()
    if found_jobs:
        from tb_steptime.terminal.ranks.report import job_in_short

        width = readable_width()
        yield from (job_in_short(job, width) for job in found_jobs)


def _span_tables(judged: Iterator[JudgedSpan]) -> Iterator[str]:
    from tb_steptime.terminal.summary_table import ANSI, PLAIN, span_table

    ink = ANSI if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else PLAIN
    return (span_table(*each, shutil.get_terminal_size().columns, ink) for each in judged)


COMMAND = Command(
    "summarize",
    "print the figures of traces",
    "Print steps, breakdown, GPU figures, data loading, tensor cores and what to do, for each trace.",
    _add_arguments,
    _run,
)
