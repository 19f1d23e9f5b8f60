"""`tb-steptime lines PATH…`: what each line of the user's code costs, as text, JSON or CSV."""

from __future__ import annotations

import argparse
from pathlib import Path
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
    from tb_steptime.ingest.states import Problem


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "--sources",
        action="append",
        type=_folder,
        metavar="FOLDER",
        help="a folder with the sources of the job: each line is printed with its text; may be given several times; "
        "default: what TB_STEPTIME_SOURCES names. What profile_steps(..., sources=True) wrote comes before them",
    )
    add_steps(parser)
    add_names_from(parser)
    add_format(parser, "table", "json", "csv")


def _folder(named: str) -> Path:
    path = Path(named)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f'"{named}" is no folder')
    return path


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.sources import user_folders
    from tb_steptime.tables.base import with_derived
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.line_report import REPORT_LINES, LineReport, csv_lines, line_text, span_lines
    from tb_steptime.terminal.output import print_json, print_lines, print_texts
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    folders = options.sources or user_folders()
    traces = read_each(options.paths, problems, trace_of, options.steps, options.names_from)
    spans = (span_lines(span, trace, folders) for span, trace in traces)
    if options.format == "json":
        found = list(spans)  # first: reading them finds the problems
        print_json(with_derived(LineReport(found, [error_report(problem) for problem in problems]), REPORT_LINES))
    elif options.format == "csv":
        print_lines(csv_lines(spans))
    else:
        print_texts(map(line_text, spans))
    return exit_code(problems)


COMMAND = Command(
    "lines",
    "print what lines of your code cost",
    "Print what each line of your code costs in the steps of each trace that was recorded with stacks: time on the "
    "CPU, GPU time of what it launches, the GPU's idle time before its launches, and allocated memory.",
    _add_arguments,
    _run,
)
