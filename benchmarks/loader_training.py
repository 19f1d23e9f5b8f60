"""A small training on the CPU whose loader and whose rest are as slow as asked, and that logs what they really took.

    python -m benchmarks.loader_training FOLDER '{"workers": 3, "batch_ms": 100, "step_ms": 20}'    # needs torch

Several of them, each with its FOLDER, are made one after the other, each in a process of its own. FOLDER gets the trace
and, where asked, the recorder's files. FOLDER/truth gets two logs of the script's own, in ns of the monotonic clock,
that nothing of this package writes:

    made.log    batch pid start end cpu     one line for each batch, from its first sample to the end of collate_fn
    taken.log   step asked got done         one line for each step of the training loop
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import queue
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerAction, profile, record_function, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

from tb_steptime.record import LoaderRecorder
from tb_steptime.record.file import clock

SAMPLES = 4  # samples per batch
FEATURES = 64
#: The share of batches, if some take longer than the others.
SLOW_FRACTION = 0.1
#: The share of batches, if rare ones take longer than the others.
RARE_FRACTION = 0.05
#: The distance from one long step to the next.
LONG_EVERY = 10
#: The names of the logs, in the folder TRUTH beside the trace.
TRUTH, MADE, TAKEN = "truth", "made.log", "taken.log"
CLOCK_STEP_NS = 3_600_000_000_000
#: Niceness, where a process may set it, so that other work on the machine disturbs a training less.
BEFORE_OTHERS = -15


@dataclass(frozen=True)
class Training:
    """What is asked of the training.

    batch_ms, step_ms: of making a batch and of the rest of the step. burn: workers compute for that long instead of
    sleeping. jitter: a batch takes up to so much more or less, as a share; slow: one in ten takes so many times as long
    as the others, which keeps the mean; rare: about one in twenty does, which does not; long: as slow, of steps, every
    tenth. steps: that are recorded, after skip others. stacks: of Python, in the trace. profiled: otherwise neither
    trace nor recorder's files are made. cores: that the training may use; None: all. prefetch: batches that each worker
    makes in advance; None: as torch does. tensors: that a sample is split into. epoch: batches of one; 0: all are of
    one. persistent: workers are kept between epochs. ahead: a thread of its own reads the loader, so many batches ahead
    of the loop; 0: the loop reads it. layers: of the network before its last one. adam: in place of SGD; fused: that
    form of it. recorder: the folder of its files; None: FOLDER itself, "": not recorded.

    What may happen: at the step kill_at one worker is killed; at the step clock_at the clock is set ahead by
    CLOCK_STEP_NS, as far as the recorder sees; no file but the trace may grow beyond full_bytes.
    """

    workers: int
    batch_ms: float
    step_ms: float
    burn: bool = False
    jitter: float = 0.0
    slow: float = 1.0
    long: float = 1.0
    rare: float = 1.0
    steps: int = 24
    skip: int = 4
    stacks: bool = False
    recorder: str | None = None
    kill_at: int | None = None
    clock_at: int | None = None
    full_bytes: int | None = None
    cores: int | None = None
    prefetch: int | None = None
    ahead: int = 0
    tensors: int = 1
    epoch: int = 0
    persistent: bool = False
    profiled: bool = True
    layers: int = 0
    adam: bool = False
    fused: bool = False

    @property
    def is_uneven(self) -> bool:
        return self.jitter > 0 or self.slow > 1 or self.long > 1


class Samples(Dataset[Any]):
    """Each sample takes its share of the batch's time. The first one of a batch notes when the batch began."""

    def __init__(self, asked: Training, batches: int) -> None:
        self.asked = asked
        self.batches = batches
        self.began = (0, 0)

    def __len__(self) -> int:
        return SAMPLES * self.batches

    def __getitem__(self, index: int) -> Any:
        if index % SAMPLES == 0:
            self.began = time.perf_counter_ns(), time.thread_time_ns()
        self._work(round(1e6 * self.batch_ms(index // SAMPLES) / SAMPLES))
        if self.asked.tensors == 1:
            return torch.full((FEATURES,), 1e-3 * index), index
        return [torch.full((FEATURES // self.asked.tensors,), 1e-3 * index) for _ in range(self.asked.tensors)], index

    def batch_ms(self, batch: int) -> float:
        """The time of a batch, which is the same in every training."""
        chance = random.Random(batch)
        even = self.asked.batch_ms * (1 + self.asked.jitter * chance.uniform(-1, 1))
        slow = self.asked.slow if chance.random() < SLOW_FRACTION else 1.0
        rare = self.asked.rare if chance.random() < RARE_FRACTION else 1.0
        return even * rare * slow / (1 + SLOW_FRACTION * (self.asked.slow - 1))

    def _work(self, duration_ns: int) -> None:
        if not self.asked.burn:
            time.sleep(duration_ns / 1e9)
            return
        end = time.thread_time_ns() + duration_ns
        while time.thread_time_ns() < end:
            pass


class LoggedCollate:
    """Collates with torch's own function, without the samples' numbers, and writes a line to the log when the batch is
    complete.
    """

    def __init__(self, log: Path, dataset: Samples) -> None:
        self.log = log
        self.dataset = dataset

    def __call__(self, samples: Sequence[Any]) -> Any:
        batch = default_collate([sample for sample, _ in samples])
        end, cpu = time.perf_counter_ns(), time.thread_time_ns()
        own = get_worker_info()
        start, start_cpu = (own.dataset if own else self.dataset).began
        line = f"{samples[0][1] // SAMPLES} {os.getpid()} {start} {end} {cpu - start_cpu}\n"
        with self.log.open("ab", buffering=0) as file:
            file.write(line.encode())
        return batch


class Network:
    """A step takes as long as requested: its arithmetic, then sleep."""

    def __init__(self, asked: Training) -> None:
        self.step_ns = round(1e6 * asked.step_ms * LONG_EVERY / (LONG_EVERY - 1 + asked.long))
        self.long = asked.long
        hidden = [nn.Linear(FEATURES, FEATURES) for _ in range(asked.layers)]
        self.model = nn.Sequential(*hidden, nn.Linear(FEATURES, 8))
        self.optimizer: torch.optim.Optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        if asked.adam:
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-6, fused=asked.fused)

    def learn(self, batch: Any, step: int = 0) -> None:
        long = self.long if step % LONG_EVERY == LONG_EVERY - 1 else 1.0
        end = time.perf_counter_ns() + round(self.step_ns * long)
        self.optimizer.zero_grad()
        features = batch if isinstance(batch, torch.Tensor) else torch.cat(batch, 1)
        self.model(features).square().mean().backward()
        self.optimizer.step()
        with record_function("the rest of the step"):
            time.sleep(max(0, end - time.perf_counter_ns()) / 1e9)


def train(folder: Path, asked: Training) -> None:
    """Loop, profiler and log. If a loader fails because a worker was killed, all batches are read once more."""
    truth = folder / TRUTH
    truth.mkdir(parents=True)
    network = Network(asked)
    with profile():
        network.learn(torch.zeros(SAMPLES, FEATURES))  # excludes what only the first recording takes
    last = asked.skip + 1 + asked.steps
    events = _Events(asked)
    if asked.full_bytes is not None:
        _limit_files(asked.full_bytes)
    batches = asked.epoch or last + (asked.prefetch or 2) * max(1, asked.workers)
    loop = _Loop(_loader(folder, asked, batches), network, events, asked.ahead)
    with _profiled(folder, asked) as profiler:
        for step in range(last):
            loop.step(step)
            profiler.step()
    loop.end()
    (truth / TAKEN).write_text("".join(loop.taken))


def _profiled(folder: Path, asked: Training) -> Any:
    """A profiler of the recorded steps, or one that never records."""
    return profile(
        schedule=schedule(skip_first=asked.skip, wait=0, warmup=1, active=asked.steps, repeat=1)
        if asked.profiled
        else lambda step: ProfilerAction.NONE,
        on_trace_ready=_write_trace(folder),
        with_stack=asked.stacks,
    )


def _loader(folder: Path, asked: Training, batches: int) -> DataLoader[Any]:
    dataset = Samples(asked, batches)
    collate = LoggedCollate(folder.absolute() / TRUTH / MADE, dataset)
    start = "fork" if asked.workers else None  # the changed clock, and the folder of the log, belong to this process
    loader = DataLoader(
        dataset, SAMPLES, num_workers=asked.workers, collate_fn=collate, multiprocessing_context=start,
        prefetch_factor=asked.prefetch, persistent_workers=asked.persistent,
    )  # fmt: skip
    if asked.recorder == "" or not asked.profiled:
        return loader
    return LoaderRecorder(asked.recorder or folder).watch(loader)


class _Events:
    """Events that happen to the training, once each. The clock that the workers see is created before them."""

    def __init__(self, asked: Training) -> None:
        self.ahead = multiprocessing.get_context("fork").RawValue("q", 0)
        self.at = {asked.clock_at: self._set_clock, asked.kill_at: self._kill_worker}
        if asked.clock_at is not None:
            clock.wall_ns = lambda: time.time_ns() + int(self.ahead.value)

    def happen(self, step: int) -> None:
        self.at.pop(step, lambda: None)()

    def _set_clock(self) -> None:
        self.ahead.value = CLOCK_STEP_NS

    def _kill_worker(self) -> None:
        """torch's signal handler would raise wherever the training is at that moment, and again when other workers
        leave. Without it the loop notices while it waits for the batch.
        """
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.kill(min(child.pid or 0 for child in multiprocessing.active_children()), signal.SIGKILL)


class _Loop:
    """The training loop. torch reports a worker's death by an error wherever the loop is; then the step is repeated,
    with all batches from the first one on.
    """

    def __init__(self, loader: DataLoader[Any], network: Network, events: _Events, ahead: int) -> None:
        self.loader = loader
        self.ahead = ahead
        self.network = network
        self.events = events
        self.batches: Iterator[Any] | None = None
        self.taken: list[str] = []

    def step(self, step: int) -> None:
        while True:
            try:
                self.taken.append(self._step(step))
                return
            except (RuntimeError, OSError, EOFError) as error:  # torch reports it in several ways
                print(f"The loader failed: {error}", file=sys.stderr)
                self.batches = None

    def end(self) -> None:
        """Its thread would wait in a queue that nobody reads, and be ended with the process at any point."""
        if self.ahead and self.batches is not None:
            for _ in self.batches:
                pass

    def _begin(self) -> Iterator[Any]:
        return _read_ahead(self.loader, self.ahead) if self.ahead else iter(self.loader)

    def _step(self, step: int) -> str:
        self.events.happen(step)
        asked_ns = time.perf_counter_ns()
        self.batches = self.batches or self._begin()
        batch = next(self.batches, None)
        if batch is None:  # the next epoch
            self.batches = None
            self.batches = self._begin()
            batch = next(self.batches)
        got_ns = time.perf_counter_ns()
        self.network.learn(batch, step)
        return f"{step} {asked_ns} {got_ns} {time.perf_counter_ns()}\n"


def _read_ahead(loader: DataLoader[Any], depth: int) -> Iterator[Any]:
    """Batches that a separate thread reads, which no profiler records."""
    store: queue.Queue[Any] = queue.Queue(depth)

    def read() -> None:
        for batch in loader:
            store.put(batch)
        store.put(None)

    threading.Thread(target=read, daemon=True).start()
    return iter(store.get, None)


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def _write_trace(folder: Path) -> Callable[[Any], None]:
    write = tensorboard_trace_handler(str(folder), "cpu")

    def write_with_room(profiler: Any) -> None:
        size, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        _limit_files(most)
        write(profiler)
        _limit_files(size)

    return write_with_room


def train_apart(folder: Path, asked: Training) -> None:
    """Runs in a child of this process, which has loaded torch: loading it takes longer than some trainings."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(os.waitstatus_to_exitcode(status))
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.cores])
    train(folder, asked)
    sys.exit()  # like a script that has reached its end


def main(arguments: Sequence[str]) -> None:
    """arguments: FOLDER and training, alternating."""
    torch.set_num_threads(1)
    Network(Training(0, 0, 0))  # an optimizer loads as much of torch again
    with contextlib.suppress(OSError):
        os.nice(BEFORE_OTHERS)
    for folder, asked in zip(arguments[::2], arguments[1::2], strict=True):
        train_apart(Path(folder), Training(**json.loads(asked)))


if __name__ == "__main__":
    main(sys.argv[1:])
