"""What the path of a trace says: its run, its worker and when it was recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tb_steptime.ingest.places import Place
from tb_steptime.trace.file_names import rank_in_name

#: Of a run: `tb-steptime export` writes scalars into it, which are none of the job's own.
EXPORT_FOLDER = "step_insights"

_FORMAT = r"\.(?:json|pftrace)(?:\.gz)?"
#: Of what may be a trace: its content has to say whether it is one.
TRACE_NAME = re.compile(r"(?P<worker>.+?)(?:\.trace)?" + _FORMAT)
_HANDLER_NAME = re.compile(r"(?P<worker>.*?)(?:\.(?P<time>\d+))?\.pt\.trace" + _FORMAT)
_RANK_NAME = re.compile(r"(?P<worker>rank[-_]?\d+)_trace" + _FORMAT)
#: SGLang: `<id>-TP-0-DECODE`, where the id is the time in seconds, behind a prefix where the user gave one.
_SGLANG_NAME = re.compile(
    r"(?:(?P<prefix>.+?)-)??(?:(?P<time>\d{9,}(?:\.\d+)?)-)?"
    r"(?P<worker>TP-\d+(?:-(?:DP|PP|EP)-\d+)*)(?:-(?P<stage>[A-Z_]+))?\.trace" + _FORMAT
)
_ITERATION_FOLDER = re.compile(r"iteration_(?P<time>\d+)")
#: As torch's handler names a worker: machine and process ID. Names that number something else are told apart by words.
_OF_MACHINE = re.compile(r"(?P<machine>.+)_\d+")
_OF_NO_MACHINE = re.compile(
    r"(?:local[-_])?(?:rank|worker|cpu|gpu|device|node|trainer|process|proc|replica|epoch|step|iteration|run|trace)s?"
    r"|rank[-_]?\d+(?:[-_.].*)?|(?:.*_)?kineto",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TraceName:
    """time orders a worker's spans, -1 where the name has none. sure: the name says that the file is a trace;
    otherwise the file's first bytes have to."""

    run: str
    worker: str
    time: int
    sure: bool


def trace_name(place: Place, relative: str, name: str) -> TraceName:
    """Of a file in the folder `relative` ("" or "a/b/") of a place."""
    folder = relative.rstrip("/")
    if match := _HANDLER_NAME.fullmatch(name):
        return TraceName(_run(place, folder), match["worker"] or name, int(match["time"] or -1), True)
    if match := _SGLANG_NAME.fullmatch(name):
        # Prefill and decode are different work: two runs, as if each had a folder.
        run = "/".join(part for part in (folder, match["prefix"], (match["stage"] or "").lower()) if part)
        time = round(float(match["time"]) * 1e9) if match["time"] else -1
        return TraceName(_run(place, run), match["worker"], time, False)
    sure = _RANK_NAME.fullmatch(name)
    match = sure or TRACE_NAME.fullmatch(name)
    worker = match["worker"] if match else name
    parent, _, last = folder.rpartition("/")
    iteration = _ITERATION_FOLDER.fullmatch(last)
    if iteration and rank_in_name(worker) is not None:  # torchtitan writes one folder for each capture of a run
        return TraceName(_run(place, parent), worker, int(iteration["time"]), sure is not None)
    return TraceName(_run(place, folder), worker, -1, sure is not None)


def _run(place: Place, folder: str) -> str:
    return "/".join(part for part in (place.name, folder) if part) or "."


def passed_on_workers(workers: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """Of each run and worker the name that may be passed on: its own, or a number within the run where its own is that
    of a machine and a process.

    >>> list(passed_on_workers([("a", "gpubox_4711"), ("a", "rank_3"), ("a", "gpubox_4712")]).values())
    ['worker1', 'worker2', 'rank_3']
    """
    names: dict[tuple[str, str], str] = {}
    asked = sorted(set(workers), key=lambda each: tuple(map(natural_order, each)))
    taken = {(run, worker) for run, worker in asked if not _names_a_machine(worker)}
    for run, worker in asked:
        if (run, worker) in taken:
            names[run, worker] = worker
            continue
        number = next(each for each in range(1, len(asked) + 2) if (run, f"worker{each}") not in taken)
        names[run, worker] = f"worker{number}"
        taken.add((run, f"worker{number}"))
    return names


def _names_a_machine(worker: str) -> bool:
    match = _OF_MACHINE.fullmatch(worker)
    return match is not None and not _OF_NO_MACHINE.fullmatch(match["machine"])


def machine_of(worker: str) -> str | None:
    """The machine that torch's handler named a worker for, None where the name is another.

    >>> machine_of("gpubox_4711"), machine_of("rank_3")
    ('gpubox', None)
    """
    match = _OF_MACHINE.fullmatch(worker)
    return match["machine"] if match and _names_a_machine(worker) else None


def natural_order(name: str) -> list[tuple[bool, int, str]]:
    """A sort key that puts rank2 before rank10."""
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]
