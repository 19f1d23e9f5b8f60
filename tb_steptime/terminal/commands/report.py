"""`tb-steptime report LOGDIR -o report.html`: the tab as one page, opened without a server."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import FAILED, Command, exit_code, refused, step_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tb_steptime.ingest.states import Problem
    from tb_steptime.serve.report import Included, IncludedAnswers
    from tb_steptime.serve.store import Store


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.errors import TraceError

    refusal = _refusal(options.path, options.output, force=options.force)
    if options.steps and not options.timeline:
        refusal = "--steps names steps of the Timeline. Add --timeline, or leave --steps out."
    if refusal:
        return refused(refusal)
    try:
        return _report(options)
    except TraceError as error:
        return refused(f"{error.problem}. {error.hint}", FAILED)
    except OSError as error:
        return refused(f"{options.output}: It cannot be written: {error.strerror}. Name another place.", FAILED)


def _refusal(folder: AnyPath, output: Path, *, force: bool) -> str | None:
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


def _report(options: argparse.Namespace) -> int:
    from tb_steptime.files.temporary import whole_file
    from tb_steptime.serve.report import Included, recorded, report_page
    from tb_steptime.serve.scalars import scalars_of
    from tb_steptime.terminal.opened import opened_store
    from tb_steptime.text.printer import counted, nbytes

    folder, output = options.path, options.output
    problems: list[Problem] = []
    with opened_store(folder, problems) as store:
        answers = recorded(store, scalars_of(folder), options.tried)
        if refusal := _unknown_card(answers, options.tried):
            return refused(f"{folder}: {refusal}")
        held = _besides(store, options, problems) if options.timeline or options.flame else Included()
    if not answers.pages:
        return exit_code(problems)
    if options.steps and not held.events and not problems:
        first, last = options.steps
        return refused(f"{folder}: No span has the steps {first} to {last}.")
    with whole_file(output, output.suffix) as file:
        file.write(report_page(answers, held))
    runs, spans = counted(len(answers.index.runs), "run"), counted(len(answers.pages), "span")
    print(f"{output}: {runs}, {spans}{_said(held)}, {nbytes(output.stat().st_size)}")
    return exit_code(problems)


def _unknown_card(answers: IncludedAnswers, tried: Sequence[str]) -> str | None:
    from tb_steptime.serve.report import can_be_tried

    known = can_be_tried(answers)
    missing = next((id for id in tried if id not in known), None)
    if missing is None:
        return None
    return f"No card {missing} can be ticked. " + (
        f"These can: {', '.join(known)}." if known else "The recordings have no card that can."
    )


def _said(held: Included) -> str:
    from tb_steptime.text.printer import counted

    steps = sum(len(each.held.steps) or 1 for each in held.events.values())
    events = f", events of {counted(steps, 'step')}" if steps else ""
    return events + (f", flame graphs of {counted(len(held.flames), 'span')}" if held.flames else "")


def _besides(store: Store, options: argparse.Namespace, problems: list[Problem]) -> Included:
    """Reads single events and flame graphs, with a progress bar."""
    from msgspec.structs import replace

    from tb_steptime.serve.report import Besides, held_besides
    from tb_steptime.terminal.progress_bar import SpansBar

    found: list[Problem] = []
    with SpansBar("events of ") as bar:
        held = held_besides(store, Besides(options.timeline, options.steps, options.flame), found, bar.show)
    problems += [replace(each, file=str(options.path / each.file)) for each in found]
    return held


COMMAND = Command(
    "report",
    "write the tab as one page",
    "Write all views of a log directory as one HTML page, which a browser opens without TensorBoard and without a "
    "network. Traces without a fresh summary file are read first, in parallel. The page holds no single events without "
    "--timeline, no flame graphs without --flame, and no path of this machine. Exit code: 0; 1 where something could "
    "not be read or written; 2 for an invalid call.",
    _add_arguments,
    _run,
)
