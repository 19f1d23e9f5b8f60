"""Record the demo logs: trainings that are each slow for a different reason, as torch.profiler sees them.

    python examples/record_demo.py --out demo_logs            # on the GPU if there is one
    python examples/record_demo.py --out demo_logs --device cpu --experiments baseline autocast

  baseline           a small network on single-file images, one loader worker: the network waits for images
  num_dataloaders    the same with three workers
  transforms         the same, and normalization moved from the loader's workers into the network
  resnet50_baseline  ResNet-50 in 32-bit floats: now the arithmetic takes the time
  autocast           ResNet-50 in mixed precision: the same arithmetic on tensor cores
  recorded_workers   three workers whose images come from afar, with tb_steptime's recorder: what each of them does
  kept_graph         memory, shapes and call stacks recorded: each step keeps a loss of held-out images with its graph

Each experiment writes two spans (two windows of a few steps each; the last one span) to <out>/gpu_<experiment>/; on a
CPU to <out>/cpu_<experiment>/. Needs torch and numpy, and only files of its folder; recorded_workers needs tb_steptime.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from demo_images import FarFiles, SingleFiles, write_images
from demo_models import Normalize, resnet50, small_cnn, tiny_cnn
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader

FILES = 2048
SPANS = 2
WAIT, WARMUP = 3, 3  # not recorded before each span: the loader's queue fills in these steps


@dataclass(frozen=True)
class Experiment:
    """What distinguishes one training from the others. steps: the number of recorded steps of each span."""

    name: str
    network: str = "small"
    workers: int = 1
    normalize_in_loader: bool = True
    mixed_precision: bool = False
    batch_size: int = 128
    steps: int = 15
    far: bool = False
    recorder: bool = False
    keeps_graph: bool = False
    spans: int = SPANS

    @property
    def everything(self) -> bool:
        """Whether memory and call stacks are recorded too."""
        return self.keeps_graph


EXPERIMENTS = [
    Experiment("baseline"),
    Experiment("num_dataloaders", workers=3),
    Experiment("transforms", workers=3, normalize_in_loader=False),
    Experiment("resnet50_baseline", "resnet50", 3, normalize_in_loader=False, steps=3),
    Experiment("autocast", "resnet50", 3, normalize_in_loader=False, mixed_precision=True, steps=3),
    Experiment("recorded_workers", workers=3, far=True, recorder=True),
    Experiment("kept_graph", "tiny", batch_size=32, steps=5, keeps_graph=True, spans=1),
]


def record(experiment: Experiment, device: torch.device, images: Path, folder: Path, steps: int) -> None:
    """Train for as long as the schedule says, and write each span to the folder as soon as it is complete."""
    torch.manual_seed(0)
    training = Training(experiment, device)
    batches = experiment.spans * (WAIT + WARMUP + steps)
    loader = make_loader(experiment, device, images, batches)
    with (
        recorder_of(loader, folder) if experiment.recorder else contextlib.nullcontext(),
        profile(
            activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])],
            schedule=schedule(wait=WAIT, warmup=WARMUP, active=steps, repeat=experiment.spans),
            on_trace_ready=tensorboard_trace_handler(str(folder), worker_name=device.type, use_gzip=True),
            record_shapes=True,
            profile_memory=experiment.everything,
            with_stack=experiment.everything,
        ) as profiler,
    ):
        for batch, labels in itertools.islice(loader, batches):
            training.step(batch, labels)
            profiler.step()


def recorder_of(loader: DataLoader[Any], folder: Path) -> contextlib.AbstractContextManager[object]:
    from tb_steptime.record import LoaderRecorder

    recorder = LoaderRecorder(folder)
    recorder.watch(loader)
    return recorder


def make_loader(experiment: Experiment, device: torch.device, images: Path, batches: int) -> DataLoader[Any]:
    """The loader has more batches than are used: without work left, workers would make the last steps look better."""
    size = experiment.batch_size if device.type == "cuda" or experiment.network != "resnet50" else 8
    files = FarFiles if experiment.far else SingleFiles
    samples = files(images, 2 * batches * size, experiment.normalize_in_loader)
    return DataLoader(samples, size, num_workers=experiment.workers, pin_memory=device.type == "cuda")


class Training:
    """A network, its optimizer, and one training step."""

    def __init__(self, experiment: Experiment, device: torch.device) -> None:
        side = 224 if device.type == "cuda" else 64
        made = {"small": small_cnn, "tiny": tiny_cnn}.get(experiment.network)
        network = made() if made else resnet50(side)
        if not experiment.normalize_in_loader:
            network = nn.Sequential(Normalize(), network)
        self.device = device
        self.network = network.to(device)
        parameters = self.network.parameters()
        adam = torch.optim.Adam(parameters, fused=True) if experiment.keeps_graph else None
        self.optimizer = adam or torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
        self.keeps_graph = experiment.keeps_graph
        self.held_out_losses: list[torch.Tensor] = []
        self.loss = nn.CrossEntropyLoss()
        self.mixed = experiment.mixed_precision
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.mixed and device.type == "cuda")

    def step(self, batch: torch.Tensor, labels: torch.Tensor) -> None:
        batch = batch.to(self.device, non_blocking=True)
        labels = labels.to(self.device, non_blocking=True)
        self.optimizer.zero_grad()
        with self._precision():
            loss = self.loss(self.network(batch), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.keeps_graph:
            self.test(batch, labels)

    def test(self, batch: torch.Tensor, labels: torch.Tensor) -> None:
        """The mistake to show: without torch.no_grad() and .item(), the list keeps all activations."""
        self.held_out_losses.append(self.loss(self.network(batch), labels))

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        """16-bit floats where they are safe: with a scaled loss on a GPU, as bfloat16 on a CPU."""
        dtype = torch.float16 if self.device.type == "cuda" else torch.bfloat16
        return torch.autocast(self.device.type, dtype, enabled=self.mixed)


#: The two places where a recording names its machine: the host name, and the path to which it was written.
MACHINE = re.compile(rb'"(host_name|traceName)": "[^"]*"')


def forget_machine(path: Path) -> None:
    """Empty the machine's name and the file's path in a recording that is to be shared. Nothing else changes."""
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(MACHINE.sub(rb'"\1": ""', text), mtime=0))


def forget_recorder_machine(path: Path) -> None:
    """Do the same for a recorder's file, whose file name also begins with the machine's name."""
    from tb_steptime.record.file.format import LOADER

    content = path.read_bytes()
    header = LOADER.decode_header(content)
    name = path.name.replace(header["host"], "demo", 1)
    path.with_name(name).write_bytes(
        LOADER.encode_header({**header, "host": ""}) + content[LOADER.rows_begin(content) :]
    )
    path.unlink()


@contextlib.contextmanager
def demo_images() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="demo_images_") as folder:
        write_images(Path(folder), FILES)
        yield Path(folder)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record the demo logs of the Step Insights tab.")
    names = [experiment.name for experiment in EXPERIMENTS]
    parser.add_argument("--out", type=Path, default=Path("demo_logs"), help="log directory to write to")
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--experiments", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--steps", type=int, help="recorded steps of each span (default: 15, ResNet-50: 3)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    automatic = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(automatic if options.device == "auto" else options.device)
    torch.backends.cudnn.allow_tf32 = False  # so that "32-bit floats" really are 32-bit
    if device.type == "cpu":  # the loader's workers need cores of their own
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // 2))
    with demo_images() as images:
        for experiment in EXPERIMENTS:
            if experiment.name in options.experiments:
                folder = options.out / f"{'gpu' if device.type == 'cuda' else 'cpu'}_{experiment.name}"
                print(f"{experiment.name} on {device.type} -> {folder}")
                before = set(folder.glob("*"))
                record(experiment, device, images, folder, options.steps or experiment.steps)
                for path in set(folder.glob("*")) - before:
                    (forget_recorder_machine if path.suffix == ".loader" else forget_machine)(path)


if __name__ == "__main__":
    main()
