"""What several programs train on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.laboratory.programs import parts


def mlp(width: int, depth: int, features: int = parts.FEATURES) -> nn.Sequential:
    return parts.mlp(width, depth, features).cuda()


def conv_net(channels: int, depth: int) -> nn.Sequential:
    layers = [
        layer
        for _ in range(depth)
        for layer in (nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)).cuda()


def block(width: int, heads: int) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)


def table(rows: int, features: int = 256, classes: int = 10) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of rows that is already on the GPU, with their classes."""
    return torch.randn(rows, features, device="cuda"), torch.randint(0, classes, (rows,), device="cuda")


def half() -> torch.autocast:
    return torch.autocast("cuda", torch.bfloat16)


class Precision:
    """A context manager. "": only FP32; "tf32": products may use TF32; "bf16": autocast."""

    def __init__(self, name: str) -> None:
        self.tf32 = name == "tf32"
        self.autocast = torch.autocast("cuda", torch.bfloat16, enabled=name == "bf16")

    def __enter__(self) -> None:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.tf32
        self.autocast.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.autocast.__exit__(*error)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


class Learner(parts.Learner):
    """A model on the GPU, by default with a fused optimizer."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        on_gpu = model.cuda()
        super().__init__(on_gpu, optimizer or torch.optim.AdamW(on_gpu.parameters(), lr=1e-5, fused=True))
