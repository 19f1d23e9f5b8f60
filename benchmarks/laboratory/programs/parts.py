"""What several programs train: small models, their data, and one step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FEATURES, CLASSES = 256, 10


def mlp(width: int = 512, depth: int = 2, features: int = FEATURES) -> nn.Sequential:
    hidden = [layer for _ in range(depth - 1) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), *hidden, nn.Linear(width, CLASSES))


def cnn() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(32, CLASSES),
    )  # fmt: skip


def table(rows: int = 256) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of rows in memory, with their classes."""
    return torch.randn(rows, FEATURES), torch.randint(0, CLASSES, (rows,))


class Learner:
    """A model with its optimizer and loss."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        self.model = model
        self.optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-4)

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Train on one batch, and return the outputs and the loss."""
        outputs = self.model(inputs)
        loss = nn.functional.cross_entropy(outputs, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return outputs, loss


class Rows(Dataset[Any]):
    """Rows of a table in memory."""

    def __init__(self, count: int = 100_000) -> None:
        self.inputs, self.targets = table(512)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.inputs[index % 512], self.targets[index % 512]


def epochs(loader: DataLoader[Any]) -> Iterator[Any]:
    """The batches of endless epochs."""
    for _ in itertools.count():
        yield from loader
