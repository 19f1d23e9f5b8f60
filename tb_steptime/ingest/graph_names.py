"""A trace whose kernels run in CUDA graphs -> the same trace with labels from an eager recording of the job, if there
is one.

    logs/eager/host_4711.1690000000.pt.trace.json.gz        read for its labels
    logs/graphed/host_4712.1690000900.pt.trace.json.gz      measured

Recordings are searched for next to the trace, in the paths that the user named with it, and in its log directory; only
files of this machine are considered. The nearest in place and time come first, and the first one that names half of the
graphs' kernel time is taken. A log directory may be large, so few recordings are read, none of them much larger than
the trace itself, and none whose summary shows that it cannot match.

So a search finds more when more recordings have summaries, and the traces of a log directory are summarized in any
order. A summary whose graphs are unnamed therefore states which recordings the search could judge
(`GraphNames.searched`). `tb-steptime index` and the tab search again when all traces have been summarized, where
`may_be_named_now` says that the summaries written since show such kernels. The last search has judged every recording
by its summary, so its answer does not depend on the order.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.ingest.measured import GraphNames, MeasuredSpan
from tb_steptime.ingest.names import TRACE_NAME, NamePlaces, Place, TraceName, passed_on_workers, trace_name
from tb_steptime.ingest.recorder_files.finding import digest_of
from tb_steptime.ingest.summaries.layout import named_by, stamp
from tb_steptime.ingest.summaries.reading import DamagedSummary, summary_of
from tb_steptime.ingest.summaries.writing import places_for
from tb_steptime.metrics.replays.graph_time import LEAST_NAMED_FRACTION, graph_time
from tb_steptime.trace.file_names import rank_in_name
from tb_steptime.trace.model import NamedFrom, Trace
from tb_steptime.trace.ops import graph_kernels
from tb_steptime.trace.reading import looks_like_trace, read_trace
from tb_steptime.trace.table import distinct_in

if TYPE_CHECKING:
    from tb_steptime.metrics.replays.labels import LabelledTrace

#: Maximum number of recordings that are read. Reading takes time, and a fourth one hardly ever names what the nearest
#: three do not.
MOST_READ = 3
#: Maximum size of a recording: this many bytes or this multiple of the trace's size, whichever is larger, but never
#: more than MOST_BYTES.
USUAL_BYTES, USUAL_MULTIPLE, MOST_BYTES = 16_000_000, 4, 64_000_000
#: Maximum number of folders that are searched, and of files in them that are considered.
MOST_FOLDERS, MOST_FILES = 200, 2_000
#: Traces of one folder whose names show that they were written within this time of each other are ranks of one
#: recording.
_RANKS_WITHIN_SECONDS = 60


def with_graph_names(trace: Trace, places: NamePlaces | None = None) -> Trace:
    """Returns the trace with labels of its kernels in CUDA graphs. It is the same trace where there is nothing to
    label, where no recording can label it, or where it is labelled already."""
    if trace.named_from is not None or trace.kernel_labels is not None:
        return trace
    places = places or NamePlaces()
    time = graph_time(trace)
    if not time.graph_ns or not (places.named or time.is_much):
        return trace
    path = any_path(trace.path)
    if not isinstance(path, Path):
        return trace
    try:
        candidates = _candidates(path, places)
    except OSError:
        return trace
    nearest = replace(trace, graphs_searched=_state_of(candidates), memo={})
    for other in _worth_reading(trace, candidates, places):
        result = _labelled(trace, other)
        if result is None:
            continue
        source = _named_from(path, other, result, places)
        if result.labelled_fraction:
            return replace(result.trace, named_from=source, memo={})
        if nearest.named_from is None or result.named_fraction > nearest.named_from.named_fraction:
            nearest = replace(nearest, named_from=source, memo={})
    return nearest


def graph_names(trace: Trace) -> GraphNames:
    """Returns what a summary stores about the recording that named the graphs. Summaries are passed on, so the folder
    of a recording outside the log directory, which may name the user, is not stored; such names stay valid until they
    are asked for again."""
    time = graph_time(trace)
    if not time.graph_ns:
        return GraphNames()
    named = trace.named_from
    if named is None or not named.labelled_fraction:
        return GraphNames(
            graphs=True, wanted=time.is_much, share=time.graph_ns / time.all_ns, searched=trace.graphs_searched
        )
    path, other = any_path(trace.path), Path(named.path)
    folder = ""
    if isinstance(path, Path) and not named.is_private:
        folder = os.path.relpath(other.parent, path.absolute().parent)
    file_stamp = stamp(other)
    return GraphNames(
        True, False, folder.replace(os.sep, "/"), digest_of(other.name), file_stamp.bytes, file_stamp.digest
    )


def is_named_from(trace: Path, places: NamePlaces, names: GraphNames) -> bool:
    """Returns whether one of the recordings in these places, with its present content, is the one that named the
    kernels in the trace's graphs. Raises OSError."""
    return any(
        digest_of(each.path.name) == names.file and named_by(each.path, names) for each in _candidates(trace, places)
    )


def may_be_named_now(trace: Path, places: NamePlaces, summary: MeasuredSpan) -> bool:
    """Returns whether a search might now name the kernels in this trace's graphs although the one for its summary did
    not: recordings or summaries of recordings have been added since, and one of them may have these kernels. Raises
    OSError, DamagedSummary."""
    candidates = _candidates(trace, places)
    if _state_of(candidates) == summary.names.searched:
        return False
    wanted = _wanted_in_summary(summary)
    return any(_may_name(wanted, each) for each in candidates)


class _Candidate(NamedTuple):
    """A recording that may name the kernels. distance: how far it is from the trace, by place, rank and time of
    recording."""

    distance: tuple[bool, bool, int]
    path: Path
    bytes: int
    mtime_ns: int


def _candidates(trace: Path, places: NamePlaces) -> list[_Candidate]:
    """Returns the candidates, nearest first."""
    trace = Path(os.path.realpath(trace))
    own, own_name = trace.stat(), _name_of(trace)
    most = MOST_BYTES if places.named else min(MOST_BYTES, max(USUAL_BYTES, USUAL_MULTIPLE * own.st_size))
    by_path: dict[str, _Candidate] = {}
    for path in _files(trace, places):
        real = os.path.realpath(path)
        if real == str(trace) or real in by_path or len(by_path) >= MOST_FILES:
            continue
        with contextlib.suppress(OSError):
            stat = os.stat(real)
            name, apart = _name_of(path), Path(real).parent != trace.parent
            if stat.st_size > most or (not places.named and not apart and _is_other_rank(own_name, name)):
                continue
            ranks = rank_in_name(own_name.worker), rank_in_name(name.worker)
            distance = apart, ranks[0] != ranks[1], abs(stat.st_mtime_ns - own.st_mtime_ns)
            by_path[real] = _Candidate(distance, Path(real), stat.st_size, stat.st_mtime_ns)
    return sorted(by_path.values())


def _name_of(path: Path) -> TraceName:
    return trace_name(Place("", path.parent, ""), "", path.name)


def _is_other_rank(one: TraceName, other: TraceName) -> bool:
    """Returns whether two traces of one folder are of one recording. Another rank does the same work, also in graphs,
    so it cannot name the kernels."""
    if one.worker == other.worker:
        return False
    ranks = rank_in_name(one.worker), rank_in_name(other.worker)
    if None not in ranks:
        return ranks[0] != ranks[1]
    if min(one.time, other.time) < 0:
        return False
    unit = 1e9 if max(one.time, other.time) > 1e15 else 1e3  # times in names are in ns since 2023, in ms before
    return abs(one.time - other.time) <= _RANKS_WITHIN_SECONDS * unit


def _files(trace: Path, places: NamePlaces) -> Iterator[Path]:
    """Yields files that are traces by their names, or the files that the user named."""
    if places.named:
        yield from _named_files(places.named)
        return
    yield from _files_in_folder(trace.parent)
    yield from _named_files(places.beside)
    root = places.log_directory
    if isinstance(root, Path):
        yield from _below(root)


def _named_files(named: Sequence[AnyPath]) -> Iterator[Path]:
    for path in named:
        if isinstance(path, Path):
            yield from _below(path) if path.is_dir() else [path]


def _below(root: Path) -> Iterator[Path]:
    """Yields the files below a folder, those nearest to it first. As in a scan of a log directory, links to folders are
    not followed."""
    pending = [root]
    for _ in range(MOST_FOLDERS):
        if not pending:
            return
        folder = pending.pop(0)
        yield from _files_in_folder(folder)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            subfolders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            pending += [folder / name for name in sorted(subfolders) if not name.startswith(".")]


def _files_in_folder(folder: Path) -> Iterable[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if TRACE_NAME.fullmatch(entry.name) and entry.is_file()]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if not name.startswith(".")]


def _state_of(candidates: Sequence[_Candidate]) -> str:
    """Returns a digest of what a search can judge: which recordings there are, and which of them have summaries. It
    depends neither on times nor on the place of the log directory."""
    state = sorted((digest_of(each.path.name), each.bytes, _summarized(each) is not None) for each in candidates)
    return hashlib.blake2b(repr(state).encode(), digest_size=8).hexdigest()


def _worth_reading(trace: Trace, candidates: Sequence[_Candidate], places: NamePlaces) -> Iterator[Path]:
    wanted = _wanted_in_trace(trace)
    read = 0
    for each in candidates:
        if read == MOST_READ:
            return
        if places.named or _may_name(wanted, each):
            read += 1
            yield each.path


class _SummarizedKernels(NamedTuple):
    """What a recording's summary says of its kernels. omits_many: many names are missing."""

    in_graphs: bool
    names: frozenset[str]
    omits_many: bool


def _summarized(recording: _Candidate) -> _SummarizedKernels | None:
    """Returns the kernels of a recording, or None where it has no usable summary."""
    for place in places_for(recording.path):
        with contextlib.suppress(OSError, DamagedSummary, KeyError, TraceError):
            if isinstance(place, Path):
                stat = place.stat()
                stamp = recording.bytes, recording.mtime_ns, stat.st_size, stat.st_mtime_ns
                found = _kernels_in(place, recording.path, stamp)
                if found is not None:
                    return found
    return None


@functools.lru_cache(maxsize=MOST_FILES)  # each trace of a log directory with CUDA graphs asks for the same summaries
def _kernels_in(place: Path, recording: Path, stamp: tuple[int, ...]) -> _SummarizedKernels | None:
    """Returns the kernels in a summary, or None where the file is no summary of the recording. stamp: sizes and times
    of both files, on which the answer depends. Raises OSError, DamagedSummary, KeyError, TraceError."""
    summary = summary_of(recording, place)
    if summary is None:
        return None
    compared = summary.result("compare", CompareResult)
    omits_many = compared.more_kernels_ns > sum(each.total_ns for each in compared.kernels) / 10
    return _SummarizedKernels(summary.names.graphs, frozenset(each.name for each in compared.kernels), omits_many)


def _may_name(wanted: _WantedKernels, other: _Candidate) -> bool:
    """Returns whether a recording may name the kernels, by its summary if there is one, or else by its first bytes."""
    kernels = _summarized(other)
    if kernels is None:
        return _name_of(other.path).sure or looks_like_trace(other.path)
    if kernels.in_graphs:
        return False
    common = sum(each for name, each in wanted.time_ns.items() if name in kernels.names)
    return kernels.omits_many or common >= wanted.least_ns


class _WantedKernels(NamedTuple):
    """The kernels that a recording must have. time_ns: by name; least_ns: the least time of those that it has."""

    time_ns: Mapping[str, int]
    least_ns: float


def _wanted_in_trace(trace: Trace) -> _WantedKernels:
    event = trace.kernels.event[graph_kernels(trace)]
    names, durations = trace.events.name[event], trace.events.dur_ns[event]
    time = {trace.strings[each]: int(durations[names == each].sum()) for each in distinct_in(names).tolist()}
    return _WantedKernels(time, LEAST_NAMED_FRACTION * sum(time.values()))


def _wanted_in_summary(summary: MeasuredSpan) -> _WantedKernels:
    """Returns the kernels that a recording must have, by the trace's summary. It does not say which of its kernels run
    in graphs, and omits some, so the summary may require less than the trace does. Raises OSError, DamagedSummary."""
    compared = summary.result("compare", CompareResult)
    time: dict[str, int] = {}
    for place in compared.kernels:
        time[place.name] = time.get(place.name, 0) + place.total_ns
    all_ns = sum(time.values()) + compared.more_kernels_ns
    return _WantedKernels(time, LEAST_NAMED_FRACTION * summary.names.share * all_ns - compared.more_kernels_ns)


def _labelled(trace: Trace, path: Path) -> LabelledTrace | None:
    """Returns the trace with the labels from a recording, or None if that is not a trace, or not an eager one."""
    from tb_steptime.metrics.replays.labels import labelled  # needs most measurements, and few traces have graphs

    try:
        return labelled(trace, read_trace(path))
    except TraceError:
        return None


def _named_from(trace: Path, other: Path, result: LabelledTrace, places: NamePlaces) -> NamedFrom:
    """Describes the recording, by its run and worker where it lies in another folder, and by its worker alone in the
    same folder."""
    worker = _name_of(other).worker
    shown = passed_on_workers([("", worker)]).get(worker, worker)
    folder = other.parent.name
    apart = other.parent != Path(os.path.realpath(trace)).parent
    recording = f"{folder}/{shown}" if apart and folder else shown
    root = places.log_directory if isinstance(places.log_directory, Path) else trace.parent
    is_private = bool(places.named) and not Path(os.path.realpath(other)).is_relative_to(os.path.realpath(root))
    return NamedFrom(recording, str(other), result.named_fraction, result.labelled_fraction, is_private)
