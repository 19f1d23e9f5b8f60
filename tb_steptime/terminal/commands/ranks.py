"""`tb-steptime ranks PATH…`: the ranks of each job compared, as text or JSON."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from tb_steptime.terminal.commands.base import Command, add_format, add_paths, exit_code, print_report, readable_width

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem

_NO_JOB = "No two recordings here are of ranks of one job, at the same time."


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_format(parser, "table", "json")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.tables.ranks import COLLECTIVES, MESSAGES, RANKS
    from tb_steptime.terminal.output import print_lines
    from tb_steptime.terminal.ranks.contract import JobsReport
    from tb_steptime.terminal.ranks.jobs import Jobs
    from tb_steptime.terminal.ranks.report import job_report, job_table
    from tb_steptime.terminal.spans import measured_span, read_each

    problems: list[Problem] = []
    jobs = Jobs()
    for span, measured in read_each(options.paths, problems, measured_span):
        jobs.add(span, measured)
    found_jobs = jobs.found()
    if options.format == "table" and not found_jobs:
        print_lines([_NO_JOB])
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


COMMAND = Command(
    "ranks",
    "print the ranks of jobs",
    "Print which rank of each job makes the others wait and why, the waits of all ranks, and what they exchange. Every "
    "rank must be recorded, at the same steps.",
    _add_arguments,
    _run,
)
