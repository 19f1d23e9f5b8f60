"""Programs that lose time outside the forward and backward pass: optimizers, gradients, averages of weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import FEATURES, Learner, mlp, table

#: Cards about the optimizer or the many small ops beside it.
SMALL_OPS = {"cpu_optimizer": "fewer", "cpu_ops": "fewer", "tiny_kernels": "fewer"}


def _many() -> nn.Sequential:
    """Many small layers."""
    return mlp(32, 60)


@program("Adam, parameter by parameter", SMALL_OPS)
def adam(run: Run) -> Iterator[None]:
    model, (inputs, targets) = _many(), table(8)
    learner = Learner(model, torch.optim.Adam(model.parameters(), lr=1e-5, foreach=False, fused=bool(run.change)))
    while True:
        learner.step(inputs, targets)
        yield


@program("AdamW, parameter by parameter", SMALL_OPS)
def adamw(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(64, 30), table(8)
    learner = Learner(model, torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=False, fused=bool(run.change)))
    while True:
        learner.step(inputs, targets)
        yield


@program("SGD with momentum, parameter by parameter", SMALL_OPS)
def momentum(run: Run) -> Iterator[None]:
    model, (inputs, targets) = _many(), table(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, momentum=0.9, foreach=False, fused=bool(run.change))
    learner = Learner(model, optimizer)
    while True:
        learner.step(inputs, targets)
        yield


@program("average of weights, parameter by parameter", SMALL_OPS | {"python_loop": "fewer", "cpu_outside": "fewer"})
def averaged(run: Run) -> Iterator[None]:
    model, (inputs, targets) = _many(), table(8)
    learner, average = Learner(model), copy.deepcopy(model)
    ours, theirs = list(average.parameters()), list(model.parameters())
    while True:
        learner.step(inputs, targets)
        with torch.no_grad():
            if run.change:
                torch._foreach_lerp_(ours, theirs, 0.01)
            else:
                for mean, weight in zip(ours, theirs, strict=True):
                    mean.mul_(0.99).add_(weight, alpha=0.01)
        yield


@program("norms of gradients, one by one", SMALL_OPS | {"python_loop": "fewer", "cpu_outside": "fewer"})
def norms(run: Run) -> Iterator[None]:
    model, (inputs, targets) = _many(), table(8)
    learner = Learner(model)
    while True:
        learner.step(inputs, targets)
        gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        if run.change:
            torch.nn.utils.get_total_norm(gradients)
        else:
            sum(gradient.pow(2).sum().item() for gradient in gradients)
        yield


@program("penalty of weights, one by one", SMALL_OPS)
def penalty(run: Run) -> Iterator[None]:
    model, (inputs, targets) = _many(), table(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, weight_decay=1e-4)
    while True:
        loss = nn.functional.cross_entropy(model(inputs), targets)
        if not run.change:
            loss = loss + 1e-4 * sum(weight.square().sum() for weight in model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


#: Cards about gradients that are mostly zeros.
SPARSE = {"sparse_gradients": "sparse", "cpu_ops": "sparse", "cpu_optimizer": "sparse"}


@program("large embedding with a dense gradient", SPARSE, alone=True, taught=True)
def embedding(run: Run) -> Iterator[None]:
    words, head = nn.Embedding(100_000, 64, sparse=bool(run.change)), nn.Linear(64, 8)
    optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=1e-3)
    tokens, targets = torch.randint(0, 100_000, (32, 16)), torch.randint(0, 8, (32,))
    while True:
        loss = nn.functional.cross_entropy(head(words(tokens).mean(1)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("graphs of losses that are kept", {"memory_grows": "numbers", "cpu_ops": "numbers"})
def kept_graphs(run: Run) -> Iterator[None]:
    model, (inputs, targets) = nn.Sequential(nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, 10)), table(512)
    learner, losses = Learner(model), []
    while True:
        _, loss = learner.step(inputs, targets)
        losses.append(loss.detach() if run.change else loss)
        yield
