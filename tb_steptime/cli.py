"""`tb-steptime COMMAND …`: the tab's figures for a terminal or a CI job.

The commands are listed in `terminal.commands`.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from tb_steptime import __version__
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.terminal.commands import COMMANDS

#: Number of new objects between garbage collections: a command makes a hundred thousand objects that all stay, most of
#: them of modules, and with the usual 700 the collections take a twentieth of its time.
_OBJECTS_BETWEEN_COLLECTIONS = 500_000
#: Discards log messages: a command's output says what it could not compute, and a terminal is no place for tracebacks.
_NO_TRACEBACKS = logging.NullHandler()


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, 1 when anything could not be read, 2 for a wrong call, 130 when interrupted."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # without it, a last garbage collection before the end takes 20 ms
    write_utf8(sys.stdout)
    own, others = _apart(sys.argv[1:] if arguments is None else arguments)
    _leave_without_command(own)
    options = _parser(own).parse_args(own)
    options.others = others
    logging.getLogger("tb_steptime").addHandler(_NO_TRACEBACKS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads only reserve memory: no analysis multiplies
    try:
        return next(command.run(options) for command in COMMANDS if command.name == options.command)
    except RemoteProblem as problem:  # the store did not answer what an address is
        sys.stderr.write(f"{problem.filename}: {problem.fact}. {problem.hint}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `| head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _apart(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str] | None]:
    """Separates the candidates of `compare BASE… -- CANDIDATE…`, since argparse drops the dashes between the two; None
    if there are no dashes."""
    if not arguments or arguments[0] != "compare" or "--" not in arguments:
        return arguments, None
    place = list(arguments).index("--")
    return arguments[:place], arguments[place + 1 :]


def _leave_without_command(arguments: Sequence[str]) -> None:
    """Exits where no command is named, with the help, or where the named one does not exist, with the nearest one."""
    names = [command.name for command in COMMANDS]
    if not arguments:
        parser = _parser()
        parser.print_help(sys.stderr)
        parser.exit(2)
    if arguments[0] not in names and not arguments[0].startswith("-"):
        from tb_steptime.text import did_you_mean

        nearest = did_you_mean(arguments[0], names)
        _parser().error(f"There is no command {arguments[0]}.{nearest} The commands are: {', '.join(names)}.")


def _parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Returns a parser of the command that the first argument names, else of all commands, which takes 5 ms."""
    named = [command for command in COMMANDS if list(arguments[:1]) == [command.name]]
    parser = argparse.ArgumentParser(
        prog="tb-steptime",
        description="Where the step time of a PyTorch job goes.",
        epilog="Begin with tb-steptime summarize LOGDIR: it says what limits each run, and what to do first.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and what reads traces, and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    for command in named or COMMANDS:
        command.add_arguments(commands.add_parser(command.name, help=command.help, description=command.description))
    return parser


class _Version(argparse.Action):
    """Prints the version and the reader, and whether TensorBoard can start; these are only looked up then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from tb_steptime.trace.extension import reader_name

        print(f"{parser.prog} {__version__} (traces are read by {reader_name()})")
        if problem := why_it_cannot_start():
            sys.stderr.write(f"{problem}\n")
        parser.exit()


#: The first release of TensorBoard that does without `pkg_resources`.
_WITHOUT_PKG_RESOURCES = (2, 21)


def why_it_cannot_start() -> str | None:
    """Says why the installed TensorBoard cannot start, and how to fix it; None where no problem is known or none is
    installed. Without `pkg_resources`, its releases up to 2.20 end before they look for any plugin, so only the command
    line can say why."""
    import importlib.util
    import re
    from importlib import metadata

    try:
        installed = metadata.version("tensorboard")
    except metadata.PackageNotFoundError:
        return None
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    independent = numbers is None or (int(numbers[1]), int(numbers[2])) >= _WITHOUT_PKG_RESOURCES
    if independent or importlib.util.find_spec("pkg_resources") is not None:
        return None
    return (
        f"TensorBoard {installed} cannot start here: it imports pkg_resources, which setuptools 82 and later do not "
        "have. Either pip install 'tensorboard>=2.21' or pip install 'setuptools<82'."
    )


def write_utf8(stream: TextIO) -> None:
    """Makes a stream that is no terminal accept every character: JSON is UTF-8, and names and units contain characters
    that a code page of Windows lacks. A terminal keeps its encoding, and one set by PYTHONIOENCODING is kept, too."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
        stream.reconfigure(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
