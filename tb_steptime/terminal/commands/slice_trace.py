"""`tb-steptime slice TRACE --steps 3-4 -o out.json.gz`: some steps of a trace as a trace of their own."""

from __future__ import annotations

import argparse
from pathlib import Path

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.terminal.commands.base import FAILED, Command, refused, step_numbers


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.errors import TraceError

    refusal = _refusal(options.path, options.output, force=options.force)
    if refusal:
        return refused(refusal)
    try:
        return _slice(options.path, options.steps, options.output)
    except TraceError as error:
        return refused(str(error), FAILED)
    except OSError as error:
        return refused(f"{options.output}: It cannot be written: {error.strerror}. Name another place.", FAILED)


def _refusal(trace: AnyPath, output: Path, *, force: bool) -> str | None:
    if output.is_dir():
        return f"{output}: This is a folder. Name a file in it."
    if not output.exists():
        return None
    if isinstance(trace, Path) and trace.exists() and output.samefile(trace):
        return f"{output}: This is the trace itself. Name another file."
    return None if force else f"{output}: The file is there. Name another one, or write over it with --force."


def _slice(path: AnyPath, steps: tuple[int, int], output: Path) -> int:
    from tb_steptime.files.temporary import whole_file
    from tb_steptime.terminal.progress_bar import ProgressBar
    from tb_steptime.text.printer import counted, nbytes
    from tb_steptime.trace.kineto.slices.file import write_slice
    from tb_steptime.trace.reading import plan_slice

    try:
        with ProgressBar("finding steps  ") as bar:
            plan = plan_slice(path, *steps, bar.show)
    except ValueError as known:
        return refused(f"{path}: It has no steps {steps[0]} to {steps[1]}. Its steps are {known}.")
    with whole_file(output, output.suffix) as file, ProgressBar("writing  ") as bar:
        count = write_slice(path, plan, file, packed=output.name.endswith(".gz"), on_progress=bar.show)
    named = f"step {plan.first}" if plan.first == plan.last else f"steps {plan.first} to {plan.last}"
    print(f"{output}: {named}, {counted(count, 'event')}, {nbytes(output.stat().st_size)}")
    return 0


COMMAND = Command(
    "slice",
    "cut steps out of a trace",
    "Write some steps of a trace as a trace of their own, which Perfetto and chrome://tracing open: all events that "
    "overlap these steps, everything that they launched, flows, names of threads and metadata. The trace may be of any "
    "size: it is read twice as a stream.",
    _add_arguments,
    _run,
)
