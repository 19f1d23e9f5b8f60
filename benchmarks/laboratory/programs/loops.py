"""Programs that lose time in the Python code of their training loop."""

from __future__ import annotations

import copy
import gc
import io
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.laboratory.program import Run, program
from benchmarks.laboratory.programs.parts import CLASSES, Learner, mlp, table

#: Cards that name Python code of the loop. Each is followed by removing that code or making it faster.
LOOP = {"python_loop": "faster", "cpu_outside": "faster", "recurring_steps": "faster", "slow_steps": "faster"}


def _hits(outputs: torch.Tensor, targets: torch.Tensor) -> int:
    """Counts the right classes value by value, and repeats that as if for 100 thresholds."""
    guessed, right = outputs.argmax(1).tolist(), targets.tolist()
    return sum(guess == target for _ in range(100) for guess, target in zip(guessed, right, strict=True))


@program("metrics in Python", LOOP, stacks=True)
def python_metrics(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    while True:
        outputs, _ = learner.step(inputs, targets)
        _ = (outputs.argmax(1) == targets).sum() if run.change else _hits(outputs, targets)
        yield


@program("metrics in Python, without call stacks", LOOP)
def python_metrics_unseen(run: Run) -> Iterator[None]:
    return python_metrics(run)


@program("healthy: 160 item calls on the CPU", stacks=True)
def many_items(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    total = 0.0
    while True:
        outputs, _ = learner.step(inputs, targets)
        total += sum(value.item() for value in outputs[0].detach().repeat(16))
        yield


@program("a checkpoint in every fifth step", LOOP, stacks=True)
def checkpoints(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 4)), table(64)
    path = Path(tempfile.mkdtemp(prefix="laboratory_")) / "model.pt"
    for step in itertools.count():
        learner.step(inputs, targets)
        if step % (1000 if run.change else 5) == 0:
            torch.save(learner.model.state_dict(), path)
        yield


@program("evaluation in every fifth step", LOOP)
def evaluation(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    for step in itertools.count():
        learner.step(inputs, targets)
        if step % (1000 if run.change else 5) == 0:
            with torch.no_grad():
                for _ in range(12):
                    learner.model(inputs)
        yield


@program("garbage collection by hand", LOOP | {"garbage": "faster"}, stacks=True, taught=True)
def collected(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    held = [[number] for number in range(20_000)]
    while True:
        learner.step(inputs, targets)
        if not run.change:
            gc.collect()
        assert held
        yield


@program("a request that is waited for", LOOP, stacks=True)
def request(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    while True:
        learner.step(inputs, targets)
        if not run.change:
            time.sleep(0.004)
        yield


@program("log of every value", LOOP, stacks=True, taught=True)
def logging(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    while True:
        outputs, _ = learner.step(inputs, targets)
        log = io.StringIO()
        for row in outputs[:1] if run.change else outputs:
            print(" ".join(f"{value:.4f}" for value in row.tolist()), file=log)
        yield


@program("noise made in Python", LOOP, stacks=True)
def python_noise(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table(32)
    scale = [1.0 + 1e-6 * number for number in range(inputs.numel())]
    while True:
        if run.change:
            noisy = inputs * torch.linspace(1, 1.01, inputs.numel()).view_as(inputs)
        else:
            noisy = torch.tensor([a * b for a, b in zip(inputs.flatten().tolist(), scale, strict=True)]).view_as(inputs)
        learner.step(noisy, targets)
        yield


@program("the model is copied in every step", LOOP | {"cpu_ops": "faster"}, stacks=True, taught=True)
def copied_model(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(64, 24)), table(16)
    for step in itertools.count():
        learner.step(inputs, targets)
        if step % (1000 if run.change else 1) == 0:
            copy.deepcopy(learner.model)
        yield


@program("confusion matrix cell by cell", LOOP | {"cpu_ops": "faster"}, stacks=True)
def confusion(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp()), table()
    cells = torch.zeros(CLASSES, CLASSES)
    while True:
        outputs, _ = learner.step(inputs, targets)
        guessed = outputs.argmax(1)
        if run.change:
            cells += torch.bincount(guessed * CLASSES + targets, minlength=CLASSES**2).view(CLASSES, CLASSES)
        else:
            for guess, target in zip(guessed, targets, strict=True):
                cells[guess, target] += 1
        yield
