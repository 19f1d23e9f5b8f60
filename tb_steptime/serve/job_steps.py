"""Every step of a job, as the recorder timed them: what Trends draws beside the spans."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.found import FoundSpan, file_of
from tb_steptime.ingest.recorder_files.finding import NAME, recorder_files, stamp_of
from tb_steptime.ingest.recorder_files.steps import Rows, TimedSteps, read_steps, step_pace
from tb_steptime.record.file import STEPS_SUFFIX
from tb_steptime.record.file import steps as layout
from tb_steptime.record.file.header import FormatError
from tb_steptime.trace.loader_records import StepPace

#: Maximum number of bins per worker; a chart has no pixels for more.
MOST_BINS = 480
#: Maximum number of workers of a job; more lines in one chart cannot be told apart.
MOST_WORKERS = 12
#: Maximum number of rows in the table of the slowest steps.
MOST_SLOW = 50


class StepBin(msgspec.Struct, frozen=True):
    """Some steps in a row. step: number of the first; the times are means but for longest_ns. A wait and a size that
    are not known are None. recorded: the profiler recorded some of them."""

    step: int
    steps: int
    end_ns: int
    mean_ns: int
    longest_ns: int
    wait_ns: int | None
    collecting_ns: int
    rss_bytes: int | None
    recorded: bool


class SlowJobStep(msgspec.Struct, frozen=True):
    """A step of three times the usual."""

    step: int
    end_ns: int
    duration_ns: int
    wait_ns: int | None
    collecting_ns: int


class TimedWorker(msgspec.Struct, frozen=True):
    """A process of the job. pace: what profiling costs; None where too few steps were timed."""

    worker: str
    steps: int
    bins: list[StepBin]
    slow: list[SlowJobStep]
    pace: StepPace | None


class JobSteps(msgspec.Struct, frozen=True):
    """The steps of one run by worker; empty where nothing was timed. more: workers that are left out."""

    workers: list[TimedWorker]
    more: int = 0


def job_steps(spans: Iterable[FoundSpan]) -> JobSteps:
    """Reads what lies in the folders of the spans of one run. A file that cannot be read is left out."""
    folders = dict.fromkeys(file.absolute().parent for span in spans if (file := file_of(span)) is not None)
    files = [folder / name for folder in folders for name in recorder_files(folder) if name.endswith(STEPS_SUFFIX)]
    workers = [worker for path in files[:MOST_WORKERS] if (worker := _worker(path)) is not None]
    return JobSteps(workers, max(0, len(files) - MOST_WORKERS))


def _worker(path: AnyPath) -> TimedWorker | None:
    stamp = stamp_of(path)
    return None if stamp is None else _cached_worker(path, stamp.st_mtime_ns, stamp.st_size)


@functools.lru_cache(maxsize=64)
def _cached_worker(path: AnyPath, mtime_ns: int, size: int) -> TimedWorker | None:
    """Returns the steps of a worker. They are cached, because a tab asks repeatedly. mtime_ns, size: of the file, so
    that a changed file is read again."""
    name = NAME.fullmatch(path.name)
    try:
        timed = read_steps(path)
    except (OSError, FormatError):
        return None
    if name is None or not len(timed.rows):
        return None
    return timed_worker(f"{name['host']}_{name['pid']}", timed)


def timed_worker(worker: str, timed: TimedSteps) -> TimedWorker:
    slowest = np.argsort(-timed.slow["longest_ns"], kind="stable")[:MOST_SLOW]
    return TimedWorker(
        worker=worker,
        steps=int(timed.rows["steps"].sum()),
        bins=[_bin(rows) for rows in np.array_split(timed.rows, _edges(timed.rows))],
        slow=[_slow(row) for row in timed.slow[slowest]],
        pace=step_pace(timed),
    )


def _edges(rows: Rows) -> Sequence[int]:
    """Returns the row at which each bin after the first begins. Bins hold about equally many steps; no row is split."""
    if len(rows) <= MOST_BINS:
        return range(1, len(rows))
    of_row = (rows["step"] - rows["step"][0]) * MOST_BINS // (rows["step"][-1] - rows["step"][0] + 1)
    edges: list[int] = (np.flatnonzero(np.diff(of_row)) + 1).tolist()
    return edges


def _bin(rows: Rows) -> StepBin:
    steps = int(rows["steps"].sum())
    has_waits = bool((rows["wait_ns"] != layout.UNKNOWN).all())
    size = int(rows["rss_bytes"][-1])
    return StepBin(
        step=int(rows["step"][0]),
        steps=steps,
        end_ns=int(rows["end_ns"][-1]),
        mean_ns=int(rows["duration_ns"].sum()) // steps,
        longest_ns=int(rows["longest_ns"].max()),
        wait_ns=int(rows["wait_ns"].sum()) // steps if has_waits else None,
        collecting_ns=int(rows["collecting_ns"].sum()) // steps,
        rss_bytes=None if size == layout.UNKNOWN else size,
        recorded=bool((rows["flags"] & layout.RECORDED).any()),
    )


def _slow(row: np.void) -> SlowJobStep:
    wait_ns = int(row["wait_ns"])
    return SlowJobStep(
        step=int(row["step"]),
        end_ns=int(row["end_ns"]),
        duration_ns=int(row["longest_ns"]),
        wait_ns=None if wait_ns == layout.UNKNOWN else wait_ns,
        collecting_ns=int(row["collecting_ns"]),
    )
