"""The directories that are searched for traces (TensorBoard's `--logdir` or `--logdir_spec`) or for names of kernels;
what the path of a trace says: its run, its worker and when it was recorded."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tb_steptime.files.paths import AnyPath, any_path, is_address
from tb_steptime.files.remote import RemotePath, masked
from tb_steptime.text.patterns import expression
from tb_steptime.trace.file_names import rank_in_name


class Place(msgspec.Struct, frozen=True):
    """A directory that is searched: name is the one that --logdir_spec gives it ("" for --logdir), shown is the path as
    the user wrote it, without secrets."""

    name: str
    root: AnyPath
    shown: str


class NamePlaces(msgspec.Struct, frozen=True):
    """Where to look for an eager recording that names the kernels in CUDA graphs (`ingest.graph_names`). named: files
    and folders that the user named for this purpose. Without any, the search covers beside, the paths that the user
    named with the trace, and the log directory."""

    named: tuple[AnyPath, ...] = ()
    beside: tuple[AnyPath, ...] = ()
    log_directory: AnyPath | None = None


def parse_places(logdir: str, logdir_spec: str) -> list[Place]:
    """Returns the places in `--logdir DIR`, or in `--logdir_spec name:DIR,name2:DIR2` as TensorBoard reads it (a name
    is optional)."""
    if not logdir_spec:
        return [_place("", logdir)] if logdir else []
    return [_place(*_named_part(part)) for part in logdir_spec.split(",") if part]


def _named_part(part: str) -> tuple[str, str]:
    """Returns the name and the folder in a part of `--logdir_spec`. A colon separates them, except that of a scheme, an
    absolute path or a Windows drive. A folder without a name is named after itself, so that the runs of two folders
    stay apart."""
    name, colon, folder = part.partition(":")
    if not colon or part.startswith("/") or is_address(part) or os.path.splitdrive(part)[0]:
        return part.rstrip("/"), part
    return name, folder


def _place(name: str, folder: str) -> Place:
    path = any_path(folder)
    if isinstance(path, RemotePath):
        return Place(masked(name), path, str(path))
    return Place(name, Path(os.path.abspath(path.expanduser())), folder)


#: Name of the folder in a run that `tb-steptime export` writes scalars into; these are not scalars of the job itself.
EXPORT_FOLDER = "step_insights"

_FORMAT = r"\.(?:json|pftrace)(?:\.gz)?"
#: Name of a file that may be a trace: its content has to show whether it is one.
TRACE_NAME = expression(r"(?P<worker>.+?)(?:\.trace)?" + _FORMAT)
_HANDLER_NAME = expression(r"(?P<worker>.*?)(?:\.(?P<time>\d+))?\.pt\.trace" + _FORMAT)
_RANK_NAME = expression(r"(?P<worker>rank[-_]?\d+)_trace" + _FORMAT)
#: SGLang: `<id>-TP-0-DECODE`, where the id is the time in seconds, after a prefix if the user gave one.
_SGLANG_NAME = expression(
    r"(?:(?P<prefix>.+?)-)??(?:(?P<time>\d{9,}(?:\.\d+)?)-)?"
    r"(?P<worker>TP-\d+(?:-(?:DP|PP|EP)-\d+)*)(?:-(?P<stage>[A-Z_]+))?\.trace" + _FORMAT
)
#: Converted reports of Nsight Systems: `train.2.nsys-rep.json`, where the number counts the ranges that were captured,
#: or `rank_3/report1.sqlite.json`, where `report1` is the program's own name for a report.
_NSYS_NAME = expression(r"(?P<worker>.+?)(?:\.(?P<time>\d{1,9}))?\.(?:nsys-rep|sqlite)(?:\.trace)?" + _FORMAT)
_NSYS_OWN_NAME = expression(r"report(\d{0,9})")
_RANK_FOLDER = expression(r"(?:global[-_])?rank[-_]?\d+", re.IGNORECASE)
_ITERATION_FOLDER = expression(r"iteration_(?P<time>\d+)")
#: A worker's name as torch's handler writes it: machine and process ID. Names in which the number counts something else
#: are recognised by their words (_OF_NO_MACHINE).
_OF_MACHINE = expression(r"(?P<machine>.+)_(?P<process>\d+)")
_OF_NO_MACHINE = expression(
    r"(?:local[-_])?(?:rank|worker|cpu|gpu|device|node|trainer|process|proc|replica|epoch|step|iteration|run|trace)s?"
    r"|rank[-_]?\d+(?:[-_.].*)?|(?:.*_)?kineto",
    re.IGNORECASE,
)


#: Endings of files that may be memory snapshots, as torch's documentation, torchtitan and vLLM name them.
SNAPSHOT_ENDINGS = (".pickle", ".pkl")
_SNAPSHOT_OF_RANK = expression(r"(\d{6})_step_(\d+)")
_SNAPSHOT_STEP = expression(r"step[-_]?(\d+)", re.IGNORECASE)


class TraceName(msgspec.Struct, frozen=True):
    """What the name of a trace says. time orders a worker's spans, -1 where the name has none. sure: the name says that
    the file is a trace; otherwise the file's first bytes have to."""

    run: str
    worker: str
    time: int
    sure: bool


def trace_name(place: Place, relative: str, name: str) -> TraceName:
    """Reads the name of a file in the folder `relative` ("" or "a/b/") of a place."""
    folder = relative.rstrip("/")
    if match := _HANDLER_NAME.fullmatch(name):
        return TraceName(_run(place, folder), match["worker"] or name, int(match["time"] or -1), True)
    if match := _SGLANG_NAME.fullmatch(name):
        # Prefill and decode do different work, so they are two runs, as if each had its own folder.
        run = "/".join(part for part in (folder, match["prefix"], (match["stage"] or "").lower()) if part)
        time = round(float(match["time"]) * 1e9) if match["time"] else -1
        return TraceName(_run(place, run), match["worker"], time, False)
    if match := _NSYS_NAME.fullmatch(name):
        return _name_of_nsys(place, folder, match["worker"], int(match["time"] or -1))
    sure = _RANK_NAME.fullmatch(name)
    match = sure or TRACE_NAME.fullmatch(name)
    worker = match["worker"] if match else name
    parent, _, last = folder.rpartition("/")
    iteration = _ITERATION_FOLDER.fullmatch(last)
    if iteration and rank_in_name(worker) is not None:  # torchtitan writes one folder for each capture of a run
        return TraceName(_run(place, parent), worker, int(iteration["time"]), sure is not None)
    return TraceName(_run(place, folder), worker, -1, sure is not None)


def _name_of_nsys(place: Place, folder: str, worker: str, time: int) -> TraceName:
    """Returns what the name of a converted report says. The rank is that in the file's name, or else in its folder's.
    The number of the report or of the folder orders the spans."""
    parent, _, last = folder.rpartition("/")
    if rank_in_name(worker) is None and _RANK_FOLDER.fullmatch(last):
        own = _NSYS_OWN_NAME.fullmatch(worker)
        worker, folder = (last if own else f"{last}.{worker}"), parent
        time = int(own[1] or -1) if own and time < 0 else time
        parent, _, last = folder.rpartition("/")
    iteration = _ITERATION_FOLDER.fullmatch(last)
    if iteration and time < 0 and rank_in_name(worker) is not None:
        folder, time = parent, int(iteration["time"])
    return TraceName(_run(place, folder), worker, time, False)


def _run(place: Place, folder: str) -> str:
    return "/".join(part for part in (place.name, folder) if part) or "."


class SnapshotName(msgspec.Struct, frozen=True):
    """What the name of a memory snapshot says. rank, step: None where the name does not say."""

    run: str
    name: str
    rank: int | None
    step: int | None


def snapshot_name(place: Place, relative: str, name: str) -> SnapshotName:
    """Reads the name of a file in the folder `relative` of a place.

    torchtitan writes `000003_step_10.pickle`, and wrote `iteration_10/rank3_memory_snapshot.pickle`.
    """
    stem, folder = name.rpartition(".")[0], relative.rstrip("/")
    if match := _SNAPSHOT_OF_RANK.fullmatch(stem):
        return SnapshotName(_run(place, folder), stem, int(match[1]), int(match[2]))
    parent, _, last = folder.rpartition("/")
    rank, step = rank_in_name(stem), _SNAPSHOT_STEP.search(stem)
    if (iteration := _ITERATION_FOLDER.fullmatch(last)) and rank is not None:
        return SnapshotName(_run(place, parent), stem, rank, int(iteration["time"]))
    return SnapshotName(_run(place, folder), stem, rank, int(step[1]) if step else None)


def passed_on_workers(workers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Returns, for each worker given with its run, a name that may be passed on: its own, with `worker` in place of the
    machine.

    The name depends on nothing else, so that a report, an export of one run and one of a single file agree. A number is
    added only where two machines of one run have the same process ID. No two workers of a run get the same name.

    >>> passed_on_workers([("a", "gpubox_4711"), ("a", "rank_3"), ("a", "other-box_4711"), ("b", "gpubox_4711")])
    {'rank_3': 'rank_3', 'gpubox_4711': 'worker_4711', 'other-box_4711': 'worker_4711-2'}
    """
    runs: dict[str, set[str]] = {}
    for run, worker in workers:
        runs.setdefault(worker, set()).add(run)
    names = {worker: worker for worker in runs if not _names_a_machine(worker)}
    used = {(run, worker) for worker in names for run in runs[worker]}
    for worker in sorted(runs.keys() - names.keys(), key=natural_order):
        possible = _without_machine(worker)
        names[worker] = next(name for name in possible if not any((run, name) in used for run in runs[worker]))
        used |= {(run, names[worker]) for run in runs[worker]}
    return names


def _without_machine(worker: str) -> Iterator[str]:
    """Yields possible names, the best one first."""
    match = _OF_MACHINE.fullmatch(worker)
    assert match is not None
    name = f"worker_{match['process']}"
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


def _names_a_machine(worker: str) -> bool:
    match = _OF_MACHINE.fullmatch(worker)
    return match is not None and not _OF_NO_MACHINE.fullmatch(match["machine"])


def machine_of(worker: str) -> str | None:
    """Returns the machine in a worker's name as torch's handler writes it, or None for any other name.

    >>> machine_of("gpubox_4711"), machine_of("rank_3")
    ('gpubox', None)
    """
    match = _OF_MACHINE.fullmatch(worker)
    return match["machine"] if match and _names_a_machine(worker) else None


def natural_order(name: str) -> list[tuple[bool, int, str]]:
    """Returns a sort key that puts rank2 before rank10."""
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]
