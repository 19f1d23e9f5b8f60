"""Programs on one core that a setting speeds up: the layout of images, the type of products, sparse gradients, a fused
optimizer, no graph, larger ops. Beside each stand healthy ones that look like it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import CLASSES, FEATURES, Learner, mlp, table


def _repeated(learner: Learner, inputs: torch.Tensor, targets: torch.Tensor) -> Iterator[None]:
    while True:
        learner.step(inputs, targets)
        yield


def _of_images(model: nn.Module, rows: int, size: int, *, last: bool) -> Iterator[None]:
    layout = torch.channels_last if last else torch.contiguous_format
    inputs, targets = torch.randn(rows, 3, size, size), torch.randint(0, CLASSES, (rows,))
    return _repeated(Learner(model.to(memory_format=layout)), inputs.contiguous(memory_format=layout), targets)


def _pooled() -> nn.Sequential:
    """A first layer that pools more than it computes. Its filter is larger than one pixel: others oneDNN leaves to
    torch on one thread, and only oneDNN's convolutions show the layout."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 3), nn.MaxPool2d(3, 1, 1), nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, CLASSES),
    )  # fmt: skip


def _convolved() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 48, 3), nn.ReLU(), nn.Conv2d(48, 48, 3), nn.ReLU(), nn.Conv2d(48, 48, 3),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, CLASSES),
    )  # fmt: skip


@program("pooling with the channels first", {"cpu_ops": "last"}, alone=True, taught=True)
def pooling(run: Run) -> Iterator[None]:
    return _of_images(_pooled(), 4, 48, last=bool(run.change))


@program("healthy: pooling along one dimension", unfit="channels_last", alone=True)
def healthy_flat_pooling(run: Run) -> Iterator[None]:
    pool = nn.MaxPool1d(5, 1, 2)
    model = nn.Sequential(nn.Conv1d(8, 32, 1), pool, pool, pool, nn.Flatten(), nn.Linear(32 * 256, CLASSES))
    return _repeated(Learner(model), torch.randn(32, 8, 256), torch.randint(0, CLASSES, (32,)))


@program("healthy: pooling with the channels last", unfit="channels_last", alone=True, taught=True)
def healthy_pooling(run: Run) -> Iterator[None]:
    return _of_images(_pooled(), 4, 48, last=True)


@program("Adagrad, parameter by parameter", {"cpu_optimizer": "fused"}, alone=True)
def adagrad(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(128, 20), table(16)
    return _repeated(Learner(model, torch.optim.Adagrad(model.parameters(), fused=bool(run.change))), inputs, targets)


@program("Adam as torch sets it up, for large layers", {"cpu_optimizer": "fused"}, alone=True)
def default_adam(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(1024, 4), table(32)
    return _repeated(Learner(model, torch.optim.Adam(model.parameters(), fused=run.change or None)), inputs, targets)


@program("healthy: Adam after much work", unfit="cpu_optimizer", alone=True)
def healthy_adam(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(512, 4), table(512)
    return _repeated(Learner(model, torch.optim.Adam(model.parameters())), inputs, targets)


@program("convolutions with the channels first", {"cpu_ops": "last"}, shapes=True, alone=True, taught=True)
def convolutions(run: Run) -> Iterator[None]:
    return _of_images(_convolved(), 4, 24, last=bool(run.change))


def _inferred(*, recorded: bool, frozen: bool = False) -> Iterator[None]:
    model, (inputs, _) = mlp(256, 12).eval().requires_grad_(not frozen), table(64)
    while True:
        with torch.set_grad_enabled(recorded):
            model(inputs).argmax(1)
        yield


@program("an inference whose graph is recorded", {"unused_graph": "no_grad", "cpu_ops": "no_grad"}, alone=True)
def recorded_inference(run: Run) -> Iterator[None]:
    return _inferred(recorded=not run.change)


@program("healthy: convolutions with the channels last", unfit="channels_last", alone=True, taught=True)
def healthy_convolutions(run: Run) -> Iterator[None]:
    return _of_images(_convolved(), 4, 24, last=True)


@program("healthy: an inference of frozen weights", unfit="unused_graph", alone=True)
def healthy_inference(run: Run) -> Iterator[None]:
    return _inferred(recorded=True, frozen=True)


def _in_type(run: Run, rows: int, width: int) -> Iterator[None]:
    dtype = torch.float32 if run.change else torch.bfloat16
    model, (inputs, _) = mlp(width, 4).eval().to(dtype), table(rows)
    inputs = inputs.to(dtype)
    with torch.inference_mode():
        while True:
            model(inputs)
            yield


#: A CPU with AVX-512 BF16 or AMX is fast in both types: there this program is another healthy one.
@program("BF16 on a CPU without instructions for it", {"slow_half": "full"}, shapes=True, alone=True, taught=True)
def slow_half(run: Run) -> Iterator[None]:
    return _in_type(run, 64, 512)


@program(
    "healthy: BF16 for one row, whose weights are half as long to read", unfit="slow_half", shapes=True, alone=True
)
def healthy_half(run: Run) -> Iterator[None]:
    return _in_type(run, 1, 2048)


#: Rows of a table of which a batch needs few: 77 MB.
LARGE = 600_000


def _of_tables(
    rows: int, batch: int, *, sparse: bool = False, adam: bool = False, momentum: float = 0.0, clip: bool = False
) -> Iterator[None]:
    words, head = nn.EmbeddingBag(rows, 32, sparse=sparse), nn.Linear(32, CLASSES)
    parameters = [*words.parameters(), *head.parameters()]
    sgd = torch.optim.SGD(parameters, lr=1e-3, momentum=momentum)
    optimizer = torch.optim.Adam(parameters, fused=True) if adam else sgd
    targets = torch.randint(0, CLASSES, (batch,))
    while True:
        tokens = torch.randint(0, rows, (batch, 20))
        loss = nn.functional.cross_entropy(head(words(tokens)), targets)
        optimizer.zero_grad()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        yield


@program("a table of which a batch needs few rows", {"sparse_gradients": "sparse"}, alone=True, taught=True)
def tables(run: Run) -> Iterator[None]:
    return _of_tables(LARGE, 64, sparse=bool(run.change))


@program("healthy: a table of which a batch needs most rows", unfit="sparse_gradients", alone=True)
def healthy_needed(run: Run) -> Iterator[None]:
    return _of_tables(10_000, 1024)


@program("healthy: a table that SGD trains with momentum", unfit="sparse_gradients", alone=True, taught=True)
def healthy_momentum(run: Run) -> Iterator[None]:
    """Sparse, its momentum would gather the rows of all steps."""
    return _of_tables(LARGE, 64, momentum=0.9)


@program("healthy: a table whose gradients are clipped", unfit="sparse_gradients", alone=True)
def healthy_clipped(run: Run) -> Iterator[None]:
    return _of_tables(LARGE, 64, clip=True)


@program("healthy: a table that Adam trains", unfit="sparse_gradients", alone=True)
def healthy_moments(run: Run) -> Iterator[None]:
    return _of_tables(LARGE, 64, adam=True)


def _played(run: Run, environments: int = 32) -> Iterator[None]:
    """Each of some environments gives its state to a small network, and takes an action."""
    policy, states = mlp(64, 2, features=8), torch.randn(environments, 8)
    moves = torch.randn(CLASSES, 8) * 0.1
    with torch.no_grad():
        while True:
            if run.change:
                states = (states + moves[torch.multinomial(policy(states).softmax(1), 1)[:, 0]]).tanh()
            else:
                for number in range(environments):
                    action = int(torch.multinomial(policy(states[number]).softmax(0), 1).item())
                    states[number] = (states[number] + moves[action]).tanh()
            yield


@program("environments one by one", {"small_ops": "together"}, alone=True)
def environments(run: Run) -> Iterator[None]:
    return _played(run)


@program("healthy: many ops of middle size", unfit="small_ops", alone=True, taught=True)
def healthy_middle(run: Run) -> Iterator[None]:
    return _repeated(Learner(mlp(FEATURES, 20)), *table(32))
