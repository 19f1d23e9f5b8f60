"""Files that another process made: steps cut out of traces, to be downloaded, and the columns of memory snapshots. The
newest are kept, and all are deleted with this process."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tb_steptime.files.paths import AnyPath
from tb_steptime.files.temporary import OwnFolder
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.reader_process import Job
from tb_steptime.ingest.states import Problem
from tb_steptime.serve.served import SpanFailed

#: Maximum number of results that are kept. A slice is usually downloaded once, and seldom requested again.
MOST_MADE = 4
#: Maximum number of steps in a download. More steps make a large file, which `tb-steptime slice` writes without a
#: browser's memory.
MAX_STEPS = 20
#: Maximum size of a `.pftrace` that is downloaded whole. A browser holds the file that it passes to Perfetto in memory,
#: and Perfetto needs several times as much.
MAX_WHOLE_BYTES = 512 * 1024 * 1024
#: Characters that not every system allows in file names.
_UNUSUAL = re.compile(r"[^A-Za-z0-9.-]+")
_WHOLE = (".pftrace", ".pftrace.gz")


@dataclass(frozen=True)
class StepSlice:
    """A gzipped trace of some steps, or a whole `.pftrace`, opened for reading. name: the name to save it under."""

    file: IO[bytes]
    name: str


@dataclass(eq=False)
class WrittenFiles:
    """Slices, or columns of snapshots, by the id of the job that made them, the latest last. All methods may be called
    from any thread. name: part of the name of the folder that holds them."""

    name: str
    folder: OwnFolder | None = None
    paths: OrderedDict[str, Path] = field(default_factory=OrderedDict)
    problems: dict[str, Problem] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, id: str) -> IO[bytes] | None:
        """Opens a file; None where it is not made yet, or was removed to make room. An open file can be read to its end
        even if it is removed. Raises SpanFailed, once, where it could not be made."""
        with self.lock:
            path = self._path(id)
            return path.open("rb") if path else None

    def path(self, id: str) -> Path | None:
        """Like `open`, but returns the path."""
        with self.lock:
            return self._path(id)

    def _path(self, id: str) -> Path | None:
        if id in self.problems:
            raise SpanFailed(self.problems.pop(id))
        return self.paths.get(id)

    def new_folder(self) -> Path:
        """Raises OSError."""
        with self.lock:
            if self.folder is None:
                self.folder = OwnFolder(self.name)
            return Path(tempfile.mkdtemp(dir=self.folder.path))

    def ended(self, job: Job, outcome: AnyPath | Problem) -> None:
        """Records the outcome of a job, and removes the oldest results where there are too many."""
        assert job.events is not None
        with self.lock:
            if isinstance(outcome, Problem):
                self.problems[job.id] = outcome
                shutil.rmtree(job.events, ignore_errors=True)
                return
            assert isinstance(outcome, Path)
            self.paths[job.id] = outcome
            while len(self.paths) > MOST_MADE:
                _, oldest = self.paths.popitem(last=False)
                shutil.rmtree(oldest if oldest.is_dir() else oldest.parent, ignore_errors=True)

    def close(self) -> None:
        with self.lock:
            self.paths.clear()
            if self.folder:
                self.folder.remove()
                self.folder = None


def whole_file(span: FoundSpan) -> StepSlice | None:
    """Opens a whole `.pftrace`, since steps can be cut only out of JSON; None for other traces. Raises SpanFailed where
    the file cannot be downloaded."""
    if span.trace is None or not span.file.endswith(_WHOLE):
        return None
    hint = "Open the file itself at ui.perfetto.dev."
    if not isinstance(span.trace, Path):
        raise SpanFailed(Problem("Steps cannot be cut out of a .pftrace file in a store", span.file, hint))
    if span.bytes > MAX_WHOLE_BYTES:
        raise SpanFailed(Problem("The .pftrace file is too large for a browser to hand over", span.file, hint))
    try:
        return StepSlice(span.trace.open("rb"), _UNUSUAL.sub("_", span.trace.name).strip("._"))
    except OSError as error:
        problem = f"The file cannot be read: {error.strerror}"
        raise SpanFailed(Problem(problem, span.file, "Check that it is still there and may be read.")) from error


def slice_job(span: FoundSpan, steps: tuple[int, int]) -> Job:
    """Its id changes with the file. Raises SpanFailed where there is no trace, nothing to cut out, or too much."""
    first, last = steps
    if last - first >= MAX_STEPS:
        hint = f"`tb-steptime slice TRACE --steps {first}-{last} -o FILE` has no such limit."
        raise SpanFailed(Problem(f"At most {MAX_STEPS} steps are downloaded at once", span.file, hint))
    if span.trace is None:
        hint = "Put the trace back next to its summary."
        raise SpanFailed(
            Problem("Only the summary of this trace is here, and steps are cut out of traces", span.file, hint)
        )
    if span.whole_recording:
        hint = "Download a step of the recording as it is, or copy the file itself."
        raise SpanFailed(Problem("The whole recording is one step here", span.file, hint))
    return Job(f"{span.id} {span.stamp} steps {steps}", span.trace, span.file, steps=steps)


def slice_name(span: FoundSpan, steps: tuple[int, int]) -> str:
    """`run_worker_span1_step5.pt.trace.json.gz`, without characters that some systems do not allow."""
    first, last = steps
    named = f"step{first}" if first == last else f"steps{first}-{last}"
    stem = _UNUSUAL.sub("_", f"{span.run}_{span.worker}_span{span.number}_{named}").strip("._")
    return f"{stem}.pt.trace.json.gz"
