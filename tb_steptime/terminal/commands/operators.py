"""`tb-steptime operators PATH…`: what ops and modules of each trace cost, as text, JSON, CSV or stacks."""

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
    refused,
)

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.metrics.flame import FlameBy

#: Formats of call paths: folded stacks for flamegraph.pl, and speedscope's JSON.
_FLAME_GRAPHS = ("folded", "speedscope")
#: The groupings of call paths. Grouped by name, a path consists of nested ops.
_PATHS: dict[str, FlameBy] = {"name": "op", "stack": "stack", "module": "module"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
    if options.format in _FLAME_GRAPHS:
        return _flame_graphs(options)
    from tb_steptime.tables.base import with_derived
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.operator_report import (
        OPERATOR_LINES,
        OperatorChoice,
        OperatorReport,
        csv_lines,
        span_operators,
        span_text,
    )
    from tb_steptime.terminal.output import print_json, print_lines, print_texts
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    choice = OperatorChoice(options.by, options.window, options.backward)
    traces = read_each(options.paths, problems, trace_of, options.steps, options.names_from)
    if options.format == "json":
        found = [
            span_operators(span, trace, choice) for span, trace in traces
        ]  # first: reading them finds the problems
        report = OperatorReport(found, [error_report(problem) for problem in problems])
        print_json(with_derived(report, OPERATOR_LINES))
    elif options.format == "csv":
        print_lines(csv_lines(span_operators(span, trace, choice) for span, trace in traces))
    else:
        width = shutil.get_terminal_size().columns
        print_texts(span_text(span, trace, choice, width) for span, trace in traces)
    return exit_code(problems)


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
    found, choice = [], FlameChoice(_PATHS[options.by], options.window, options.backward, options.measure)
    for span, trace in read_each(options.paths, problems, trace_of, options.steps, options.names_from):
        try:
            found.append(span_stacks(span, trace, choice))
        except TraceError as error:
            problems.append(Problem(error.problem, error.path, error.hint))
    if options.format == "folded":
        print_lines(folded_lines(found))
    elif found:
        print_json(speedscope(found, __version__))
    return exit_code(problems)


COMMAND = Command(
    "operators",
    "print what ops and modules of traces cost",
    "Print the ops and modules of each trace: calls, time on the host and on the device with and without what is "
    "inside them, and the GPU's idle time before their launches.",
    _add_arguments,
    _run,
)
