"""Programs whose batches come late."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    Dataset,
    IterableDataset,
    Sampler,
    SequentialSampler,
    default_collate,
    get_worker_info,
)

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import CLASSES, FEATURES, Learner, Rows, cnn, epochs, mlp

#: Cards that advise other settings of the workers. Each is followed by its own line of code.
BY_CODE = {"no_workers": "", "more_workers": "", "loader_jitter": "", "loader_overhead": "", "epoch_starts": ""}


class Costly(Rows):
    """Rows that each take a while. `work(index)` is what is done for one row."""

    def __getitem__(self, index: int) -> Any:
        self.work(index)
        return super().__getitem__(index)

    def work(self, index: int) -> None:
        raise NotImplementedError


class Sleeping(Costly):
    """Sleeps like a dataset that waits for a disk or a server."""

    def __init__(self, row_ms: float) -> None:
        super().__init__()
        self.row_ms = row_ms

    def work(self, index: int) -> None:
        time.sleep(self.row_ms / 1e3)


class Looping(Costly):
    """Computes in Python, and so holds the interpreter."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds

    def work(self, index: int) -> None:
        total = 0
        for number in range(self.rounds):
            total += number % 7


class Multiplying(Costly):
    """Computes in torch, which releases the interpreter."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds

    def work(self, index: int) -> None:
        matrix = torch.ones(160, 160)
        for _ in range(self.rounds):
            matrix = matrix @ matrix * 0


def _train(run: Run, dataset: Dataset[Any], **options: Any) -> Iterator[None]:
    learner = Learner(mlp(1024, 3))
    for inputs, targets in epochs(run.loader(dataset, **({"batch_size": 32} | options))):
        learner.step(inputs, targets)
        yield


@program("sleeping dataset, no workers", BY_CODE)
def sleeping_alone(run: Run) -> Iterator[None]:
    return _train(run, Sleeping(0.5))


@program("sleeping dataset, one worker", BY_CODE)
def sleeping_one(run: Run) -> Iterator[None]:
    return _train(run, Sleeping(1.0), num_workers=1)


@program("Python dataset, no workers", BY_CODE | {"input_bound": "less"})
def looping_alone(run: Run) -> Iterator[None]:
    return _train(run, Looping(500 if run.change else 10_000))


@program("Python dataset, two workers", BY_CODE | {"input_bound": "less"})
def looping_two(run: Run) -> Iterator[None]:
    return _train(run, Looping(1_000 if run.change else 20_000), num_workers=2)


@program("torch dataset, two workers", BY_CODE | {"input_bound": "less"})
def multiplying_two(run: Run) -> Iterator[None]:
    return _train(run, Multiplying(1 if run.change else 4), num_workers=2)


@program("small rows in memory, two workers", {"loader_overhead": ""}, taught=True)
def small_rows(run: Run) -> Iterator[None]:
    learner = Learner(mlp(64, 1))
    for inputs, targets in epochs(run.loader(Rows(), batch_size=32, num_workers=2)):
        learner.step(inputs, targets)
        yield


class Together(Rows):
    """Returns the rows of a list of indices at once."""

    def __getitem__(self, index: Any) -> Any:
        rows = torch.as_tensor(index) % 512
        return self.inputs[rows], self.targets[rows]


@program("rows in memory, one by one", {"loader_overhead": "together", "input_bound": "together"})
def rows_one_by_one(run: Run) -> Iterator[None]:
    learner = Learner(mlp(64, 1))
    if run.change:
        sampler = BatchSampler(SequentialSampler(range(100_000)), 256, drop_last=False)
        loader = run.loader(Together(), sampler=sampler, batch_size=None)
    else:
        loader = run.loader(Rows(), batch_size=256)
    for inputs, targets in epochs(loader):
        learner.step(inputs, targets)
        yield


def _padded(samples: Sequence[Any]) -> Any:
    """Pads lists value by value."""
    longest = max(len(values) for values, _ in samples)
    rows = [[values[place] if place < len(values) else 0.0 for place in range(longest)] for values, _ in samples]
    return torch.tensor(rows), torch.tensor([target for _, target in samples])


def _padded_by_torch(samples: Sequence[Any]) -> Any:
    rows = torch.zeros(len(samples), FEATURES)
    for row, (values, _) in zip(rows, samples, strict=True):
        row[: len(values)] = torch.from_numpy(values)
    return rows, torch.tensor([target for _, target in samples])


class Uneven(Dataset[Any]):
    def __init__(self, arrays: bool) -> None:
        rng = np.random.default_rng(0)
        rows = [rng.random(FEATURES, dtype=np.float32) for _ in range(64)]
        self.rows = rows if arrays else [row.tolist() for row in rows]

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        return self.rows[index % 64], index % CLASSES


@program("slow collate", BY_CODE | {"input_bound": "torch"})
def slow_collate(run: Run) -> Iterator[None]:
    collate = _padded_by_torch if run.change else _padded
    return _train(run, Uneven(arrays=bool(run.change)), batch_size=128, collate_fn=collate)


class Rarely(Sleeping):
    """One batch in ten takes eight times as long as the others."""

    def work(self, index: int) -> None:
        time.sleep(self.row_ms / 1e3 * (8 if index // 32 % 10 == 0 else 1))


@program("one batch in ten is slow", BY_CODE | {"input_bound": "even"})
def rarely_slow(run: Run) -> Iterator[None]:
    return _train(run, Sleeping(0.3) if run.change else Rarely(0.3), num_workers=1)


@program("short epochs", BY_CODE)
def short_epochs(run: Run) -> Iterator[None]:
    return _train(run, Rows(32 * 6), num_workers=2)


class Weighing(Sampler[int]):
    """A sampler that, if slow, processes the weights of all rows again for each index."""

    def __init__(self, slow: bool) -> None:
        self.slow = slow

    def __iter__(self) -> Iterator[int]:
        chances = random.Random(0)
        weights = [chances.random() for _ in range(2000)]
        if not self.slow:
            yield from chances.choices(range(2000), weights, k=100_000)
        for _ in range(100_000):
            yield chances.choices(range(2000), weights)[0]


@program("slow sampler", {"input_bound": "faster", "loader_overhead": "faster", "python_loop": "faster"})
def slow_sampler(run: Run) -> Iterator[None]:
    return _train(run, Rows(), sampler=Weighing(slow=not run.change), num_workers=2)


class Shards(IterableDataset[Any]):
    """The rows of one worker take far longer than the rows of the others."""

    def __init__(self, slow_ms: float) -> None:
        self.slow_ms = slow_ms
        self.inputs = torch.randn(512, FEATURES)

    def __iter__(self) -> Iterator[Any]:
        own = get_worker_info()
        wait_s = (self.slow_ms if own and own.id == 1 else 0.1) / 1e3
        for row in range(100_000):
            time.sleep(wait_s)
            yield self.inputs[row % 512], row % CLASSES


@program("one slow worker", {"slow_worker": "even", "input_bound": "even"})
def one_slow_worker(run: Run) -> Iterator[None]:
    return _train(run, Shards(0.1 if run.change else 1.5), num_workers=2)


class Files(Dataset[Any]):
    """Reads and decodes a file for each row."""

    def __init__(self, packed: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="laboratory_"))
        save = np.savez_compressed if packed else np.savez
        for number in range(64):
            save(self.folder / f"{number}.npz", inputs=np.random.default_rng(number).random((3, 96, 96)).astype("f4"))

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        with np.load(self.folder / f"{index % 64}.npz") as stored:
            return torch.from_numpy(stored["inputs"]), index % CLASSES


@program("packed files, no workers", BY_CODE | {"input_bound": "unpacked"})
def packed_files(run: Run) -> Iterator[None]:
    learner = Learner(cnn())
    for inputs, targets in epochs(run.loader(Files(packed=not run.change), batch_size=8)):
        learner.step(inputs[:, :, ::3, ::3].contiguous(), targets)
        yield


class Pieces(Rows):
    """Each row is in 64 pieces."""

    def __getitem__(self, index: int) -> Any:
        return list(self.inputs[index % 512].chunk(64)), self.targets[index % 512]


def _joined(samples: Sequence[Any]) -> Any:
    return default_collate([(torch.cat(pieces), target) for pieces, target in samples])


@program("many small tensors", {"loader_overhead": "joined", "input_bound": "joined"})
def many_small_tensors(run: Run) -> Iterator[None]:
    learner = Learner(mlp(256, 1))
    loader = run.loader(Pieces(), batch_size=16, num_workers=2, collate_fn=_joined if run.change else default_collate)
    for pieces, targets in epochs(loader):
        learner.step(torch.cat(pieces, 1) if isinstance(pieces, list) else pieces, targets)
        yield


@program("workers that share cores", BY_CODE | {"input_bound": "less"})
def shared_cores(run: Run) -> Iterator[None]:
    return _train(run, Looping(1_000 if run.change else 10_000), num_workers=2 * (os.cpu_count() or 2))


@program("sleeping dataset, prefetch of one", BY_CODE | {"input_bound": "less"})
def little_prefetch(run: Run) -> Iterator[None]:
    return _train(run, Sleeping(0.1 if run.change else 0.9), num_workers=2, prefetch_factor=1)
