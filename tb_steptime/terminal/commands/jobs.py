"""The commands about the ranks of a job, as text or JSON.

`tb-steptime ranks PATH…`: the ranks of each job compared.
`tb-steptime hang PATH…`: which ranks block a job, by dumps of the flight recorder.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import (
    Command,
    add_format,
    add_paths,
    exit_code,
    print_report,
    read_named,
    readable_width,
)

if TYPE_CHECKING:
    from tb_steptime.hangs.dumps import Dump
    from tb_steptime.ingest.states import Problem


def _add_ranks_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_format(parser, "table", "json")


def _run_ranks(options: argparse.Namespace) -> int:
    from tb_steptime.tables.ranks import COLLECTIVES, MESSAGES, RANKS
    from tb_steptime.terminal.output import print_lines, wrapped
    from tb_steptime.terminal.ranks.contract import JobsReport
    from tb_steptime.terminal.ranks.jobs import NO_JOB, Jobs
    from tb_steptime.terminal.ranks.report import job_report, job_table
    from tb_steptime.terminal.spans import measured_span, read_each

    problems: list[Problem] = []
    jobs = Jobs()
    for span, measured in read_each(options.paths, problems, measured_span):
        jobs.add(span, measured)
    found_jobs = jobs.found()
    if options.format == "table" and not found_jobs:
        print_lines(wrapped(NO_JOB, readable_width()))
        return exit_code(problems)
    text = partial(job_table, width=readable_width())
    return print_report(
        options.format,
        found_jobs,
        problems,
        text,
        lambda jobs, errors: JobsReport(list(map(job_report, jobs)), errors),
        *(RANKS, COLLECTIVES, MESSAGES),
    )


def _add_hang_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", type=any_path, help="the dumps of a job, or the folder that holds them"
    )
    add_format(parser, "table", "json")


def _run_hang(options: argparse.Namespace) -> int:
    from tb_steptime.hangs.verdict import find_hang
    from tb_steptime.terminal.hang_report import HangReport, hang_text

    problems: list[Problem] = []
    hang = find_hang(_read_dumps(options.paths, problems))
    jobs = [hang] if hang.ranks or options.format == "json" else []
    text = partial(hang_text, width=readable_width())
    return print_report(options.format, jobs, problems, text, lambda _, errors: HangReport(hang, errors))


def _read_dumps(paths: list[AnyPath], problems: list[Problem]) -> list[Dump]:
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


RANKS = Command(
    "ranks",
    "print the ranks of jobs",
    "Print which rank of each job makes the others wait and why, the waits of all ranks, and what they exchange. Every "
    "rank must be recorded, at the same steps.",
    _add_ranks_arguments,
    _run_ranks,
)
HANG = Command(
    "hang",
    "print which ranks block a job, from dumps of NCCL's flight recorder",
    "Print which ranks block the others when a job hangs, from the dumps that NCCL's flight recorder wrote: a rank "
    "whose GPU has not finished what others have finished, or whose program has not begun what others have begun.",
    _add_hang_arguments,
    _run_hang,
)
