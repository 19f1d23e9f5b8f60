"""`tb-steptime snapshot PATH…`: what memory snapshots of PyTorch say, as text or JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import Command, add_format, exit_code

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.snapshots.summary import SnapshotSummary


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", type=any_path, help="a snapshot, or a folder: all snapshots in it"
    )
    parser.add_argument(
        "--since",
        metavar="PATH",
        type=any_path,
        help="an earlier snapshot, to show how much more each line holds since",
    )
    add_format(parser, "table", "json")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import print_json, print_texts
    from tb_steptime.terminal.snapshot_report import SnapshotReport, snapshot_text

    problems: list[Problem] = []
    found = _read(options.paths, options.since, problems)
    if options.format == "json":
        snapshots = list(found)  # first: reading them finds the problems
        print_json(SnapshotReport(snapshots, [error_report(problem) for problem in problems]))
    else:
        print_texts(map(snapshot_text, found))
    return exit_code(problems)


def _read(paths: list[AnyPath], since: AnyPath | None, problems: list[Problem]) -> Iterator[SnapshotSummary]:
    """Reads each file that was named, and those pickles of a folder that are snapshots. since: an earlier snapshot."""
    from tb_steptime.errors import TraceError
    from tb_steptime.ingest.names import SNAPSHOT_ENDINGS
    from tb_steptime.ingest.states import Problem
    from tb_steptime.snapshots.reading import read_snapshot
    from tb_steptime.snapshots.summary import summarize_snapshot

    try:
        before = read_snapshot(since) if since else None
    except TraceError as error:
        problems.append(Problem(error.problem, str(since), error.hint))
        return
    for named in paths:
        files: list[AnyPath] = [named]
        if isinstance(named, Path) and named.is_dir():
            files = list[AnyPath](
                sorted(each for each in named.rglob("*") if each.name.endswith(SNAPSHOT_ENDINGS) and each.is_file())
            )
        for file in files:
            try:
                yield summarize_snapshot(read_snapshot(file), before)
            except TraceError as error:
                if file is named:
                    problems.append(Problem(error.problem, str(file), error.hint))


COMMAND = Command(
    "snapshot",
    "print what fills the memory of a GPU, from memory snapshots",
    "Print what fills the memory of each GPU, from snapshots that torch.cuda.memory._dump_snapshot wrote: the peak by "
    "line of code, free memory and what keeps it, and why memory ran out. A snapshot is read without being unpickled.",
    _add_arguments,
    _run,
)
