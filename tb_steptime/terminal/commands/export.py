"""`tb-steptime export LOGDIR`: figures as TensorBoard scalars, everything as tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import FAILED, Command, exit_code, refused

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.terminal.export.event_files import ScalarRun
    from tb_steptime.terminal.export.spans import ExportedSpan


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="LOGDIR", type=any_path, help="a log directory or a trace file")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--scalars",
        action="store_const",
        const="scalars",
        dest="kind",
        help="every figure of every step as scalars that TensorBoard shows next to the loss, in the folder "
        "step_insights of each run",
    )
    kind.add_argument(
        "--csv",
        action="store_const",
        const="csv",
        dest="kind",
        help="tables as CSV: spans, figures, steps, kernels, operators, modules, source_lines, cards",
    )
    kind.add_argument(
        "--jsonl", action="store_const", const="jsonl", dest="kind", help="the same tables, a JSON object for each row"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder to write to; default for --scalars: the log directory"
    )
    parser.add_argument(
        "--keep-paths",
        action="store_true",
        help="name workers like their files, even if that names a machine; default: the machine is left out",
    )


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.terminal.export.spans import exported_spans

    if options.output is None and not (options.kind == "scalars" and isinstance(options.path, Path)):
        return refused(f"Name a folder for the {'scalars' if options.kind == 'scalars' else 'tables'}: -o DIR.")
    problems: list[Problem] = []
    spans = exported_spans(options.path, problems, keep_names=options.keep_paths)
    try:
        if options.kind == "scalars":
            _write_scalars(spans, options.output or _log_directory(options.path))
        else:
            _write_tables(spans, options.output, options.kind)
    except OSError as error:
        return refused(
            f"{error.filename}: It cannot be written: {error.strerror}. Name another folder with -o.", FAILED
        )
    return exit_code(problems)


def _log_directory(path: Path) -> Path:
    """Returns the log directory of a path. The run of a file is its folder, and the log directory is around that."""
    return path if path.is_dir() else path.absolute().parent.parent


def _write_scalars(spans: Iterable[ExportedSpan], folder: Path) -> None:
    from tb_steptime.terminal.export.event_files import descriptions, scalar_runs, write_event_file
    from tb_steptime.terminal.output import print_lines
    from tb_steptime.text.printer import counted

    said = descriptions()
    for run in scalar_runs(spans):
        path = write_event_file(folder / run.folder, run, said)
        print_lines([f"{path}: {counted(len(run.points), 'value')}", *(f"  {remark}" for remark in _remarks(run))])


def _remarks(run: ScalarRun) -> list[str]:
    """Returns remarks on how the scalars differ from the recording."""
    remarks = []
    if run.counted:
        remarks.append("Its steps have no numbers in the recording: they count from 0.")
    if run.time_from:
        remarks.append(f"The recording has no time of day: times are by the {run.time_from}.")
    return remarks


def _write_tables(spans: Iterable[ExportedSpan], folder: Path, ending: str) -> None:
    from tb_steptime.terminal.export.tables import write_tables
    from tb_steptime.terminal.output import print_lines
    from tb_steptime.text.printer import counted

    print_lines(f"{path}: {counted(rows, 'row')}" for path, rows in write_tables(spans, folder, ending))


COMMAND = Command(
    "export",
    "write figures as TensorBoard scalars, or tables",
    "Write the measurements for other programs: the figures of each step as scalars, which TensorBoard shows next to "
    "the loss, or all results as tables. An earlier export is replaced. Nothing that is written names a machine, a "
    "user or a whole path, unless the name of a run's folder, a range of yours or --keep-paths does.",
    _add_arguments,
    _run,
)
