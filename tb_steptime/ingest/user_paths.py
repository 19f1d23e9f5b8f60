"""The traces and log directories that a user names -> their spans, and the places where names for the kernels in their
CUDA graphs may be found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath, is_folder
from tb_steptime.files.remote import RemotePath
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.found import FoundSnapshot, FoundSpan, spans_of_files
from tb_steptime.ingest.places import NamePlaces, Place
from tb_steptime.ingest.states import Problem

_RECORD_ONE = (
    "Traces are files named *.pt.trace.json[.gz] or *.pftrace[.gz]; "
    "torch.profiler.tensorboard_trace_handler(folder) writes them."
)


def find_spans(paths: Sequence[AnyPath], problems: list[Problem]) -> Iterator[FoundSpan]:
    """The spans under log directories, then the files that were named. Raises RemoteProblem where a store does not
    answer whether an address is a file or a folder."""
    folders = [path for path in paths if is_folder(path)]
    for folder in folders:
        found = Discovery([Place("", folder, str(folder))]).scan()
        problems += [Problem(each.problem, str(folder / each.file), each.hint) for each in found.problems]
        if not found.spans and not found.problems:
            problems.append(Problem("There are no traces in this folder", str(folder), _RECORD_ONE))
        spans = found.spans if isinstance(folder, RemotePath) else [span.under(folder) for span in found.spans]
        yield from (replace(span, beside=_others(paths, folder)) for span in spans)
    for span in spans_of_files([path for path in paths if path not in folders]):
        yield replace(span, beside=_others(paths, span.trace))


def _others(paths: Sequence[AnyPath], own: AnyPath | None) -> tuple[AnyPath, ...]:
    return tuple(path for path in paths if path != own)


def name_places(span: FoundSpan) -> NamePlaces:
    """Returns where to look for an eager recording that names the kernels in the span's CUDA graphs."""
    return NamePlaces((span.names_from,) if span.names_from else (), span.beside, span.log_directory)


def find_snapshots(folder: AnyPath) -> tuple[FoundSnapshot, ...]:
    """The memory snapshots in a log directory."""
    return Discovery([Place("", folder, str(folder))]).scan().snapshots
