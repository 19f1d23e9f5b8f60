"""`tb-steptime fit TRACE`: the memory of a training at other batches, and the largest batch that fits.
`tb-steptime snapshot PATH…`: what memory snapshots of PyTorch say, as text or JSON.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import (
    Command,
    add_format,
    add_steps,
    print_report,
    read_named,
    readable_width,
)

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.snapshots.summary import SnapshotSummary


def _add_fit_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run_fit(options: argparse.Namespace) -> int:
    from tb_steptime.analyses.memory import device_fits
    from tb_steptime.metrics.memory.fit.fit import MARGIN
    from tb_steptime.terminal.memory_report import FitReport, fit_text, span_fit
    from tb_steptime.terminal.spans import read_each, trace_of

    problems: list[Problem] = []
    traces = read_each([options.path], problems, trace_of, options.steps)
    return print_report(
        options.format,
        (span_fit(span, device_fits(trace, options.batch, options.memory)) for span, trace in traces),
        problems,
        lambda span: fit_text(span, readable_width(), options.checkpoint),
        lambda spans, errors: FitReport(spans, MARGIN, errors),
    )


def _add_snapshot_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run_snapshot(options: argparse.Namespace) -> int:
    from tb_steptime.terminal.memory_report import SnapshotReport, snapshot_text

    problems: list[Problem] = []
    snapshots = _read_snapshots(options.paths, options.since, problems)
    return print_report(options.format, snapshots, problems, snapshot_text, SnapshotReport)


def _read_snapshots(paths: list[AnyPath], since: AnyPath | None, problems: list[Problem]) -> Iterator[SnapshotSummary]:
    """since: an earlier snapshot."""
    from tb_steptime.errors import TraceError
    from tb_steptime.ingest.names import SNAPSHOT_ENDINGS
    from tb_steptime.ingest.states import Problem
    from tb_steptime.snapshots.reading import read_snapshot
    from tb_steptime.snapshots.summary import summarize_snapshot

    try:
        before = read_snapshot(since) if since else None
    except TraceError as error:
        problems.append(Problem.of(error, since))
        return

    def in_folder(folder: Path) -> Iterator[Path]:
        return (each for each in folder.rglob("*") if each.name.endswith(SNAPSHOT_ENDINGS) and each.is_file())

    def summary_of(file: AnyPath) -> SnapshotSummary:
        return summarize_snapshot(read_snapshot(file), before)

    for named in paths:
        is_empty = isinstance(named, Path) and named.is_dir()
        for snapshot in read_named([named], problems, summary_of, in_folder):
            is_empty = False
            yield snapshot
        if is_empty:
            hint = f"torch.cuda.memory._dump_snapshot writes them, as files named *{' or *'.join(SNAPSHOT_ENDINGS)}."
            problems.append(Problem("The folder holds no memory snapshots", str(named), hint))


COMMANDS = (
    Command(
        "fit",
        "estimate which batch fits into memory",
        "Estimate the peak of a training's memory at other batches, and the largest batch that fits, from one "
        "recording with profile_memory=True and record_shapes=True.",
        _add_fit_arguments,
        _run_fit,
    ),
    Command(
        "snapshot",
        "print what fills the memory of a GPU, from memory snapshots",
        "Print what fills the memory of each GPU, from snapshots that torch.cuda.memory._dump_snapshot wrote: the peak "
        "by line of code, free memory and what keeps it, and why memory ran out. A snapshot is read without being "
        "unpickled.",
        _add_snapshot_arguments,
        _run_snapshot,
    ),
)
