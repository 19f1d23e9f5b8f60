"""What the path of a trace says: its run, its worker and when it was recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tb_steptime.ingest.places import Place

JSON_NAME = re.compile(r"(?P<worker>.+)\.json(?:\.gz)?")
_KINETO_NAME = re.compile(r"(?P<worker>.*?)(?:\.(?P<time>\d+))?\.pt\.trace\.json(?:\.gz)?")
_RANK_NAME = re.compile(r"(?P<worker>rank[-_]?\d+)_trace\.json(?:\.gz)?")
_ITERATION_FOLDER = re.compile(r"iteration_(?P<time>\d+)")
_RANK_IN_NAME = re.compile(r"(?:^|[^a-z])rank[-_ ]?(\d+)", re.IGNORECASE)


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
    if match := _KINETO_NAME.fullmatch(name):
        return TraceName(_run(place, folder), match["worker"] or name, int(match["time"] or -1), True)
    if match := _RANK_NAME.fullmatch(name):
        parent, _, last = folder.rpartition("/")
        iteration = _ITERATION_FOLDER.fullmatch(last)
        if iteration:  # torchtitan writes one folder for each capture of a run
            return TraceName(_run(place, parent), match["worker"], int(iteration["time"]), True)
        return TraceName(_run(place, folder), match["worker"], -1, True)
    match = JSON_NAME.fullmatch(name)
    return TraceName(_run(place, folder), match["worker"] if match else name, -1, False)


def _run(place: Place, folder: str) -> str:
    return "/".join(part for part in (place.name, folder) if part) or "."


def rank_in_name(worker: str) -> int | None:
    """The rank in a worker's name ("rank-34.host", "node1_rank3"), None where it has none."""
    match = _RANK_IN_NAME.search(worker)
    return int(match[1]) if match else None


def natural_order(name: str) -> list[tuple[bool, int, str]]:
    """A sort key that puts rank2 before rank10."""
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]
