"""Programs in which there is nothing to improve."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.loading import Sleeping, Together
from benchmarks.laboratory.programs.parts import CLASSES, FEATURES, Learner, Rows, cnn, epochs, mlp, table


def _repeated(learner: Learner, inputs: torch.Tensor, targets: torch.Tensor) -> Iterator[None]:
    while True:
        learner.step(inputs, targets)
        yield


@program("healthy: layers over rows in memory")
def healthy_mlp(run: Run) -> Iterator[None]:
    return _repeated(Learner(mlp(1024, 3)), *table(256))


@program("healthy: convolutions")
def healthy_cnn(run: Run) -> Iterator[None]:
    return _repeated(Learner(cnn()), torch.randn(16, 3, 32, 32), torch.randint(0, CLASSES, (16,)))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 3), nn.Linear(128, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.words(tokens)).mean(1))


@program("healthy: transformer")
def healthy_transformer(run: Run) -> Iterator[None]:
    return _repeated(Learner(Transformer()), torch.randint(0, 1000, (8, 64)), torch.randint(0, CLASSES, (8,)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers, self.head = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, CLASSES)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(inputs)[0][:, -1])


@program("healthy: recurrent network")
def healthy_recurrent(run: Run) -> Iterator[None]:
    return _repeated(Learner(Recurrent()), torch.randn(32, 32, 64), torch.randint(0, CLASSES, (32,)))


@program("healthy: two workers that keep up")
def healthy_workers(run: Run) -> Iterator[None]:
    learner = Learner(mlp(1024, 4))
    for inputs, targets in epochs(run.loader(Sleeping(0.05), batch_size=64, num_workers=2)):
        learner.step(inputs.repeat(4, 1), targets.repeat(4))
        yield


@program("healthy: one worker, long steps")
def healthy_worker(run: Run) -> Iterator[None]:
    learner = Learner(mlp(2048, 3))
    for inputs, targets in epochs(run.loader(Rows(), batch_size=128, num_workers=1, persistent_workers=True)):
        learner.step(inputs, targets)
        yield


@program("healthy: whole batches without workers")
def healthy_batches(run: Run) -> Iterator[None]:
    learner = Learner(mlp(512, 3))
    rows = [list(range(start, start + 256)) for start in range(0, 100_000, 256)]
    for inputs, targets in epochs(run.loader(Together(), sampler=rows, batch_size=None)):
        learner.step(inputs, targets)
        yield


@program("healthy: gradients of four batches")
def healthy_accumulation(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(512, 3), table(128)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    while True:
        optimizer.zero_grad()
        for _ in range(4):
            (nn.functional.cross_entropy(model(inputs), targets) / 4).backward()
        optimizer.step()
        yield


@program("healthy: checkpointed activations")
def healthy_checkpointed(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(1024, 6), table(256)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    while True:
        outputs = checkpoint_sequential(model, 3, inputs.requires_grad_(), use_reentrant=False)
        nn.functional.cross_entropy(outputs, targets).backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


@program("healthy: inference")
def healthy_inference(run: Run) -> Iterator[None]:
    model, (inputs, _) = mlp(1024, 4).eval(), table(256)
    with torch.inference_mode():
        while True:
            model(inputs)
            yield


@program("healthy: the loss is read in every step")
def healthy_loss(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 3)), table(256)
    total = 0.0
    while True:
        total += learner.step(inputs, targets)[1].item()
        yield


@program("healthy: short evaluation in every fiftieth step")
def healthy_evaluation(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(512, 3)), table(256)
    for step in itertools.count():
        learner.step(inputs, targets)
        if step % 50 == 49:
            with torch.no_grad():
                learner.model(inputs)
        yield


@program("healthy: batches of several lengths")
def healthy_lengths(run: Run) -> Iterator[None]:
    learner = Learner(Recurrent())
    for step in itertools.count():
        learner.step(torch.randn(32, 24 + 4 * (step % 5), 64), torch.randint(0, CLASSES, (32,)))
        yield


@program("healthy: two networks in turns")
def healthy_adversaries(run: Run) -> Iterator[None]:
    maker, critic = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, FEATURES)), mlp(512, 2)
    ours = torch.optim.Adam(maker.parameters(), lr=1e-4, fused=True)
    theirs = torch.optim.Adam(critic.parameters(), lr=1e-4, fused=True)
    real, classes = table(256)
    while True:
        made = maker(torch.randn(256, 64))
        theirs.zero_grad()
        loss = nn.functional.cross_entropy(critic(real), classes) - critic(made.detach()).logsumexp(1).mean() * 1e-3
        loss.backward()
        theirs.step()
        ours.zero_grad()
        critic(made).logsumexp(1).mean().backward()
        ours.step()
        yield


@program("healthy: bags of words")
def healthy_bags(run: Run) -> Iterator[None]:
    words, head = nn.EmbeddingBag(20_000, 128, sparse=True), nn.Linear(128, CLASSES)
    sparse = torch.optim.SGD(words.parameters(), lr=1e-3)
    dense = torch.optim.SGD(head.parameters(), lr=1e-3)
    tokens, targets = torch.randint(0, 20_000, (256, 100)), torch.randint(0, CLASSES, (256,))
    while True:
        loss = nn.functional.cross_entropy(head(words(tokens)), targets)
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
        yield
