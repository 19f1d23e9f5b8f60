"""What runs on a worker of a cluster: one trace is read by a process of its own, as it would be for the tab.

The worker itself only waits, so that it answers its scheduler while a gigabyte is decoded. If the worker is killed, the
process ends with it, only complete files are left, and the scheduler gives the trace to another worker.
"""

from __future__ import annotations

import pickle
import platform
import zlib
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from tb_steptime.files.paths import AnyPath
from tb_steptime.files.remote import RemotePath
from tb_steptime.ingest.pool import ReadingQueue
from tb_steptime.ingest.reader_process import Job
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries.writing import places_for

#: Time between a worker's messages about its progress.
_SECONDS_BETWEEN_MESSAGES = 0.5


@dataclass(frozen=True)
class Task:
    """id: of the job at the client. topic: where the client listens for the progress."""

    id: str
    trace: AnyPath
    keep_paths: bool
    topic: str
    log_directory: AnyPath | None = None
    names_from: AnyPath | None = None


@dataclass(frozen=True)
class Outcome:
    """Exactly one field is set. place: the summary's path, next to the trace. content: the bytes of the summary, where
    it could not be written there."""

    place: AnyPath | None = None
    content: bytes | None = None
    problem: Problem | None = None


def packed(task: Task) -> bytes:
    """Packs the task for sending, compressed so that no program on the way shows the address in it by mistake."""
    return zlib.compress(pickle.dumps(task))


def measure_packed(task: bytes) -> Outcome:
    return measure_there(pickle.loads(zlib.decompress(task)))


def measure_there(task: Task) -> Outcome:
    """Writes the summary of one trace."""
    if not isinstance(task.trace, RemotePath) and not task.trace.exists():
        hint = "Workers read paths on their own machines: use a folder that all of them have, or an address."
        return Outcome(problem=Problem(f"The worker {platform.node()} has no such file", str(task.trace), hint))
    ended: SimpleQueue[AnyPath | Problem] = SimpleQueue()
    queue = ReadingQueue(lambda _, outcome: ended.put(outcome), 1)
    try:
        job = Job(
            task.id,
            task.trace,
            str(task.trace),
            keep_paths=task.keep_paths,
            by_command=True,
            log_directory=task.log_directory,
            names_from=task.names_from,
        )
        queue.want(job, urgent=False)
        return _outcome(task, _waited(task, queue, ended))
    finally:
        queue.close()


def _waited(task: Task, queue: ReadingQueue, ended: SimpleQueue[AnyPath | Problem]) -> AnyPath | Problem:
    while True:
        try:
            return ended.get(timeout=_SECONDS_BETWEEN_MESSAGES)
        except Empty:
            for place in queue.places().values():
                _say(task, place.progress.read_bytes if place.progress else 0)


def _outcome(task: Task, made: AnyPath | Problem) -> Outcome:
    if isinstance(made, Problem):
        return Outcome(problem=made)
    if made == places_for(task.trace)[0]:
        return Outcome(place=made)
    return Outcome(content=made.read_bytes())  # no one else can read this worker's cache


def _say(task: Task, read_bytes: int) -> None:
    from distributed import get_worker

    get_worker().log_event(task.topic, {"id": task.id, "read_bytes": read_bytes})
