"""Programs that compute, keep or repeat what they need not, and others that only look like it."""

from __future__ import annotations

import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import CLASSES, FEATURES, Learner, mlp, table

#: Cards about steps that do more, followed by doing that seldom.
SELDOM = {"recurring_steps": "seldom", "slow_steps": "seldom", "cpu_outside": "seldom"}
#: The step in which a program does more if it does so seldom.
_SELDOM = 1000


class _Noise:
    """A machine that other processes disturb: each step waits for a random time, as long as half a step at most, and
    one in eight for three times as long."""

    def __init__(self, most_s: float) -> None:
        self._random, self._most_s = random.Random(7), most_s

    def __call__(self) -> None:
        times = 3 if self._random.random() < 1 / 8 else 1
        time.sleep(times * self._most_s * self._random.random())


@program("healthy: a small copy in every fifth step of a disturbed machine")
def small_copies(run: Run) -> Iterator[None]:
    learner, (inputs, targets), noise = Learner(mlp(1024, 3)), table(64), _Noise(0.006)
    for step in itertools.count():
        loss = learner.step(inputs, targets)[1]
        if step % 5 == 0:
            loss.item()
        noise()
        yield


@program("a checkpoint in every fourth step of a disturbed machine", SELDOM, taught=True)
def saved(run: Run) -> Iterator[None]:
    learner, (inputs, targets), noise = Learner(mlp(1024, 3)), table(64), _Noise(0.006)
    path = Path(tempfile.mkdtemp(prefix="laboratory_")) / "model.pt"
    for step in itertools.count():
        learner.step(inputs, targets)
        if step % (_SELDOM if run.change else 4) == 0:
            torch.save(learner.model.state_dict(), path)
        noise()
        yield


@program("healthy: frozen layers")
def frozen(run: Run) -> Iterator[None]:
    layers = mlp(512, 8)
    for parameter in layers[:-4].parameters():
        parameter.requires_grad_(False)
    learner, (inputs, targets) = Learner(layers), table(64)
    while True:
        outputs, _ = learner.step(inputs, targets)
        outputs.softmax(1).amax(1).mean().item()
        yield


@program("gradients looked at in every third step of a disturbed machine", SELDOM, taught=True)
def looked_at(run: Run) -> Iterator[None]:
    learner, (inputs, targets), noise = Learner(mlp(1024, 3)), table(64), _Noise(0.006)
    seen = list[list[float]]()
    for step in itertools.count():
        learner.step(inputs, targets)
        if step % (_SELDOM if run.change else 3) == 0:
            seen = [parameter.grad.flatten()[:60_000].tolist() for parameter in learner.model.parameters()]
        assert seen
        noise()
        yield


@program("rows one by one", {"cpu_ops": "together"})
def one_by_one(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(256, 3)), table(64)
    while True:
        if run.change:
            outputs = learner.model(inputs)
        else:
            outputs = torch.cat([learner.model(row) for row in inputs.split(1)])
        loss = nn.functional.cross_entropy(outputs, targets)
        learner.optimizer.zero_grad()
        loss.backward()
        learner.optimizer.step()
        yield


@program("healthy: steps of a disturbed machine", taught=True)
def disturbed(run: Run) -> Iterator[None]:
    learner, (inputs, targets), noise = Learner(mlp(1024, 3)), table(64), _Noise(0.006)
    while True:
        learner.step(inputs, targets)
        noise()
        yield


class Decoder(nn.Module):
    """A causal language model whose keys and values of earlier tokens may be kept."""

    def __init__(self, width: int = 256, heads: int = 4, depth: int = 4, words: int = 1000) -> None:
        super().__init__()
        self.words, self.head, self.heads = nn.Embedding(words, width), nn.Linear(width, words), heads
        self.mixing = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.joining = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.widening = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.narrowing = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))

    def forward(self, tokens: torch.Tensor, kept: list[torch.Tensor] | None = None) -> torch.Tensor:
        """kept: by layer the keys and values of earlier tokens, (2, batch, heads, tokens, width of a head); it is
        extended by those of these tokens."""
        hidden = self.words(tokens)
        batch, length, width = hidden.shape
        layers = zip(self.mixing, self.joining, self.widening, self.narrowing, strict=True)
        for number, (mix, join, widen, narrow) in enumerate(layers):
            split = mix(hidden).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            query, known = split[0], split[1:]
            if kept is not None:
                if number < len(kept):
                    known = torch.cat((kept[number], known), dim=3)
                kept[number:] = [known, *kept[number + 1 :]]
            causal = length > 1
            found = nn.functional.scaled_dot_product_attention(query, known[0], known[1], is_causal=causal)
            hidden = hidden + join(found.transpose(1, 2).reshape(batch, length, width))
            hidden = hidden + narrow(nn.functional.gelu(widen(hidden)))
        return self.head(hidden)


#: Tokens with which a text begins, and with which it ends.
FIRST, LAST = 32, 160


def _texts(run: Run, *, cached: bool) -> Iterator[None]:
    """One token of eight texts in each step."""
    model = Decoder().eval()
    with torch.inference_mode():
        while True:
            tokens, kept = torch.randint(0, 1000, (8, FIRST)), [] if cached or run.change else None
            seen = tokens
            while tokens.shape[1] < LAST:
                said = model(seen, kept)[:, -1].argmax(-1, keepdim=True)
                tokens = torch.cat((tokens, said), dim=1)
                seen = tokens if kept is None else said
                yield


@program("healthy: generation with a cache", shapes=True)
def cached(run: Run) -> Iterator[None]:
    return _texts(run, cached=True)


@program("generation without a cache", {"without_cache": "cached"}, shapes=True, taught=True)
def uncached(run: Run) -> Iterator[None]:
    return _texts(run, cached=False)


@program("healthy: inference over texts sorted by length", shapes=True)
def sorted_lengths(run: Run) -> Iterator[None]:
    model = Decoder().eval()
    with torch.inference_mode():
        while True:
            for length in range(FIRST, LAST):
                model(torch.randint(0, 1000, (8, length)))[:, -1].argmax(-1)
                yield


@program("healthy: training on longer and longer texts", shapes=True)
def longer(run: Run) -> Iterator[None]:
    learner = Learner(nn.Sequential(nn.Embedding(1000, 128), nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 1000)))
    for step in itertools.count():
        tokens = torch.randint(0, 1000, (8, FIRST + step % 200))
        ends = torch.cat((tokens[:, 1:], torch.randint(0, 1000, (8, 1))), dim=1)
        loss = nn.functional.cross_entropy(learner.model(tokens).flatten(0, 1), ends.flatten())
        learner.optimizer.zero_grad()
        loss.backward()
        learner.optimizer.step()
        yield


def _taught(run: Run, *, recorded: bool, width: int = 512) -> Iterator[None]:
    """A small model learns what a larger one says."""
    teacher, (inputs, _) = mlp(width, 12), table(64)
    model = mlp(256, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    while True:
        with torch.set_grad_enabled(recorded and not run.change):
            aim = teacher(inputs)
        loss = nn.functional.mse_loss(model(inputs), aim.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("healthy: a teacher without a graph")
def plain_teacher(run: Run) -> Iterator[None]:
    return _taught(run, recorded=False)


@program("a teacher whose graph is recorded", {"unused_graph": "no_grad", "cpu_ops": "no_grad"}, taught=True)
def recorded_teacher(run: Run) -> Iterator[None]:
    return _taught(run, recorded=True)


@program("healthy: a cell that is called for each word")
def cells(run: Run) -> Iterator[None]:
    cell, head = nn.RNNCell(FEATURES, 128), nn.Linear(128, CLASSES)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=1e-4)
    words, targets = torch.randn(64, 8, FEATURES), torch.randint(0, CLASSES, (8,))
    while True:
        state = torch.zeros(8, 128)
        for word in words:
            state = cell(word, state)
        loss = nn.functional.cross_entropy(head(state), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@program("an evaluation whose graph is recorded", {"unused_graph": "no_grad", "cpu_ops": "no_grad"}, taught=True)
def recorded_evaluation(run: Run) -> Iterator[None]:
    learner, (inputs, targets), (others, classes) = Learner(mlp(256, 8)), table(32), table(1024)
    right = 0.0
    while True:
        learner.step(inputs, targets)
        with torch.set_grad_enabled(not run.change):
            right += (learner.model(others).argmax(1) == classes).sum().item()
        yield


@program("healthy: a penalty of gradients", taught=True)
def penalty(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(256, 3), table(64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    inputs.requires_grad_()
    while True:
        loss = nn.functional.cross_entropy(model(inputs), targets)
        (slope,) = torch.autograd.grad(loss, inputs, create_graph=True)
        optimizer.zero_grad()
        (loss + slope.square().sum()).backward()
        optimizer.step()
        yield
