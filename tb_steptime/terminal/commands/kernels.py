"""`tb-steptime kernels PATH…`: the kernel table of each trace as text, JSON or CSV."""

from __future__ import annotations

import argparse
import shutil
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
        "--by",
        choices=("name", "name,op", "name,module", "name,line", "op", "module", "line"),
        default="name",
        metavar="WHAT",
        help="what each row stands for: name, op, module, line, or a name within one of these, as name,op or "
        "name,module or name,line; default: name",
    )
    add_steps(parser)
    add_names_from(parser)
    add_format(parser, "table", "json", "csv")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.tables.base import with_derived
    from tb_steptime.tables.kernels import KERNELS
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.kernel_report import KernelReport, csv_lines, kernel_text, span_kernels
    from tb_steptime.terminal.output import print_json, print_lines, print_texts
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    traces = read_each(options.paths, problems, trace_of, options.steps, options.names_from)
    spans = (span_kernels(span, trace, options.by) for span, trace in traces)
    if options.format == "json":
        found = list(spans)  # first: reading them finds the problems
        print_json(with_derived(KernelReport(found, [error_report(problem) for problem in problems]), KERNELS))
    elif options.format == "csv":
        print_lines(csv_lines(spans))
    else:
        print_texts(kernel_text(span, shutil.get_terminal_size().columns) for span in spans)
    return exit_code(problems)


COMMAND = Command(
    "kernels",
    "print the GPU kernels of traces",
    "Print the kernels that start within the steps of each trace: their time, tensor cores, blocks, waves and "
    "occupancy.",
    _add_arguments,
    _run,
)
