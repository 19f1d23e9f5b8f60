"""The parts of a command. Its module imports nothing heavy at the top, since most of a command's time is its start."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tb_steptime.files.paths import AnyPath, any_path

if TYPE_CHECKING:
    from msgspec import Struct

    from tb_steptime.ingest.states import Problem
    from tb_steptime.tables.base import Table
    from tb_steptime.tables.notes import ErrorReport
    from tb_steptime.terminal.spans import StepChoice

T = TypeVar("T")

_FROM_TO = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


class Command(NamedTuple):
    """`tb-steptime NAME`. help is its line in the list of commands; add_arguments adds what it takes to its parser; run
    returns the exit code (see `exit_code`)."""

    name: str
    help: str
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def add_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", type=any_path, help="a trace file or a log directory")


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Adds --format. The first format is the default."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"default: {formats[0]}")


def add_steps(parser: argparse.ArgumentParser) -> None:
    """Adds --steps, which says what a step is and which steps are measured; see `as_one_step` and `only_steps`."""
    parser.add_argument(
        "--steps",
        type=_step_choice,
        default="found",
        metavar="STEPS",
        help="found: by their marks, or by repeated calls; recording: the whole recording as one step; 10-20: "
        "these alone; default: found",
    )


def add_names_from(parser: argparse.ArgumentParser) -> None:
    """Adds --names-from; see `ingest.graph_names`."""
    parser.add_argument(
        "--names-from",
        type=_names_from,
        metavar="PATH",
        help="an eager recording of the same job, or a folder with one, which names the ops and modules of captured "
        "graphs; default: one in the log directory, if there is any",
    )


def _names_from(named: str) -> AnyPath:
    path = any_path(named)
    if not isinstance(path, Path):
        raise argparse.ArgumentTypeError(f'"{path}" is not on this machine: copy the recording first')
    if not path.exists():
        raise argparse.ArgumentTypeError(f'"{named}" is no file or folder')
    return path


def _step_choice(text: str) -> StepChoice:
    if text in ("found", "recording"):
        return "recording" if text == "recording" else "found"
    return step_numbers(text, "found, recording, or the numbers of steps")


def step_numbers(text: str, expected: str = "the numbers of steps") -> tuple[int, int]:
    """Returns the first and the last step that an argument names. expected: what it may be, without examples."""
    numbers = _FROM_TO.fullmatch(text)
    if numbers is None or int(numbers[1]) > int(numbers[2] or numbers[1]):
        raise argparse.ArgumentTypeError(f'cannot read "{text}": give {expected}, such as 10 or 10-20')
    return int(numbers[1]), int(numbers[2] or numbers[1])


#: Exit codes of a command that could not do what was asked: something could not be read or written; the arguments are
#: wrong, or what they name does not exist.
FAILED, ASKED_WRONGLY = 1, 2


def refused(line: str, code: int = ASKED_WRONGLY) -> int:
    """Writes why the command does not do what was asked to stderr, and returns the exit code."""
    sys.stderr.write(f"{line}\n")
    return code


def exit_code(problems: Sequence[Problem]) -> int:
    """Writes each problem to stderr, on a line of its own. Returns 1 if there is any, else 0."""
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


def read_named(
    paths: Iterable[AnyPath],
    problems: list[Problem],
    read: Callable[[AnyPath], T],
    in_folder: Callable[[Path], Iterable[Path]],
) -> Iterator[T]:
    """Reads each file that was named, and those files of a folder that can be read; in_folder: which these may be."""
    from tb_steptime.errors import TraceError
    from tb_steptime.ingest.states import Problem

    for named in paths:
        is_folder = isinstance(named, Path) and named.is_dir()
        for file in sorted(in_folder(named)) if isinstance(named, Path) and is_folder else [named]:
            try:
                yield read(file)
            except TraceError as error:
                if not is_folder:
                    problems.append(Problem.of(error, file))


def readable_width() -> int:
    """Returns the width of the terminal, or the nearest one in which paragraphs and tables are readable."""
    return max(80, min(100, shutil.get_terminal_size().columns))


def print_report(
    format: str,
    items: Iterable[T],
    problems: Sequence[Problem],
    text: Callable[[T], str],
    report: Callable[[list[T], list[ErrorReport]], Struct],
    *tables: Table[Any],
    rows: str = "",
) -> int:
    """Prints what is found as a text each, as JSON or as CSV, and returns the exit code. problems: those that reading
    `items` adds count, too. tables: those whose derived columns are in the JSON; rows: the field of an item that holds
    the rows of the first one, which CSV has."""
    from tb_steptime.tables.base import with_derived
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import csv_table, print_json, print_lines, print_texts

    if format == "json":
        whole = list(items)  # first: reading them finds the problems
        print_json(with_derived(report(whole, [error_report(problem) for problem in problems]), *tables))
    elif format == "csv":
        print_lines(csv_table(tables[0], rows, items))
    else:
        print_texts(map(text, items))
    return exit_code(problems)
