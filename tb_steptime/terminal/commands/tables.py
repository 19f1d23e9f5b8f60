"""The commands that print a table of each trace, as text, JSON or CSV.

`tb-steptime kernels PATH…`: its kernels.
`tb-steptime operators PATH…`: what its ops and modules cost, also as stacks.
`tb-steptime lines PATH…`: what each line of the user's code costs.
"""

from __future__ import annotations

import argparse
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.terminal.commands.base import (
    Command,
    add_format,
    add_names_from,
    add_paths,
    add_steps,
    exit_code,
    print_report,
    readable_width,
    refused,
)

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.metrics.flame import FlameBy


def _add_kernels_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run_kernels(options: argparse.Namespace) -> int:
    from tb_steptime.tables.kernels import KERNELS
    from tb_steptime.terminal.kernel_report import KernelReport, kernel_text, span_kernels
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    traces = read_each(options.paths, problems, trace_of, options.steps, options.names_from)
    spans = (span_kernels(span, trace, options.by) for span, trace in traces)
    text = partial(kernel_text, width=shutil.get_terminal_size().columns)
    return print_report(options.format, spans, problems, text, KernelReport, KERNELS, rows="kernels")


#: Formats of call paths: folded stacks for flamegraph.pl, and speedscope's JSON.
_FLAME_GRAPHS = ("folded", "speedscope")
#: The groupings of call paths. Grouped by name, a path consists of nested ops.
_PATHS: dict[str, FlameBy] = {"name": "op", "stack": "stack", "module": "module"}


def _add_operators_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "--by",
        choices=("name", "shape", "stack", "module", "line", "phase"),
        default="name",
        metavar="WHAT",
        help="how ops of the same name are grouped: name (all together), shape (of their inputs), stack, module, line "
        "or phase; default: name. As a table, module prints the tree of modules first",
    )
    parser.add_argument(
        "--window",
        choices=("steps", "recording"),
        default="steps",
        help="sum over the steps, or over the whole recording; default: steps",
    )
    parser.add_argument(
        "--backward",
        choices=("ran", "made"),
        default="ran",
        help="where work of the backward pass counts: where it ran, or for the op of the forward pass that made it; "
        "default: ran",
    )
    add_steps(parser)
    add_names_from(parser)
    add_format(parser, "table", "json", "csv", *_FLAME_GRAPHS)
    parser.add_argument(
        "--measure",
        choices=("device", "host", "idle", "bytes"),
        help="what the stacks of folded and speedscope sum: device time, host time in ops, GPU idle time before "
        "launches, or allocated bytes; default: device, or host where there is no GPU",
    )


def _run_operators(options: argparse.Namespace) -> int:
    if options.format in _FLAME_GRAPHS:
        return _flame_graphs(options)
    from tb_steptime.terminal.operator_report import (
        OPERATOR_LINES,
        OperatorChoice,
        OperatorReport,
        operator_text,
        span_operators,
        span_text,
    )
    from tb_steptime.terminal.output import print_texts
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    choice = OperatorChoice(options.by, options.window, options.backward)
    traces = read_each(options.paths, problems, trace_of, options.steps, options.names_from)
    width = shutil.get_terminal_size().columns
    if options.format == "table":  # the folded modules are only in the text
        print_texts(span_text(span, trace, choice, width) for span, trace in traces)
        return exit_code(problems)
    spans = (span_operators(span, trace, choice) for span, trace in traces)
    text = partial(operator_text, width=width)
    return print_report(options.format, spans, problems, text, OperatorReport, OPERATOR_LINES, rows="operators")


def _flame_graphs(options: argparse.Namespace) -> int:
    if options.by not in _PATHS:
        return refused(f"Call paths are grouped --by {', '.join(_PATHS)}; with --format json every choice is there.")
    from tb_steptime import __version__
    from tb_steptime.errors import TraceError
    from tb_steptime.ingest.states import Problem
    from tb_steptime.terminal.export.flame_files import FlameChoice, folded_lines, span_stacks, speedscope
    from tb_steptime.terminal.output import print_json, print_lines
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    stacks = []
    choice = FlameChoice(_PATHS[options.by], options.window, options.backward, options.measure)
    for span, trace in read_each(options.paths, problems, trace_of, options.steps, options.names_from):
        try:
            stacks.append(span_stacks(span, trace, choice))
        except TraceError as error:
            problems.append(Problem.of(error))
    if options.format == "folded":
        print_lines(folded_lines(stacks))
    elif stacks:
        print_json(speedscope(stacks, __version__))
    return exit_code(problems)


def _add_lines_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run_lines(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.sources import user_folders
    from tb_steptime.terminal.line_report import REPORT_LINES, LineReport, line_text, span_lines
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    folders = options.sources or user_folders()
    traces = read_each(options.paths, problems, trace_of, options.steps, options.names_from)
    spans = (span_lines(span, trace, folders) for span, trace in traces)
    text = partial(line_text, width=readable_width())
    return print_report(options.format, spans, problems, text, LineReport, REPORT_LINES, rows="lines")


COMMANDS = (
    Command(
        "kernels",
        "print the GPU kernels of traces",
        "Print the kernels that start within the steps of each trace: their time, tensor cores, blocks, waves and "
        "occupancy.",
        _add_kernels_arguments,
        _run_kernels,
    ),
    Command(
        "operators",
        "print what ops and modules of traces cost",
        "Print the ops and modules of each trace: calls, time on the host and on the device with and without what is "
        "inside them, and the GPU's idle time before their launches.",
        _add_operators_arguments,
        _run_operators,
    ),
    Command(
        "lines",
        "print what lines of your code cost",
        "Print what each line of your code costs in the steps of each trace that was recorded with stacks: time on the "
        "CPU, GPU time of what it launches, the GPU's idle time before its launches, and allocated memory.",
        _add_lines_arguments,
        _run_lines,
    ),
)
