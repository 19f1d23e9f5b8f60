"""A question from forums: "the CPU is at 100 % in loss.backward(): am I CPU-limited? Why do bigger batches, mixed
precision or more workers change nothing?"

    python examples/forum/preloaded_vs_workers.py --out forum_logs     # on a GPU if there is one
    tensorboard --logdir forum_logs                                    # then open the tab "Step Insights"

A small network on images of the size of MNIST, in six variants:

  preloaded        all images are on the device before the training begins, and batches are slices of them
  workers2         a DataLoader with two workers, which normalize image by image
  workers8         the same with eight
  ..._item         each of these with loss.item() in every step, which makes the host wait for the device

With the images on the device nothing waits for data. What is left is the host: the kernels of such a network are so
short that the GPU waits for their launches. The CPU is at 100 % where it limits the training, and also where it only
waits (a thread that waits for the device spins); the tab shows which of the two it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from recording import arguments, recorded, total_steps
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

SIDE, CLASSES = 28, 10
VARIANTS = [data + item for data in ("preloaded", "workers2", "workers8") for item in ("", "_item")]


class Images(Dataset[tuple[Tensor, int]]):
    """Random images. As with files, each one is converted to floats and normalized separately."""

    def __init__(self, count: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.pixels = torch.randint(0, 256, (count, 1, SIDE, SIDE), dtype=torch.uint8, generator=generator)
        self.labels = torch.randint(0, CLASSES, (count,), generator=generator)

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return normalized(self.pixels[index]), int(self.labels[index])


def normalized(pixels: Tensor) -> Tensor:
    return (pixels.float() / 255 - 0.1307) / 0.3081


def preloaded_batches(images: Images, batch: int, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Slices of tensors that are on the device, repeated endlessly."""
    pixels, labels = normalized(images.pixels).to(device), images.labels.to(device)
    while True:
        for first in range(0, len(pixels) - batch + 1, batch):
            yield pixels[first : first + batch], labels[first : first + batch]


def loaded_batches(images: Images, batch: int, device: torch.device, workers: int) -> Iterator[tuple[Tensor, Tensor]]:
    pinned = device.type == "cuda"
    loader = DataLoader(images, batch, shuffle=True, num_workers=workers, pin_memory=pinned, drop_last=True)
    for pixels, labels in loader:
        yield pixels.to(device, non_blocking=True), labels.to(device, non_blocking=True)


def small_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(32 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, CLASSES),
    )  # fmt: skip


class Training:
    """A network, its optimizer, and one training step. item: fetch the loss in every step."""

    def __init__(self, device: torch.device, item: bool, mixed_precision: bool) -> None:
        self.network = small_network().to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.device, self.item, self.mixed_precision = device, item, mixed_precision
        self.running_loss = 0.0

    def step(self, pixels: Tensor, labels: Tensor) -> None:
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed_precision):
            loss = nn.functional.cross_entropy(self.network(pixels), labels)
        if self.item:
            self.running_loss += loss.item()
        loss.backward()
        self.optimizer.step()


def main() -> None:
    parser = arguments(__doc__.partition("\n\n")[0], VARIANTS)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--mixed-precision", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    steps = total_steps(options.steps)
    images = Images(2 * steps * options.batch_size)  # more than are used, so that no worker finishes before the end
    for variant in options.variants:
        source, _, item = variant.partition("_")
        if source == "preloaded":
            batches = preloaded_batches(images, options.batch_size, device)
        else:
            batches = loaded_batches(images, options.batch_size, device, int(source.removeprefix("workers")))
        training = Training(device, bool(item), options.mixed_precision)
        with recorded(options.out / variant, device, options.steps, options.with_stack) as profiler:
            for pixels, labels in itertools.islice(batches, steps):
                training.step(pixels, labels)
                profiler.step()


if __name__ == "__main__":
    main()
