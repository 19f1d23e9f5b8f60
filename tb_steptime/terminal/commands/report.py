"""`tb-steptime report LOGDIR -o report.html`: the tab as one page, opened without a server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.terminal.commands.base import Command, exit_code

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem

#: The directory or the place for the page cannot be read or written; the command was asked for what cannot be.
FAILED, ASKED_WRONGLY = 1, 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="LOGDIR", type=Path, help="a log directory")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="where to; a report that is there is written over; default: report.html",
    )
    parser.add_argument("--force", action="store_true", help="write over any file that is there")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.errors import TraceError

    refusal = _refusal(options.path, options.output, force=options.force)
    if refusal:
        return _say(refusal, ASKED_WRONGLY)
    try:
        return _report(options.path, options.output)
    except TraceError as error:
        return _say(f"{error.problem}. {error.hint}", FAILED)
    except OSError as error:
        return _say(f"{options.output}: It cannot be written: {error.strerror}. Name another place.", FAILED)


def _refusal(folder: Path, output: Path, *, force: bool) -> str | None:
    if not folder.is_dir():
        return f"{folder}: This is no folder. Name a log directory."
    if output.is_dir():
        return f"{output}: This is a folder. Name a file in it."
    if not output.parent.is_dir():
        return f"{output}: There is no folder {output.parent}. Make it, or name another place."
    if force or not output.exists() or _is_report(output):
        return None
    return f"{output}: The file is there, and is no report. Name another one, or write over it with --force."


def _is_report(file: Path) -> bool:
    from tb_steptime.serve.report import DOCTYPE

    try:
        with file.open("rb") as opened:
            return opened.read(len(DOCTYPE)) == DOCTYPE
    except OSError:
        return False


def _report(folder: Path, output: Path) -> int:
    from tb_steptime.ingest.whole_file import whole_file
    from tb_steptime.serve.report import recorded, report_page
    from tb_steptime.terminal.opened import opened_store
    from tb_steptime.terminal.printer import counted, nbytes

    problems: list[Problem] = []
    with opened_store(folder, problems) as store:
        answers = recorded(store)
    if not answers.pages:
        return exit_code(problems)
    with whole_file(output, output.suffix) as file:
        file.write(report_page(answers))
    runs, spans = counted(len(answers.index.runs), "run"), counted(len(answers.pages), "span")
    print(f"{output}: {runs}, {spans}, {nbytes(output.stat().st_size)}")
    return exit_code(problems)


def _say(line: str, code: int) -> int:
    sys.stderr.write(line + "\n")
    return code


COMMAND = Command(
    "report",
    "write the tab as one page",
    "Write all views of a log directory as one HTML page, which a browser opens without TensorBoard and without a "
    "network. Traces without a fresh summary file are read first, in parallel. The page holds no single events and no "
    "path of this machine. Exit code: 0; 1 where something could not be read or written; 2 where something was asked "
    "wrongly.",
    _add_arguments,
    _run,
)
