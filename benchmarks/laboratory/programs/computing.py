"""Programs that compute in an inefficient way."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import CLASSES, Learner, cnn, mlp, table

#: Cards about ops of the CPU.
OPS = {"cpu_ops": "faster", "cpu_compiles": "faster"}


def _images(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, 3, 64, 64), torch.randint(0, CLASSES, (rows,))


@program("one thread, large products", OPS | {"cpu_threads": "faster"})
def one_thread(run: Run) -> Iterator[None]:
    torch.set_num_threads((os.cpu_count() or 2) if run.change else 1)
    learner, (inputs, targets) = Learner(mlp(2048, 3)), table(256)
    while True:
        learner.step(inputs, targets)
        yield


@program("far more threads than cores", OPS | {"cpu_threads": "faster"})
def many_threads(run: Run) -> Iterator[None]:
    cores = os.cpu_count() or 2
    torch.set_num_threads(cores if run.change else 8 * cores)
    learner, (inputs, targets) = Learner(mlp(512, 4)), table(256)
    while True:
        learner.step(inputs, targets)
        yield


@program("double precision", OPS | {"double_precision": "faster"})
def double(run: Run) -> Iterator[None]:
    dtype = torch.float32 if run.change else torch.float64
    learner, (inputs, targets) = Learner(mlp(1024, 3).to(dtype)), table(256)
    inputs = inputs.to(dtype)
    while True:
        learner.step(inputs, targets)
        yield


class Unrolled(nn.Module):
    """A recurrent network, either written step by step or torch's own."""

    def __init__(self, own: bool, features: int = 32, width: int = 64) -> None:
        super().__init__()
        self.cell, self.whole = nn.LSTMCell(features, width), nn.LSTM(features, width, batch_first=True)
        self.own, self.head = own, nn.Linear(width, CLASSES)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.own:
            return self.head(self.whole(inputs)[0][:, -1])
        state = None
        for place in range(inputs.shape[1]):
            state = self.cell(inputs[:, place], state)
        assert state is not None
        return self.head(state[0])


@program("recurrent network, step by step", OPS | {"tiny_kernels": "faster"})
def unrolled(run: Run) -> Iterator[None]:
    learner = Learner(Unrolled(own=bool(run.change)))
    inputs, targets = torch.randn(16, 48, 32), torch.randint(0, CLASSES, (16,))
    while True:
        learner.step(inputs, targets)
        yield


@program("autograd's anomaly detection", OPS | {"anomaly_detection": "faster"}, stacks=True, taught=True)
def anomaly(run: Run) -> Iterator[None]:
    torch.autograd.set_detect_anomaly(not run.change)
    learner, (inputs, targets) = Learner(mlp(64, 24)), table(16)
    try:
        while True:
            learner.step(inputs, targets)
            yield
    finally:
        torch.autograd.set_detect_anomaly(False)


@program("batches copied again and again", OPS)
def copies(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(256, 1)), table(4096)
    while True:
        batch = inputs
        for _ in range(0 if run.change else 12):
            batch = batch.t().contiguous().t().contiguous()
        learner.step(batch, targets)
        yield


@program("graph network, edge by edge", OPS | {"python_loop": "faster", "tiny_kernels": "faster"})
def edges(run: Run) -> Iterator[None]:
    count, width = 64, 64
    layer, head = nn.Linear(width, width), nn.Linear(width, CLASSES)
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=1e-3)
    nodes, ends = torch.randn(count, width), torch.randint(0, count, (2, 200))
    targets = torch.randint(0, CLASSES, (count,))
    while True:
        messages = layer(nodes)
        if run.change:
            gathered = torch.zeros(count, width).index_add(0, ends[1], messages[ends[0]])
        else:
            sums = [torch.zeros(width)] * count
            for start, end in ends.t().tolist():
                sums[end] = sums[end] + messages[start]
            gathered = torch.stack(sums)
        loss = nn.functional.cross_entropy(head(gathered.relu()), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("shapes that compile again", OPS | {"one_time": "faster", "slow_steps": "faster", "recompiles": "faster"})
def recompiled(run: Run) -> Iterator[None]:
    torch._dynamo.config.cache_size_limit = 1000
    model = mlp(256, 6)
    compiled = torch.compile(model, backend="eager", dynamic=bool(run.change))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    rows = 8
    while True:
        rows = 8 + (rows - 7) % 900
        inputs, targets = table(rows)
        loss = nn.functional.cross_entropy(compiled(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("attention, head by head", OPS)
def heads(run: Run) -> Iterator[None]:
    width, count = 128, 16
    project, head = nn.Linear(width, 3 * width), nn.Linear(width, CLASSES)
    optimizer = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=1e-3)
    inputs, targets = torch.randn(8, 64, width), torch.randint(0, CLASSES, (8,))
    while True:
        query, key, value = project(inputs).chunk(3, -1)
        parts = [each.unflatten(-1, (count, -1)).transpose(1, 2) for each in (query, key, value)]
        if run.change:
            mixed = nn.functional.scaled_dot_product_attention(*parts)
        else:
            each_head = []
            for number in range(count):
                q, k, v = (part[:, number] for part in parts)
                each_head.append((q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1) @ v)
            mixed = torch.stack(each_head, 1)
        loss = nn.functional.cross_entropy(head(mixed.transpose(1, 2).flatten(2).mean(1)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("large temporary tensors", OPS | {"memory_churn": "faster"})
def temporaries(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(256, 1)), table(64)
    large, out = torch.randn(4_000_000), torch.empty(4_000_000)
    while True:
        if run.change:
            torch.mul(large, 2.0, out=out)
            inputs[0, 0] = out.add_(1.0).mul_(0.5)[0]
        else:
            inputs[0, 0] = (((large * 2.0) + 1.0) * 0.5)[0]
        learner.step(inputs, targets)
        yield


@program("images of a size that is not needed", OPS)
def large_images(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(cnn()), _images(8)
    while True:
        learner.step(nn.functional.interpolate(inputs, size=64 if run.change else 128), targets)
        yield
