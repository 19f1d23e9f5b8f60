"""The traces and log directories that a user names -> their spans, read one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tb_steptime.errors import TraceError
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.found import FoundSpan, spans_of_files
from tb_steptime.ingest.places import Place
from tb_steptime.ingest.states import Problem
from tb_steptime.terminal.progress_bar import ProgressBar

if TYPE_CHECKING:
    from tb_steptime.trace.kineto import ReadProgress

T = TypeVar("T")

_RECORD_ONE = (
    "Traces are files named *.pt.trace.json[.gz]; torch.profiler.tensorboard_trace_handler(folder) writes them."
)


def read_each(
    paths: Sequence[Path], problems: list[Problem], read: Callable[[FoundSpan, Callable[[ReadProgress], None]], T]
) -> Iterator[tuple[FoundSpan, T]]:
    """Every span that can be read, one at a time; those that cannot become problems, whose file is the path as the user
    named it or its folder."""
    found = list(_found(paths, problems))
    for number, span in enumerate(found, start=1):
        with ProgressBar(f"{number} of {len(found)}  " if len(found) > 1 else "") as bar:
            try:
                content = read(span, bar.show)
            except TraceError as error:
                problems.append(Problem(error.problem, span.path, error.hint))
                continue
        yield span, content


def _found(paths: Sequence[Path], problems: list[Problem]) -> Iterator[FoundSpan]:
    """The spans under log directories, then the files that were named."""
    for folder in (path for path in paths if path.is_dir()):
        found = Discovery([Place("", folder, str(folder))]).scan()
        problems += [Problem(each.problem, str(folder / each.file), each.hint) for each in found.problems]
        if not found.spans and not found.problems:
            problems.append(Problem("There are no traces in this folder", str(folder), _RECORD_ONE))
        yield from (span.under(folder) for span in found.spans)
    yield from spans_of_files([path for path in paths if not path.is_dir()])
