"""Jobs of two ranks over gloo: one rank is late, or exchanges cost more than necessary."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import Learner, Rows, epochs, mlp, table

RANKS = 2


class _SlowRows(Rows):
    """Reading each batch of 32 rows takes this many additional seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def __getitem__(self, index: int) -> Any:
        if self.seconds and index % 32 == 0:
            time.sleep(self.seconds)
        return super().__getitem__(index)


def _reading(run: Run, model: nn.Module) -> Iterator[None]:
    """Rank 1 reads from a slower disk."""
    loader = run.loader(_SlowRows(0.02 if dist.get_rank() == 1 else 0.0), batch_size=32)
    learner = Learner(model)
    for inputs, targets in epochs(loader):
        learner.step(inputs, targets)
        yield


@program("DDP: one rank reads slowly", {"straggler": "workers"}, ranks=RANKS)
def reads_slowly(run: Run) -> Iterator[None]:
    return _reading(run, DistributedDataParallel(mlp(256, 4)))


@program("FSDP2: one rank reads slowly", {"straggler": "workers"}, ranks=RANKS)
def shards_and_reads_slowly(run: Run) -> Iterator[None]:
    return _reading(run, _sharded(mlp(256, 4)))


@program("DDP: one rank has four times the rows", {"straggler": "as many each"}, ranks=RANKS)
def uneven(run: Run) -> Iterator[None]:
    """With the change, both ranks have equally many rows, and as many in total as before."""
    rows = 320 if run.change else (128, 512)[dist.get_rank()]
    learner, (inputs, targets) = Learner(DistributedDataParallel(mlp(512, 3))), table(rows)
    while True:
        learner.step(inputs, targets)
        yield


@program("DDP: one rank looks at its weights in each step", {"straggler": "never"}, ranks=RANKS, stacks=True)
def looks(run: Run) -> Iterator[None]:
    """Rank 0 sorts weights in Python, as if for a picture."""
    model = DistributedDataParallel(mlp(256, 4))
    learner, (inputs, targets) = Learner(model), table(64)
    while True:
        learner.step(inputs, targets)
        if dist.get_rank() == 0 and not run.change:
            sorted(next(model.parameters()).flatten().tolist())
        yield


@program("gradients exchanged one by one after backward", {"many_small_collectives": "ddp"}, ranks=RANKS)
def one_by_one(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(64, 40), table(32)
    if run.change:
        learner = Learner(DistributedDataParallel(model))
        while True:
            learner.step(inputs, targets)
            yield
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    while True:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        for weight in model.parameters():
            dist.all_reduce(weight.grad, op=dist.ReduceOp.SUM)
            weight.grad /= RANKS
        optimizer.step()
        yield


@program("DDP: small buckets", {"many_small_collectives": "usual buckets"}, ranks=RANKS)
def small_buckets(run: Run) -> Iterator[None]:
    options = {} if run.change else {"bucket_cap_mb": 0.01}
    learner, (inputs, targets) = Learner(DistributedDataParallel(mlp(64, 60), **options)), table(32)
    while True:
        learner.step(inputs, targets)
        yield


@program("DDP: gradients exchanged for each of four micro-batches", {"each_micro_batch": "no_sync"}, ranks=RANKS)
def micro_batches(run: Run) -> Iterator[None]:
    model, (inputs, targets) = DistributedDataParallel(mlp(512, 3)), table(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    while True:
        optimizer.zero_grad()
        for number in range(4):
            with model.no_sync() if run.change and number < 3 else contextlib.nullcontext():
                nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        yield


@program("DDP: searches for unused parameters", {"unused_parameters": "no search"}, ranks=RANKS)
def searches(run: Run) -> Iterator[None]:
    model = DistributedDataParallel(mlp(32, 60), find_unused_parameters=not run.change)
    learner, (inputs, targets) = Learner(model), table(16)
    while True:
        learner.step(inputs, targets)
        yield


@program("healthy: DDP", ranks=RANKS)
def healthy_ddp(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(DistributedDataParallel(mlp(512, 2))), table(1024)
    while True:
        learner.step(inputs, targets)
        yield


@program("healthy: FSDP2", ranks=RANKS)
def healthy_fsdp(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(_sharded(mlp(512, 2))), table(1024)
    while True:
        learner.step(inputs, targets)
        yield


def _sharded(model: nn.Sequential) -> nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (RANKS,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)
