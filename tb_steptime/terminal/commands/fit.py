"""`tb-steptime fit TRACE`: the memory of a training at other batches, and the largest batch that fits."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import Command, add_format, add_steps, exit_code

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="TRACE", type=any_path, help="a trace file or a log directory")
    parser.add_argument(
        "--batch",
        nargs="+",
        type=_batch,
        default=(),
        metavar="N",
        help="batch sizes to estimate; default: half, twice and four times the recorded one",
    )
    parser.add_argument(
        "--memory", type=_size, metavar="SIZE", help="memory of the device, such as 24GB; default: as the trace says"
    )
    parser.add_argument(
        "--checkpoint",
        action="store_true",
        help="also print the code of settings that save memory: gradient checkpointing by module, other optimizers",
    )
    add_steps(parser)
    add_format(parser, "table", "json")


def _batch(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of samples')
    return int(text)


def _size(text: str) -> int:
    from tb_steptime.metrics.memory.fit.predictions import size_of

    try:
        return size_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.metrics.memory.fit.fit import MARGIN
    from tb_steptime.metrics.memory.fit.predictions import fits
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.fit_report import FitReport, fit_text, span_fit
    from tb_steptime.terminal.output import print_json, print_texts
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    spans = [
        span_fit(found, fits(trace, options.batch, options.memory))
        for found, trace in read_each([options.path], problems, trace_of, options.steps)
    ]
    if options.format == "json":
        print_json(FitReport(spans, MARGIN, [error_report(problem) for problem in problems]))
    else:
        print_texts(fit_text(span, options.checkpoint) for span in spans)
    return exit_code(problems)


COMMAND = Command(
    "fit",
    "estimate which batch fits into memory",
    "Estimate the peak of a training's memory at other batches, and the largest batch that fits, from one recording "
    "with profile_memory=True and record_shapes=True.",
    _add_arguments,
    _run,
)
