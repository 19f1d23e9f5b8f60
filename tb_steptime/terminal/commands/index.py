"""`tb-steptime index LOGDIR…`: write the summary files that the tab would write when it is opened."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import Command, add_names_from, exit_code, refused

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem
    from tb_steptime.terminal.indexing import Readers

#: Exit code: the cluster cannot be used.
NOT_STARTED = 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.discovery import find_spans
    from tb_steptime.terminal.cluster.client import NoClusterError
    from tb_steptime.terminal.indexing import find_work, outcome_lines, write_summaries
    from tb_steptime.terminal.output import print_lines

    problems: list[Problem] = []
    spans = list(find_spans(options.paths, problems))
    indexed = find_work(spans, keep_paths=options.keep_paths, names_from=options.names_from)
    indexed.problems[:0] = problems
    try:
        write_summaries(indexed, _readers(options.dask if indexed.to_write else None, options.jobs))
    except NoClusterError as error:
        return refused(str(error), NOT_STARTED)
    except KeyboardInterrupt:
        print_lines(outcome_lines(indexed, interrupted=True))
        raise
    print_lines(outcome_lines(indexed))
    return exit_code(indexed.problems)


def _readers(scheduler: str | None, jobs: int) -> Readers:
    """Raises NoClusterError."""
    from tb_steptime.terminal.cluster.client import ClusterReaders
    from tb_steptime.terminal.indexing import LocalReaders

    return ClusterReaders(scheduler, jobs) if scheduler else LocalReaders(jobs)


COMMAND = Command(
    "index",
    "write the summary files of log directories",
    "Write the summary file of each trace that has none or an outdated one, so that the tab opens the directory at "
    "once. A summary file lies next to its trace, or in the cache directory where that folder is read-only. Traces "
    "are read in parallel, on this machine or by a Dask cluster. After an interrupt all files are whole, and the next "
    "call writes the rest.",
    _add_arguments,
    _run,
)
