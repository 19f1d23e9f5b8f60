"""Traces read by the workers of a Dask cluster, where the data is: `tb-steptime index --dask`.

client     task task task task task                      writes what a worker could not put beside its trace
scheduler     |    |    |
workers    read  read  killed                            a task whose worker dies goes to another one
                       |
                     read

A worker has one trace read by a process of its own, as it would be for the tab. The worker itself only waits, so that
it answers its scheduler while a gigabyte is decoded. If the worker is killed, the process ends with it, only complete
files are left, and the scheduler gives the trace to another worker.

Dask is an optional dependency, imported only when a cluster is used.
"""

from __future__ import annotations

import functools
import logging
import pickle
import platform
import sys
import threading
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from tb_steptime import __version__
from tb_steptime.files.paths import AnyPath
from tb_steptime.files.remote import RemotePath, masked
from tb_steptime.ingest.cores import cores
from tb_steptime.ingest.pool import ReadingQueue
from tb_steptime.ingest.reader_process import Job
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries.layout import DEFINITIONS, FORMAT, user_peaks_digest
from tb_steptime.ingest.summaries.writing import places_for, write_summary
from tb_steptime.text.printer import counted

#: Time between a worker's messages about its progress.
_SECONDS_BETWEEN_MESSAGES = 0.5


@dataclass(frozen=True)
class Task:
    """A job of the client. topic: where the client listens for its progress."""

    job: Job
    topic: str


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
    trace = task.job.trace
    if not isinstance(trace, RemotePath) and not trace.exists():
        hint = "Workers read paths on their own machines: use a folder that all of them have, or an address."
        return Outcome(problem=Problem(f"The worker {platform.node()} has no such file", str(trace), hint))
    ended: SimpleQueue[AnyPath | Problem] = SimpleQueue()
    queue = ReadingQueue(lambda _, outcome: ended.put(outcome), 1)
    try:
        queue.want(replace(task.job, file=str(trace)), urgent=False)
        result = _waited(task, queue, ended)
        if isinstance(result, Problem):
            return Outcome(problem=result)
        if result == places_for(trace)[0]:
            return Outcome(place=result)
        return Outcome(content=result.read_bytes())  # no one else can read this worker's cache
    finally:
        queue.close()


def _waited(task: Task, queue: ReadingQueue, ended: SimpleQueue[AnyPath | Problem]) -> AnyPath | Problem:
    while True:
        try:
            return ended.get(timeout=_SECONDS_BETWEEN_MESSAGES)
        except Empty:
            for place in queue.places().values():
                _say(task, place.progress.read_bytes if place.progress else 0)


def _say(task: Task, read_bytes: int) -> None:
    from distributed import get_worker

    get_worker().log_event(task.topic, {"id": task.job.id, "read_bytes": read_bytes})


#: `--dask local`: a cluster of processes on this machine, for as long as the command runs.
LOCAL = "local"
#: Time after which a scheduler that does not answer counts as unreachable.
_CONNECT_SECONDS = 10
#: How often a task that raises is retried, since the failure may be temporary.
_RETRIES = 2


class NoClusterError(Exception):
    """An error message of one line for the user: the cluster cannot be used."""


class ClusterReaders:
    """Reads traces by the workers of a cluster; see `indexing.Readers`. Raises NoClusterError."""

    def __init__(self, scheduler: str, workers: int = 0) -> None:
        self._read: dict[str, int] = {}
        self._futures: list[Any] = []
        self._topic = f"tb_steptime {uuid.uuid4().hex}"
        self._cluster: Any = None
        self._client: Any = None
        self._lock = threading.Lock()
        try:
            self._connect(scheduler, workers)
            self._say_releases()
        except BaseException:
            self.close()
            raise

    def begin(self, jobs: Sequence[Job], on_end: Callable[[Job, AnyPath | Problem], None]) -> None:
        self._client.subscribe_topic(self._topic, self._hear)
        for job in jobs:
            future = self._client.submit(_by_name(), packed(Task(job, self._topic)), pure=False, retries=_RETRIES)
            self._futures.append(future)
            future.add_done_callback(functools.partial(self._ended, job, on_end))

    def read_bytes(self) -> dict[str, int]:
        with self._lock:
            return dict(self._read)

    def close(self) -> None:
        """Cancels the tasks that wait. Tasks that have begun run to their end."""
        if self._client:
            self._client.cancel(self._futures)
            self._client.close()
        if self._cluster:
            self._cluster.close()

    def _connect(self, scheduler: str, workers: int) -> None:
        try:
            import distributed
        except ImportError:
            raise NoClusterError("Dask is not installed: pip install 'tb-steptime[dask]'") from None
        dask: Any = distributed  # only half of it is typed
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what fails is printed, a line each
        if scheduler == LOCAL:
            self._cluster = dask.LocalCluster(
                n_workers=workers or cores(),
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        try:
            self._client = dask.Client(self._cluster or scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            shown = masked(scheduler)
            raise NoClusterError(
                f"No Dask scheduler answers at {shown}: name one such as tcp://host:8786, or local."
            ) from error

    def _say_releases(self) -> None:
        releases: dict[str, Release | BaseException] = self._client.run(release_there, on_error="return")
        lines, none_works = release_warnings(releases)
        if releases and none_works:
            raise NoClusterError(lines[0])
        for line in lines:
            print(line, file=sys.stderr)

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        with self._lock:
            self._read[event[1]["id"]] = event[1]["read_bytes"]

    def _ended(self, job: Job, on_end: Callable[[Job, AnyPath | Problem], None], future: Any) -> None:
        if future.cancelled():
            return
        with self._lock:
            self._read.pop(job.id, None)
        error = future.exception()
        on_end(job, _failure(job, error) if error else _summary_place(job, future.result()))


def _by_name() -> Callable[[bytes], Outcome]:
    """Returns a function that is sent as code, so that only workers need this package. A function sent by name would
    need it on the scheduler as well, which deserializes what it passes on."""

    def measure(task: bytes) -> Outcome:
        import importlib

        module = importlib.import_module("tb_steptime.terminal.cluster")
        outcome: Outcome = module.measure_packed(task)
        return outcome

    return measure


def _summary_place(job: Job, outcome: Outcome) -> AnyPath | Problem:
    """Returns the place of the summary. Writes it first where the worker sent its content."""
    if outcome.problem:
        return outcome.problem
    if outcome.place:
        return outcome.place
    assert outcome.content is not None
    try:
        return write_summary(outcome.content, places_for(job.trace))
    except OSError as error:
        return Problem(f"Its summary cannot be written: {error.strerror}", job.file, "Make its folder writable.")


def _failure(job: Job, error: BaseException) -> Problem:
    if type(error).__name__ == "KilledWorker":
        hint = "They probably ran out of memory: give them more, or read it with --jobs 1 on a larger machine."
        return Problem("Every worker that read it died", job.file, hint)
    hint = "The workers' logs have the details. Run it again for what is left."
    return Problem(f"The worker that read it failed ({type(error).__name__})", job.file, hint)


class Release(NamedTuple):
    """summaries: everything besides the trace that decides whether a summary written there is fresh here."""

    version: str
    summaries: str


def release_there() -> Release:
    return Release(__version__, f"{FORMAT} {DEFINITIONS} {user_peaks_digest()}")


def release_warnings(workers: Mapping[str, Release | BaseException]) -> tuple[list[str], bool]:
    """Returns lines about workers whose release differs from the one here, and whether no worker can be used."""
    own = release_there()
    without = [each for each in workers.values() if not isinstance(each, Release)]
    differing = [each for each in workers.values() if isinstance(each, Release) and each.summaries != own.summaries]
    lines = []
    if without:
        of_all = f"{len(without)} of {counted(len(workers), 'worker')}"
        lines.append(f"{of_all} cannot run tb-steptime: pip install 'tb-steptime=={own.version}' there.")
    if differing:
        versions = ", ".join(sorted({each.version for each in differing}))
        of_all = f"{len(differing)} of {counted(len(workers), 'worker')}"
        lines.append(
            f"{of_all} measure with another build of tb-steptime ({versions}; here {own.version}), or with other peak "
            "rates: what they write is measured again when it is opened here. Install the same release on all."
        )
    return lines, len(without) == len(workers)
