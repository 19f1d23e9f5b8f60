"""The networks of the demo: a small convolutional network, a tiny one with two layers, and ResNet-50 written out.

Deep Residual Learning for Image Recognition (He et al., 2015), table 1, the 50-layer column, with the stride on the 3x3
convolution.
"""

from __future__ import annotations

import torch
from demo_images import CLASSES, DEVIATION, MEAN
from torch import Tensor, nn


class Normalize(nn.Module):
    """Converts bytes to floats with mean 0 and deviation 1, for a whole batch at once and on the device."""

    mean: Tensor
    deviation: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN).reshape(3, 1, 1))
        self.register_buffer("deviation", torch.tensor(DEVIATION).reshape(3, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        return (images.float() / 255 - self.mean) / self.deviation


def small_cnn() -> nn.Module:
    """Two convolutions and three linear layers for 32 x 32 images: about a millisecond of arithmetic for a GPU."""
    return nn.Sequential(
        nn.Conv2d(3, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, CLASSES),
    )


def tiny_cnn() -> nn.Module:
    """One convolution and one linear layer for 32 x 32 images: few enough calls for a recording of all of them."""
    return nn.Sequential(nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(16 * 7 * 7, CLASSES))


def resnet50(side: int) -> nn.Module:
    """ResNet-50 on images that are first enlarged to side x side."""
    stages = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]
    blocks: list[nn.Module] = []
    channels = 64
    for width, depth, stride in stages:
        for number in range(depth):
            blocks.append(Bottleneck(channels, width, stride if number == 0 else 1))
            channels = 4 * width
    return nn.Sequential(
        nn.Upsample((side, side), mode="bilinear"),
        *_convolution(3, 64, 7, stride=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(channels, CLASSES),
    )


class Bottleneck(nn.Module):
    """1x1 down, 3x3, 1x1 up to four times the width, around a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_convolution(channels, width, 1),
            nn.ReLU(inplace=True),
            *_convolution(width, width, 3, stride),
            nn.ReLU(inplace=True),
            *_convolution(width, 4 * width, 1),
        )
        same = stride == 1 and channels == 4 * width
        self.shortcut = nn.Identity() if same else nn.Sequential(*_convolution(channels, 4 * width, 1, stride))

    def forward(self, images: Tensor) -> Tensor:
        return nn.functional.relu(self.body(images) + self.shortcut(images), inplace=True)


def _convolution(channels: int, width: int, kernel: int, stride: int = 1) -> tuple[nn.Module, nn.Module]:
    """A convolution that keeps the size (but for its stride), and its batch normalization."""
    return nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(width)
