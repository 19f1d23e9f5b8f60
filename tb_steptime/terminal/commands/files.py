"""The commands that write files.

`tb-steptime index LOGDIR…`: the summary files that the tab would write when it is opened.
`tb-steptime report LOGDIR -o report.html`: the tab as one page, opened without a server.
`tb-steptime slice TRACE --steps 10-20 -o FILE`: some steps of a trace, as a trace of their own.
`tb-steptime export LOGDIR`: figures as TensorBoard scalars, everything as tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import FAILED, Command, add_names_from, exit_code, refused, step_numbers

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.terminal.export.tables import ExportedSpan
    from tb_steptime.terminal.indexing import IndexingOutcome


def _add_index_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="LOGDIR", type=any_path, help="a log directory or a trace file")
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=0,
        metavar="N",
        help="traces to read at the same time, each in a process of its own; default: one for each core, at most 8",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="have the workers of a Dask cluster read the traces: the address of its scheduler, such as "
        "tcp://host:8786, or local for a cluster of --jobs processes on this machine",
    )
    add_names_from(parser)
    parser.add_argument(
        "--keep-paths",
        action="store_true",
        help="keep the whole paths of source files, which may name you and your machine; default: files are named from "
        "their package or working tree on",
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1000:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of processes, such as 4')
    return int(text)


def _run_index(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.discovery import find_spans
    from tb_steptime.terminal.cluster import NoClusterError
    from tb_steptime.terminal.indexing import find_unnamed, find_work, outcome_lines
    from tb_steptime.terminal.output import print_lines

    problems: list[Problem] = []
    spans = list(find_spans(options.paths, problems))
    indexed = find_work(spans, keep_paths=options.keep_paths, names_from=options.names_from)
    indexed.problems[:0] = problems
    try:
        _write_summaries(indexed, options)
        if options.names_from is None:
            indexed = find_unnamed(indexed, spans, keep_paths=options.keep_paths)
            _write_summaries(indexed, options)
    except NoClusterError as error:
        return refused(str(error))
    except KeyboardInterrupt:
        print_lines(outcome_lines(indexed, interrupted=True))
        raise
    print_lines(outcome_lines(indexed))
    return exit_code(indexed.problems)


def _write_summaries(indexed: IndexingOutcome, options: argparse.Namespace) -> None:
    """Raises NoClusterError."""
    from tb_steptime.terminal.cluster import ClusterReaders
    from tb_steptime.terminal.indexing import LocalReaders, write_summaries

    if indexed.to_write:
        readers = ClusterReaders(options.dask, options.jobs) if options.dask else LocalReaders(options.jobs)
        write_summaries(indexed, readers)


def _add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="LOGDIR", type=any_path, help="a log directory")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="the file to write; an existing report is overwritten; default: report.html",
    )
    parser.add_argument(
        "--timeline", action="store_true", help="include single events: for each span those of the step in its headline"
    )
    parser.add_argument(
        "--steps",
        type=step_numbers,
        metavar="STEPS",
        help="with --timeline: include the events of these steps, such as 10-20",
    )
    parser.add_argument("--flame", action="store_true", help="include flame graphs; each trace is read again for them")
    parser.add_argument(
        "--try",
        dest="tried",
        nargs="+",
        default=(),
        metavar="ID",
        help="tick these cards in each Overview, which shows the step with their changes; default: the first ones",
    )
    parser.add_argument("--force", action="store_true", help="overwrite any existing file")


def _run_report(options: argparse.Namespace) -> int:
    from tb_steptime.errors import TraceError
    from tb_steptime.terminal.report_file import WrongChoiceError, write_report

    refusal = _refused_report(options.path, options.output, force=options.force)
    if options.steps and not options.timeline:
        refusal = "--steps names steps of the Timeline. Add --timeline, or leave --steps out."
    if refusal:
        return refused(refusal)
    try:
        return exit_code(write_report(options))
    except WrongChoiceError as error:
        return refused(str(error))
    except TraceError as error:
        return refused(f"{error.problem}. {error.hint}", FAILED)
    except OSError as error:
        return refused(f"{options.output}: It cannot be written: {error.strerror}. Name another place.", FAILED)


def _refused_report(folder: AnyPath, output: Path, *, force: bool) -> str | None:
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
    from tb_steptime.serve.report.page import DOCTYPE

    try:
        with file.open("rb") as opened:
            return opened.read(len(DOCTYPE)) == DOCTYPE
    except OSError:
        return False


def _add_slice_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="TRACE", type=any_path, help="a trace file")
    parser.add_argument(
        "--steps", type=step_numbers, required=True, metavar="STEPS", help="a step, or a range such as 10-20"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the file to write; compressed with gzip if its name ends in .gz",
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _run_slice(options: argparse.Namespace) -> int:
    from tb_steptime.errors import TraceError

    refusal = _refused_slice(options.path, options.output, force=options.force)
    if refusal:
        return refused(refusal)
    try:
        return _slice(options.path, options.steps, options.output)
    except TraceError as error:
        return refused(str(error), FAILED)
    except OSError as error:
        return refused(f"{options.output}: It cannot be written: {error.strerror}. Name another place.", FAILED)


def _refused_slice(trace: AnyPath, output: Path, *, force: bool) -> str | None:
    if output.is_dir():
        return f"{output}: This is a folder. Name a file in it."
    if not output.exists():
        return None
    if isinstance(trace, Path) and trace.exists() and output.samefile(trace):
        return f"{output}: This is the trace itself. Name another file."
    return None if force else f"{output}: The file is there. Name another one, or write over it with --force."


def _slice(path: AnyPath, steps: tuple[int, int], output: Path) -> int:
    from tb_steptime.files.temporary import atomic_file
    from tb_steptime.terminal.progress_bar import ProgressBar
    from tb_steptime.text import no_such_steps
    from tb_steptime.text.printer import counted, nbytes
    from tb_steptime.trace.kineto.slices import write_slice
    from tb_steptime.trace.reading import plan_slice

    try:
        with ProgressBar("finding steps  ") as bar:
            plan = plan_slice(path, *steps, bar.show)
    except ValueError as known:
        return refused(f"{path}: {no_such_steps(*steps)}. Its steps are {known}.")
    with atomic_file(output, output.suffix) as file, ProgressBar("writing  ") as bar:
        count = write_slice(path, plan, file, packed=output.name.endswith(".gz"), on_progress=bar.show)
    named = f"step {plan.first}" if plan.first == plan.last else f"steps {plan.first} to {plan.last}"
    print(f"{output}: {named}, {counted(count, 'event')}, {nbytes(output.stat().st_size)}")
    return 0


def _add_export_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run_export(options: argparse.Namespace) -> int:
    from tb_steptime.terminal.export.tables import exported_spans

    if options.output is None and not (options.kind == "scalars" and isinstance(options.path, Path)):
        return refused(f"Name a folder for the {'scalars' if options.kind == 'scalars' else 'tables'}: -o DIR.")
    problems: list[Problem] = []
    spans = exported_spans(options.path, problems, keep_names=options.keep_paths)
    try:
        if options.kind == "scalars":
            path = options.path  # the run of a file is its folder, and the log directory is around that
            _write_scalars(spans, options.output or (path if path.is_dir() else path.absolute().parent.parent))
        else:
            _write_tables(spans, options.output, options.kind)
    except OSError as error:
        return refused(
            f"{error.filename}: It cannot be written: {error.strerror}. Name another folder with -o.", FAILED
        )
    return exit_code(problems)


def _write_scalars(spans: Iterable[ExportedSpan], folder: Path) -> None:
    from tb_steptime.terminal.export.event_files import descriptions, scalar_runs, write_event_file
    from tb_steptime.terminal.output import print_lines
    from tb_steptime.text.printer import counted

    tag_descriptions = descriptions()
    for run in scalar_runs(spans):
        lines = [f"{write_event_file(folder / run.folder, run, tag_descriptions)}: {counted(len(run.points), 'value')}"]
        if run.counted:
            lines.append("  Its steps have no numbers in the recording: they count from 0.")
        if run.time_from:
            lines.append(f"  The recording has no time of day: times are by the {run.time_from}.")
        print_lines(lines)


def _write_tables(spans: Iterable[ExportedSpan], folder: Path, ending: str) -> None:
    from tb_steptime.terminal.export.tables import write_tables
    from tb_steptime.terminal.output import print_lines
    from tb_steptime.text.printer import counted

    print_lines(f"{path}: {counted(rows, 'row')}" for path, rows in write_tables(spans, folder, ending))


COMMANDS = (
    Command(
        "index",
        "write the summary files of log directories",
        "Write the summary file of each trace that has none or an outdated one, so that the tab opens the directory at "
        "once. A summary file lies next to its trace, or in the cache directory where that folder is read-only. Traces "
        "are read in parallel, on this machine or by a Dask cluster. After an interrupt all files are whole, and the "
        "next call writes the rest.",
        _add_index_arguments,
        _run_index,
    ),
    Command(
        "report",
        "write the tab as one page",
        "Write all views of a log directory as one HTML page, which a browser opens without TensorBoard and without a "
        "network. Traces without a fresh summary file are read first, in parallel. The page holds no single events "
        "without --timeline, no flame graphs without --flame, and no path of this machine. Exit code: 0; 1 where "
        "something could not be read or written; 2 for an invalid call.",
        _add_report_arguments,
        _run_report,
    ),
    Command(
        "slice",
        "cut steps out of a trace",
        "Write some steps of a trace as a trace of their own, which Perfetto and chrome://tracing open: all events "
        "that overlap these steps, everything that they launched, flows, names of threads and metadata. The trace may "
        "be of any size: it is read twice as a stream.",
        _add_slice_arguments,
        _run_slice,
    ),
    Command(
        "export",
        "write figures as TensorBoard scalars, or tables",
        "Write the measurements for other programs: the figures of each step as scalars, which TensorBoard shows next "
        "to the loss, or all results as tables. An earlier export is replaced. Nothing that is written names a "
        "machine, a user or a whole path, unless the name of a run's folder, a range of yours or --keep-paths does.",
        _add_export_arguments,
        _run_export,
    ),
)
