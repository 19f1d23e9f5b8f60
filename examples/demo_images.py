"""Small labelled images, one file each, generated from a seed: nothing is downloaded.

Many data sets are stored as one file per image, which makes loading them slow: every sample is an open, a read,
a decode and a handful of small array operations in Python.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

SIDE = 32
CLASSES = 10
MEAN = (0.49, 0.48, 0.45)
DEVIATION = (0.25, 0.24, 0.26)


def write_images(folder: Path, count: int, seed: int = 0) -> None:
    """Write `count` images, 3 x 32 x 32 bytes each, as folder/<number>_<class>.npy. Existing files are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = folder / f"{number:05d}_{number % CLASSES}.npy"
        if not path.exists():
            pixels = np.random.default_rng((seed, number)).integers(0, 256, (3, SIDE, SIDE), np.uint8)
            np.save(path, pixels)


class SingleFiles(Dataset[tuple[torch.Tensor, int]]):
    """The images of a folder, `length` samples in all (the files are used repeatedly).

    normalize=True makes float images with mean 0 and deviation 1 in the loader's worker; normalize=False returns bytes,
    for a network that normalizes whole batches itself.
    """

    def __init__(self, folder: Path, length: int, normalize: bool) -> None:
        self.paths = sorted(folder.glob("*.npy"))
        self.length = length
        self.normalize = normalize

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path = self.paths[index % len(self.paths)]
        image = _augmented(torch.from_numpy(np.load(path)))
        if self.normalize:
            mean = torch.tensor(MEAN).reshape(3, 1, 1)
            deviation = torch.tensor(DEVIATION).reshape(3, 1, 1)
            image = (image.float() / 255 - mean) / deviation
        return image, int(path.stem.rpartition("_")[2])


class FarFiles(SingleFiles):
    """The same images from a store that takes a millisecond to answer, like one over a network. The wait is a sleep."""

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(0.001)
        return super().__getitem__(index)


def _augmented(image: torch.Tensor) -> torch.Tensor:
    """A crop, shifted by up to 4 pixels and mirrored half of the time."""
    top, left, mirror = torch.randint(0, 9, (3,)).tolist()
    padded = torch.nn.functional.pad(image, (4, 4, 4, 4))
    cropped = padded[:, top : top + SIDE, left : left + SIDE]
    return cropped.flip(2) if mirror < 5 else cropped
