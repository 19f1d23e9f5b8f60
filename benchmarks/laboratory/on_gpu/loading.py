"""Programs whose batches reach the GPU late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Dataset

from benchmarks.laboratory.on_gpu.parts import Learner, half, mlp
from benchmarks.laboratory.on_gpu.program import gpu_program
from benchmarks.laboratory.program import Run
from benchmarks.laboratory.programs.loading import Looping, Multiplying, Sleeping
from benchmarks.laboratory.programs.parts import FEATURES, Rows, epochs

#: The cards that ask for more or fewer workers. Their changes are other numbers of workers.
WORKERS: dict[str, tuple[str, ...]] = {"no_workers": (), "more_workers": (), "loader_overhead": (), "input_bound": ()}
COUNTS = (0, 2, 4, 8)


def _train(run: Run, dataset: Dataset[Any], width: int = 2048, **options: Any) -> Iterator[None]:
    learner = Learner(mlp(width, 4, FEATURES))
    for inputs, targets in epochs(run.loader(dataset, **({"batch_size": 64, "pin_memory": True} | options))):
        with half():
            learner.step(inputs.cuda(non_blocking=True), targets.cuda(non_blocking=True))
        yield


@gpu_program("sleeping dataset, no workers", WORKERS, workers=COUNTS, active=10)
def sleeping_alone(run: Run) -> Iterator[None]:
    return _train(run, Sleeping(0.1))


@gpu_program("sleeping dataset, two workers", WORKERS, workers=COUNTS, active=10)
def sleeping_two(run: Run) -> Iterator[None]:
    return _train(run, Sleeping(0.2), num_workers=2)


@gpu_program("Python dataset, two workers", WORKERS, workers=COUNTS, active=10)
def looping_two(run: Run) -> Iterator[None]:
    return _train(run, Looping(5_000), num_workers=2)


@gpu_program("torch dataset, no workers", WORKERS, workers=COUNTS, active=10)
def multiplying_alone(run: Run) -> Iterator[None]:
    return _train(run, Multiplying(1))


@gpu_program("rows in memory, two workers", WORKERS | {"launch_graphs": ()}, workers=COUNTS, active=10)
def rows_two(run: Run) -> Iterator[None]:
    return _train(run, Rows(), width=256, num_workers=2)


class Images(Rows):
    """Large samples that are cheap to make."""

    def __init__(self) -> None:
        super().__init__()
        self.image = torch.rand(3, 224, 224)

    def __getitem__(self, index: int) -> Any:
        return self.image, index % 10


def _images(run: Run, **options: Any) -> Iterator[None]:
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7, 4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1))
    learner = Learner(torch.nn.Sequential(layers, torch.nn.Flatten(), torch.nn.Linear(64, 10)))
    for inputs, targets in epochs(run.loader(Images(), batch_size=128, num_workers=4, **options)):
        learner.step(inputs.cuda(non_blocking=bool(run.change)), targets.cuda(non_blocking=bool(run.change)))
        yield


@gpu_program(
    "images that are not pinned",
    {"pageable_batch_copies": ("pinned",), "long_stretches": (), **WORKERS},
    workers=COUNTS,
    active=10,
)
def not_pinned(run: Run) -> Iterator[None]:
    return _images(run, pin_memory=bool(run.change))
