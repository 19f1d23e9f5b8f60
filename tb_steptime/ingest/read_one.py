"""The process that reads one trace: `python -m tb_steptime.ingest.read_one TRACE WHAT FOLDER [OPTION…]`.

WHAT is one of "summary", which goes into the folder if it can be written neither to the trace's own folder nor to the
user's cache; "events", the event file of the timeline, "slice", some steps as a trace of their own; or "snapshot", the
columns of a memory snapshot, which TRACE is then. The last three go into the folder. Options: with "recording" the
whole recording is one step, and its summary goes only into the folder, because the one next to the trace is the summary
of its steps. With "keep-paths" a summary has the whole paths of files. With "by-command" the user requested the summary
by a command, so it goes next to the trace even if that is under version control. "steps=3-4" are the steps of a slice.
"processes=4" lets that many processes read the trace together. An eager recording that names the kernels in CUDA graphs
is searched for in the log directory "within=FOLDER", or only in "names=PATH" if the user named that. With "more" the
process does not end afterwards: it waits on stdin for the next trace, a line of JSON with the same words.

This is a separate process, because reading a trace of a gigabyte would hold TensorBoard's interpreter lock for seconds,
and would never give its memory back. It reports its progress on stdout, one line of JSON each, and at the end the path
of the file that it made or the reason why there is none. It ends when its stdin closes, that is, with the process that
started it, however that one ended. A summary that is being written is completed first.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import msgspec

from tb_steptime.files.paths import AnyPath, address, any_path
from tb_steptime.ingest.names import NamePlaces

if TYPE_CHECKING:
    from tb_steptime.trace.reading import OnProgress, ReadProgress

#: Niceness of the process: TensorBoard, and whatever else the user runs, goes first.
NICENESS = 5
#: Minimum time between messages: more of them than the tab can show would only cost time.
_SECONDS_BETWEEN_MESSAGES = 0.1

#: The options (see above), and the beginnings of those that have a value.
RECORDING, KEEP_PATHS, BY_COMMAND, MORE = "recording", "keep-paths", "by-command", "more"
STEPS, PROCESSES, WITHIN, NAMES = "steps=", "processes=", "within=", "names="

#: Number of new objects between garbage collections; most of them belong to modules and stay.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000
_ORDERS = msgspec.json.Decoder(list[str])

#: Held while a summary is written, so that the process ends before or after the writing, not during it.
_WRITING = threading.Lock()


class ReadSoFar(msgspec.Struct, frozen=True, tag="far"):
    """Progress of reading. Bytes are bytes on disk."""

    read_bytes: int
    total_bytes: int
    events: int


class Done(msgspec.Struct, frozen=True, tag="done"):
    """Where the summary file or the slice was written to, or the folder of the event file."""

    path: str


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The trace was refused with a TraceError."""

    problem: str
    hint: str


Message = ReadSoFar | Done | Refused


def _values(options: Set[str], option: str) -> list[str]:
    return [each.removeprefix(option) for each in options if each.startswith(option)]


def _reading(options: Set[str]) -> dict[str, Any]:
    """Returns the arguments of `read_file` that are the same for all that is made of a trace."""
    within, named = ([any_path(each) for each in _values(options, option)] for option in (WITHIN, NAMES))
    return {
        "whole_recording": RECORDING in options,
        "processes": max(map(int, _values(options, PROCESSES)), default=1),
        "names": NamePlaces(tuple(named), log_directory=within[0] if within else None),
    }


def main(arguments: list[str]) -> None:
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    say = _take_stdout()
    from tb_steptime.processes import children  # before there is another thread

    further: SimpleQueue[list[str]] = SimpleQueue()
    threading.Thread(target=_listen, args=(children.only_waits, further), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    say(_make(arguments, say))
    while MORE in arguments:
        arguments = further.get()
        say(_make(arguments, say))


def _make(arguments: list[str], say: Callable[[Message], None]) -> Message:
    trace = any_path(arguments[0])
    makes = _MAKERS[arguments[1]]
    folder = Path(arguments[2])
    options = frozenset(arguments[3:])
    return _read(lambda: makes(trace, folder, _every(_SECONDS_BETWEEN_MESSAGES, say), options))


def _read(make: Callable[[], AnyPath]) -> Message:
    from tb_steptime.errors import TraceError
    from tb_steptime.files.problems import RemoteProblem

    try:
        return Done(address(make()))
    except TraceError as error:
        return Refused(error.problem, error.hint)
    except MemoryError:
        return Refused(
            "There is not enough memory to read the trace", "Record fewer steps, or open it on a larger machine."
        )
    except RemoteProblem as problem:
        return Refused(problem.fact, problem.hint)
    except OSError as error:
        return Refused(f"The file cannot be read: {error.strerror}", "Check that it is still there and may be read.")


def _summary(trace: AnyPath, fallback: Path, say_progress: OnProgress, options: Set[str] = frozenset()) -> AnyPath:
    from tb_steptime.ingest.measure import measure_file
    from tb_steptime.ingest.summaries.layout import stamp
    from tb_steptime.ingest.summaries.reading import is_newer
    from tb_steptime.ingest.summaries.writing import encode_summary, places_to_write, write_summary

    before = stamp(trace)  # taken first: if the file grows meanwhile, this stamp is too old, and it is read again
    measured = measure_file(trace, say_progress, keep_paths=KEEP_PATHS in options, **_reading(options))
    usual = places_to_write(trace, by_command=BY_COMMAND in options)
    places = [place for place in (*usual, fallback / before.digest) if not is_newer(place)]
    if RECORDING in options:
        places = [fallback / f"{before.digest}.recording"]
    content = encode_summary(before, measured)
    with _keeping(trace), _WRITING:
        return write_summary(content, places)


def _events(trace: AnyPath, folder: Path, say_progress: OnProgress, options: Set[str] = frozenset()) -> Path:
    from tb_steptime.ingest.measure import read_file
    from tb_steptime.timeline.build import write_events

    read = read_file(trace, say_progress, **_reading(options))
    with _keeping(trace):
        write_events(read, folder)
    return folder


def _slice(trace: AnyPath, folder: Path, say_progress: OnProgress, options: Set[str] = frozenset()) -> Path:
    from tb_steptime.errors import TraceError
    from tb_steptime.text import no_such_steps
    from tb_steptime.trace.kineto.slices import write_slice
    from tb_steptime.trace.reading import plan_slice

    (steps,) = _values(options, STEPS)
    first, last = map(int, steps.split("-"))
    try:
        plan = plan_slice(trace, first, last, say_progress)
    except ValueError as known:
        raise TraceError(no_such_steps(first, last), trace, f"Its steps are {known}.") from None
    place = folder / "slice.json.gz"
    with _keeping(trace), open(place, "wb") as file:
        write_slice(trace, plan, file, packed=True, on_progress=say_progress)
    return place


def _snapshot(path: AnyPath, folder: Path, say_progress: OnProgress, options: Set[str] = frozenset()) -> Path:
    from tb_steptime.snapshots.reading import read_snapshot, save_snapshot

    snapshot = read_snapshot(path)
    with _keeping(path):
        save_snapshot(snapshot, folder)
    return folder


@contextlib.contextmanager
def _keeping(trace: AnyPath) -> Iterator[None]:
    """Reports a failure to write as a problem of its own, since the trace did not cause it."""
    from tb_steptime.errors import TraceError

    try:
        yield
    except OSError as error:
        hint = "Free some space, or set TMPDIR to a folder with room, and start TensorBoard again."
        raise TraceError(f"What was read of it cannot be kept: {error.strerror}", trace, hint) from error


_Maker = Callable[[AnyPath, Path, "OnProgress", Set[str]], AnyPath]
_MAKERS: dict[str, _Maker] = {"summary": _summary, "events": _events, "slice": _slice, "snapshot": _snapshot}


def _take_stdout() -> Callable[[Message], None]:
    """Reserves stdout for messages, and returns the function that sends them. Everything else that is printed goes to
    stderr."""
    own = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def say(message: Message) -> None:
        own.write(msgspec.json.encode(message) + b"\n")

    return say


def _every(seconds: float, say: Callable[[Message], None]) -> OnProgress:
    last = 0.0

    def on_progress(progress: ReadProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            say(ReadSoFar(progress.read_bytes, progress.total_bytes, progress.events))

    return on_progress


def _listen(only_waits: Callable[[], None], further: SimpleQueue[list[str]]) -> None:
    only_waits()
    incomplete = b""
    while received := os.read(0, 65536):
        *lines, incomplete = (incomplete + received).split(b"\n")
        for line in lines:
            further.put(_ORDERS.decode(line))
    with _WRITING:
        os._exit(3)


if __name__ == "__main__":
    main(sys.argv[1:])
