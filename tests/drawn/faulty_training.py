"""Trainings in which something goes wrong, with and without a recorder: what each gave, and how it ended.

A program of its own, which imports torch once and forks for each training that it is asked for; the fork ends as a
program does, with the exit code and the last words of its error.
"""

from __future__ import annotations

import contextlib
import gc
import json
import multiprocessing
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

#: A training that hangs is ended after this many seconds, and a forked child of it that hangs.
PATIENCE_SECONDS, CHILD_PATIENCE_SECONDS = 300, 60

#: Called after each step of this program's training.
STEPS: list[Callable[[], object]] = []

#: A function that has a loader recorded, or not, and returns the loader.
Watch = Callable[[Any], Any]


class Request(NamedTuple):
    """fault: one of FAULTS. recorded: one of RECORDED. folder: for recordings and output."""

    fault: str
    workers: int
    recorded: str
    folder: str


class Ended(NamedTuple):
    """The outcome of a training: its exit code, its output, and the last line of its error."""

    code: int
    printed: list[str]
    last_words: str


class Trainings:
    """Runs trainings one after another."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.drawn.faulty_training"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, requested: Request) -> Ended:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(requested) + "\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], 2 * PATIENCE_SECONDS)[0], f"{requested} does not end"
        code = int(self._process.stdout.readline())
        printed, errors = (_lines_of(Path(requested.folder) / name) for name in ("out", "err"))
        return Ended(code, printed, errors[-1] if errors and code else "")

    def close(self) -> None:
        self._process.communicate()


def _lines_of(file: Path) -> list[str]:
    """The lines without process numbers and addresses, which differ, and without the output of torch's profiler."""
    text = re.sub(r"pid(\(s\))? [\d, ]+|0x[0-9a-f]+", "", file.read_text())
    return [line for line in text.strip().splitlines() if not re.search("ActivityProfiler|DeviceProperties", line)]


class Samples:
    """Random numbers from the worker's own generator. `fault` is called with each index first."""

    def __init__(self, fault: Callable[[int], object] = lambda index: None) -> None:
        self.fault = fault

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Any:
        import torch

        self.fault(index)
        return torch.rand(2) + index


class Stream(Samples):
    """The same as an iterable dataset."""

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))


class Nested(Samples):
    """Reads its samples through a loader of its own, which has a fault, too."""

    def __getitem__(self, index: int) -> Any:
        from torch.utils.data import DataLoader

        return next(iter(DataLoader([super().__getitem__(index)], None)))


def at(wanted: int, action: Callable[[], object]) -> Callable[[int], object]:
    return lambda index: action() if index == wanted else None


def fails(error: type[BaseException] = KeyError, *ignored: Any) -> Any:
    raise error("no such sample")


def dies(by: Callable[[], object]) -> None:
    """Calls `by` after the loop has received all earlier batches, on a busy machine too."""
    time.sleep(1.0)
    by()


def loader(dataset: Any, workers: int, **settings: Any) -> Any:
    from torch.utils.data import DataLoader, IterableDataset

    if isinstance(dataset, Stream):
        dataset.__class__ = type("Stream", (Stream, IterableDataset), {})
        settings["shuffle"] = False
    return DataLoader(dataset, **{"batch_size": 4, "shuffle": True, "num_workers": workers, **settings})


def train(batches: Any, do: Callable[[int], object] = lambda number: None) -> None:
    """Prints every batch, and finally their number. do: called after each batch."""
    count = 0
    for batch in batches:
        print(count, batch.tolist(), flush=True)
        do(count)
        for step in STEPS:
            step()
        count += 1
    print("pass of", count, flush=True)


def passes(watch: Watch, workers: int, dataset: Any = None, do: Any = lambda number: None, **settings: Any) -> None:
    """Two passes, each of which may end in an error, like a program that continues afterwards."""
    watched = watch(loader(dataset or Samples(), workers, **settings))
    for _ in range(2):
        try:
            train(watched, do)
        except Exception as error:  # noqa: BLE001 - it is what is compared
            print(type(error).__name__, str(error).strip().rpartition("\n")[2], flush=True)


def uncaught(watch: Watch, workers: int, dataset: Any = None, do: Any = lambda number: None, **settings: Any) -> None:
    train(watch(loader(dataset or Samples(), workers, **settings)), do)


def worker_dies(by: Callable[[], object], watch: Watch, workers: int) -> None:
    """In order, so that the loop has received all earlier batches. torch reports the failure in several ways."""
    watched = watch(loader(Samples(at(9, partial(dies, by) if workers else fails)), workers, shuffle=False))
    try:
        train(watched)
    except (RuntimeError, OSError, EOFError, KeyError) as error:
        print("died", isinstance(error, KeyError))
    train(watch(loader(Samples(), workers)))


def half_read(watch: Watch, workers: int, **settings: Any) -> None:
    """Iterators and a generator that are abandoned, one of them until the program ends."""
    watched = watch(loader(Samples(), workers, **settings))
    for batch in watched:
        print(batch.tolist())
        break
    left = (batch.tolist() for batch in watched)
    print(next(left), next(left))
    batches = iter(watched)
    print(next(batches).tolist())
    left.close()
    train(watched)


def forks(watch: Watch, workers: int) -> None:
    """With a thread running: the child trains and ends as a program does, then the parent trains."""
    watched = watch(loader(Samples(), workers))
    train(watched)
    threading.Thread(target=time.sleep, args=(0.5,)).start()
    pid = os.fork()
    if pid:
        print("child", os.waitpid(pid, 0)[1], flush=True)
    else:
        signal.alarm(CHILD_PATIENCE_SECONDS)  # a child does not inherit it; its parent waits for it
    train(watched)
    if not pid:
        sys.exit(5)


def starts_process(watch: Watch, workers: int) -> None:
    """Like a fork of multiprocessing: the child ends without finishing what its parent has begun."""
    watched = watch(loader(Samples(), workers))
    threading.Thread(target=time.sleep, args=(0.5,)).start()
    child = multiprocessing.get_context("fork").Process(target=train, args=(watched,))
    child.start()
    child.join()
    print("child", child.exitcode, flush=True)
    train(watched)


def full(watch: Watch, workers: int) -> None:
    """No file grows beyond 2 KB, as if the disk were full: header and some rows fit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
    watched = watch(loader(Samples(), workers))
    print([len(list(watched)) for _ in range(3)])


def removed(watch: Watch, workers: int) -> None:
    def remove(number: int) -> None:
        for folder in Path.cwd().glob("logs*"):
            shutil.rmtree(folder, ignore_errors=True)

    passes(watch, workers, do=remove)


def cannot_write(watch: Watch, workers: int) -> None:
    for name in ("logs0", "logs1"):
        Path(name).write_text("a file in the place of the directory")
    passes(watch, workers)


def ended(how: Callable[[], object], watch: Watch, workers: int) -> None:
    uncaught(watch, workers, do=lambda number: how() if number == 3 else None)


def interrupted(watch: Watch, workers: int) -> None:
    """The program goes on after the first interrupt; the second ends it."""
    watched = watch(loader(Samples(), workers))
    stop = lambda number: signal.raise_signal(signal.SIGINT) if number == 2 else None  # noqa: E731
    try:
        train(watched, stop)
    except KeyboardInterrupt:
        train(watched)
    train(watched, stop)


def interrupted_all(watch: Watch, workers: int) -> None:
    """Like Ctrl-C on a terminal: workers are interrupted, too."""
    os.setpgrp()
    uncaught(watch, workers, do=lambda number: os.killpg(0, signal.SIGINT) if number == 3 else None)


def hangs(watch: Watch, workers: int) -> None:
    settings = {"timeout": 3} if workers else {}
    late = Samples(at(9, lambda: time.sleep(6 if workers else 0)))
    uncaught(watch, workers, late, shuffle=False, **settings)


def spawned(watch: Watch, workers: int) -> None:
    settings = {"multiprocessing_context": "spawn"} if workers else {}
    uncaught(watch, workers, Samples(partial(fails_at, 9)), shuffle=False, **settings)


def fails_at(wanted: int, index: int) -> None:
    if index == wanted:
        fails()


def not_spawned(watch: Watch, workers: int) -> None:
    settings = {"multiprocessing_context": "spawn"} if workers else {}
    passes(watch, workers, worker_init_fn=lambda number: None, **settings)


FAULTS: dict[str, Callable[[Watch, int], None]] = {
    "none": passes,
    "dataset": lambda watch, workers: passes(watch, workers, Samples(at(9, fails))),
    "dataset, uncaught": lambda watch, workers: uncaught(watch, workers, Samples(at(9, fails))),
    "dataset ends early": lambda watch, workers: passes(watch, workers, Samples(at(9, partial(fails, StopIteration)))),
    "stream": lambda watch, workers: passes(watch, workers, Stream(at(9, fails))),
    "collate": lambda watch, workers: passes(watch, workers, collate_fn=partial(fails, ValueError)),
    "worker init": lambda watch, workers: passes(watch, workers, worker_init_fn=partial(fails, LookupError)),
    "persistent": lambda watch, workers: passes(
        watch, workers, Samples(at(9, fails)), persistent_workers=workers > 0
    ),
    "worker dies": partial(worker_dies, lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "worker exits": partial(worker_dies, partial(sys.exit, 3)),
    "interrupt": interrupted,
    "interrupt of all": interrupted_all,
    "half read": half_read,
    "half read, persistent": lambda watch, workers: half_read(watch, workers, persistent_workers=workers > 0),
    "fork": forks,
    "process": starts_process,
    "disk full": full,
    "directory removed": removed,
    "directory is a file": cannot_write,
    "nested": lambda watch, workers: passes(watch, workers, Nested(at(9, fails))),
    "exit": partial(ended, partial(sys.exit, 7)),
    "exit at once": partial(ended, partial(os._exit, 9)),
    "terminated": partial(ended, partial(signal.raise_signal, signal.SIGTERM)),
    "hangs": hangs,
    "spawn": spawned,
    "cannot be spawned": not_spawned,
}  # fmt: skip


@contextlib.contextmanager
def _not(folder: Path) -> Iterator[Watch]:
    yield lambda item: item


@contextlib.contextmanager
def _once(folder: Path) -> Iterator[Watch]:
    """Recorded until the end of the process."""
    from tb_steptime.record import LoaderRecorder

    yield LoaderRecorder(folder / "logs0").watch


@contextlib.contextmanager
def _twice(folder: Path) -> Iterator[Watch]:
    """Two recorders on one loader, each of which is closed."""
    from tb_steptime.record import LoaderRecorder

    with LoaderRecorder(folder / "logs0") as older, LoaderRecorder(folder / "logs1") as newer:
        yield lambda item: newer.watch(older.watch(item))


@contextlib.contextmanager
def _all(folder: Path) -> Iterator[Watch]:
    """Records every loader of the process, and one of them by another recorder, too."""
    from tb_steptime.record import LoaderRecorder

    LoaderRecorder(folder / "logs1").watch_all()
    yield LoaderRecorder(folder / "logs0").watch


@contextlib.contextmanager
def _profiled(folder: Path) -> Iterator[Watch]:
    from tb_steptime.record import profile_steps

    with profile_steps(folder / "logs0", skip_first=0, wait=0, warmup=1, active=3) as prof:
        STEPS.append(prof.step)
        yield prof.watch


@contextlib.contextmanager
def _watched(folder: Path) -> Iterator[Watch]:
    """Every step is timed to the end of the job."""
    from tb_steptime.record import profile_steps

    options = {"skip_first": 0, "wait": 0, "warmup": 1, "active": 1, "repeat": 1, "watch": True}
    with profile_steps(folder / "logs0", **options) as prof:
        STEPS.append(prof.step)
        yield prof.watch


RECORDED: dict[str, Callable[[Path], contextlib.AbstractContextManager[Watch]]] = {
    "not": _not,
    "once": _once,
    "twice": _twice,
    "all": _all,
    "profiled": _profiled,
    "watched": _watched,
}


def _next() -> Request | None:
    """In a fork: returns the training that it has to run. None: there are no more."""
    for line in sys.stdin:
        request = Request(*json.loads(line))
        pid = os.fork()
        if pid == 0:
            return request
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    return None


def _run(requested: Request) -> None:
    import torch
    from torch.utils import data

    folder = Path(requested.folder)
    signal.alarm(PATIENCE_SECONDS)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(folder)
    data._utils.MP_STATUS_CHECK_INTERVAL = 0.2  # how long torch waits for a worker that does not end
    torch.manual_seed(0)
    with RECORDED[requested.recorded](folder) as watch:
        FAULTS[requested.fault](watch, requested.workers)


if __name__ == "__main__":
    # Before the forks: what a training and a profiler import. A fork that ends searches it for garbage, which takes
    # longer than a training, if it is not frozen.
    import torch._dynamo
    import torch.utils.data  # noqa: F401

    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork")  # the datasets have faults that no process can be sent
    training = _next()
    if training is not None:
        _run(training)
