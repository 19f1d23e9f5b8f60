"""`tb-steptime hang PATH…`: which ranks block a job, by dumps of the flight recorder, as text or JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import Command, add_format, print_report, read_named

if TYPE_CHECKING:
    from tb_steptime.hangs.dumps import Dump
    from tb_steptime.ingest.states import Problem


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", type=any_path, help="the dumps of a job, or the folder that holds them"
    )
    add_format(parser, "table", "json")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.hangs.verdict import find_hang
    from tb_steptime.terminal.hang_report import HangReport, hang_text

    problems: list[Problem] = []
    hang = find_hang(_read(options.paths, problems))
    jobs = [hang] if hang.ranks or options.format == "json" else []
    return print_report(options.format, jobs, problems, hang_text, lambda _, errors: HangReport(hang, errors))


def _read(paths: list[AnyPath], problems: list[Problem]) -> list[Dump]:
    """A folder without dumps is a problem."""
    from tb_steptime.hangs.dumps import read_dump
    from tb_steptime.ingest.states import Problem

    by_rank: dict[int, Dump] = {}
    for named in paths:
        before = len(by_rank)
        by_rank |= {dump.rank: dump for dump in read_named([named], problems, read_dump, Path.iterdir)}
        if isinstance(named, Path) and named.is_dir() and len(by_rank) == before:
            hint = "PyTorch writes them with TORCH_NCCL_DUMP_ON_TIMEOUT=1 and TORCH_FR_BUFFER_SIZE=2000."
            problems.append(Problem("The folder holds no dump of the flight recorder", str(named), hint))
    return list(by_rank.values())


COMMAND = Command(
    "hang",
    "print which ranks block a job, from dumps of NCCL's flight recorder",
    "Print which ranks block the others when a job hangs, from the dumps that NCCL's flight recorder wrote: a rank "
    "whose GPU has not finished what others have finished, or whose program has not begun what others have begun.",
    _add_arguments,
    _run,
)
