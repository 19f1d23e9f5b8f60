"""`tb-steptime whatif TRACE`: what the steps of a recording would take after changes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import Command, add_format, add_steps, exit_code, refused

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="TRACE", type=any_path, help="a trace file or a log directory")
    parser.add_argument(
        "--apply",
        nargs="+",
        default=(),
        metavar="ID",
        help="apply only these changes; default: all that make the step shorter",
    )
    add_steps(parser)
    add_format(parser, "table", "json")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.discovery import find_spans
    from tb_steptime.replay.whatif import what_if
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import print_json, print_texts
    from tb_steptime.terminal.ranks.jobs import Jobs, traced_alone, traced_rank
    from tb_steptime.terminal.ranks.table import job_what_if
    from tb_steptime.terminal.spans import read_found
    from tb_steptime.terminal.whatif_report import WIDTH, WhatIfReport, job_what_ifs, span_what_if, what_if_text

    problems: list[Problem] = []
    spans, jobs = [], Jobs()
    there = list(find_spans([options.path], problems))
    read = traced_rank if len(there) > 1 else traced_alone
    for found, (trace, measured) in read_found(there, problems, read, options.steps):
        if measured is not None:
            jobs.add(found, measured)
        try:
            said = what_if(trace, options.apply)
        except ValueError as error:
            return refused(str(error))
        if said is not None:
            spans.append(span_what_if(found, said))
        elif options.format == "table":
            sys.stderr.write(f"{found.path}: no step has work on a GPU, so nothing can be replayed.\n")
    if options.format == "json":
        print_json(WhatIfReport(spans, [error_report(problem) for problem in problems], job_what_ifs(jobs.found())))
    else:
        print_texts([*map(what_if_text, spans), *(job_what_if(job, WIDTH) for job in jobs.found())])
    return exit_code(problems)


COMMAND = Command(
    "whatif",
    "print what changes would make of a step",
    "Replay a steady step of each recording as it is, with parts of it taking no time, and after changes: what each "
    "change gains, in which interval, and what it gains after the others. Ranks of a job are also replayed together.",
    _add_arguments,
    _run,
)
