"""`tb-steptime summarize PATH…`: the tab's figures as text, or as JSON for a CI job."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
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
)

if TYPE_CHECKING:
    from tb_steptime.ingest.found import FoundSpan
    from tb_steptime.ingest.measured import MeasuredSpan
    from tb_steptime.ingest.states import Problem
    from tb_steptime.terminal.ranks.contract import JobReport
    from tb_steptime.terminal.ranks.jobs import Jobs


#: Below the lines of several runs.
_IN_FULL = "Every span in full: --details, or name the folder of one run."

#: By format.
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
        help="every span in full; default: where there are several runs, a line for each; JSON always has everything",
    )


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.user_paths import find_spans
    from tb_steptime.terminal.spans import measured_span, read_found

    problems: list[Problem] = []
    found = list(find_spans(options.paths, problems))
    measure = partial(measured_span, needed_then=_NEEDED_TO_PRINT[options.format])
    spans = read_found(found, problems, measure, options.steps, options.names_from)
    if options.format == "json":
        _print_json(spans, problems)
    elif options.details or not _are_several_runs(found):
        _print_tables(spans)
    else:
        _print_runs(spans)
    return exit_code(problems)


def _are_several_runs(found: Sequence[FoundSpan]) -> bool:
    from tb_steptime.terminal.run_lines import run_key

    return len(set(map(run_key, found))) > 1


def _print_json(spans: Iterator[tuple[FoundSpan, MeasuredSpan]], problems: list[Problem]) -> None:
    first = list(islice(spans, 1))  # measured before the imports, as for a table
    from tb_steptime.insights import judge
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import print_json
    from tb_steptime.terminal.ranks.contract import Report
    from tb_steptime.terminal.ranks.jobs import Jobs
    from tb_steptime.terminal.report import span_report

    jobs, reports = Jobs(), []
    for found, measured in chain(first, spans):
        jobs.add(found, measured)
        reports.append(span_report(found, measured, judge(measured.results, measured.facts.gaps)))
    print_json(Report(reports, [error_report(problem) for problem in problems], _job_reports(jobs)))


def _job_reports(jobs: Jobs) -> list[JobReport]:
    found = jobs.found()
    if not found:
        return []
    from tb_steptime.terminal.ranks.report import job_report

    return [job_report(job) for job in found]


def _print_runs(spans: Iterator[tuple[FoundSpan, MeasuredSpan]]) -> None:
    """A line for each run, once all are read."""
    first = list(islice(spans, 1))
    from tb_steptime.insights import judge
    from tb_steptime.terminal.output import print_lines
    from tb_steptime.terminal.run_lines import SpanLine, run_key, run_table, span_line

    runs: dict[tuple[str, str], tuple[FoundSpan, list[SpanLine]]] = {}
    for found, measured in chain(first, spans):
        line = span_line(measured, judge(measured.results, measured.facts.gaps))
        runs.setdefault(run_key(found), (found, []))[1].append(line)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if runs:
        print_lines([*run_table(list(runs.values()), width), "", _IN_FULL])


def _print_tables(spans: Iterator[tuple[FoundSpan, MeasuredSpan]]) -> None:
    from tb_steptime.terminal.output import print_texts
    from tb_steptime.terminal.ranks.jobs import Jobs

    jobs = Jobs()
    print_texts(chain(_span_tables(spans, jobs), _jobs_in_short(jobs)))


def _span_tables(spans: Iterator[tuple[FoundSpan, MeasuredSpan]], jobs: Jobs) -> Iterator[str]:
    """Each span is also given to the jobs."""
    for found, measured in spans:
        jobs.add(found, measured)
        yield _span_table(found, measured)


def _jobs_in_short(jobs: Jobs) -> Iterator[str]:
    """After its ranks, since only all of them tell what decides a job."""
    found = jobs.found()
    if found:
        from tb_steptime.terminal.ranks.table import job_in_short

        width = max(80, min(100, shutil.get_terminal_size().columns))
        yield from (job_in_short(job, width) for job in found)


def _span_table(found: FoundSpan, measured: MeasuredSpan) -> str:
    """What judges is imported only now: a large trace is read by several processes once those are started."""
    from tb_steptime.insights import judge
    from tb_steptime.terminal.summary_table import ANSI, PLAIN, span_table

    ink = ANSI if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else PLAIN
    judgement = judge(measured.results, measured.facts.gaps)
    return span_table(found, measured, judgement, shutil.get_terminal_size().columns, ink)


COMMAND = Command(
    "summarize",
    "print the figures of traces",
    "Print steps, breakdown, GPU figures, data loading, tensor cores and what to do, for each trace.",
    _add_arguments,
    _run,
)
