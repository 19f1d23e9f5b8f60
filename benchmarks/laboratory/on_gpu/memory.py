"""Records a few steps of small trainings with their memory, and measures the peaks at other batch sizes.

    python -m benchmarks.laboratory.on_gpu.memory FOLDER      # needs a GPU

It writes FOLDER/<training>.pt.trace.json.gz, peaks.jsonl (bytes by batch size, as the allocator counts them), and
snapshots of `profile_steps`, one of them of a job that ran out of memory.
"""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from benchmarks.laboratory.on_gpu.parts import block, conv_net
from benchmarks.memory_fit import ADAM, TRAININGS, Training, pictures
from tb_steptime.record import profile_steps

#: The other batch sizes, as multiples of the recorded one.
FACTORS = (0.5, 1.5, 2, 3, 4)
#: The batches of the trainings for the CPU are small for a GPU, so they are multiplied by this.
LARGER = 8
STEPS = 3


class Blocks(nn.Module):
    """A transformer whose first `checkpointed` layers are checkpointed."""

    def __init__(self, checkpointed: int = 0, depth: int = 6) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(8192, 1024), nn.Linear(1024, 8192)
        self.layers, self.checkpointed = nn.ModuleList(block(1024, 16) for _ in range(depth)), checkpointed

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.words(tokens)
        for number, layer in enumerate(self.layers):
            kept = number >= self.checkpointed
            hidden = layer(hidden) if kept else checkpoint(layer, hidden, use_reentrant=False)
        return self.head(hidden)


def _text(batch: int) -> tuple[Tensor, Tensor]:
    return torch.randint(8192, (batch, 256)), torch.randint(8192, (batch, 256))


@dataclass(frozen=True)
class OnGpu:
    """half: autocast to BF16."""

    training: Training
    half: bool = False


def _adamw(parameters: Iterator[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, fused=True)


TRIED: dict[str, OnGpu] = {
    **{name: OnGpu(each._replace(batch=each.batch * LARGER)) for name, each in TRAININGS.items()},
    "blocks": OnGpu(Training(Blocks, 8, _text, _adamw)),
    "blocks_half": OnGpu(Training(Blocks, 8, _text, _adamw), half=True),
    "blocks_half_three_checkpointed": OnGpu(Training(lambda: Blocks(3), 8, _text, _adamw), half=True),
    "blocks_half_all_checkpointed": OnGpu(Training(lambda: Blocks(6), 8, _text, _adamw), half=True),
    "blocks_half_sgd": OnGpu(Training(Blocks, 8, _text, lambda of: torch.optim.SGD(of, lr=0.01)), half=True),
    "convolutions_half": OnGpu(Training(lambda: conv_net(3, 1).append(nn.Identity()), 32, pictures(3, 64), ADAM), True),
    "convolutions_deep": OnGpu(
        Training(lambda: nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), conv_net(64, 8)), 16, pictures(3, 64), ADAM)
    ),
}


def stepping(tried: OnGpu, batch: int) -> Callable[[], None]:
    torch.manual_seed(0)
    model = tried.training.model().cuda()
    optimizer = tried.training.optimizer(model.parameters())

    def step() -> None:
        inputs, targets = (each.cuda() for each in tried.training.data(batch))
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=tried.half):
            said = model(inputs)
            loss = functional.cross_entropy(said.flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()

    return step


def record(tried: OnGpu, path: Path) -> None:
    step = stepping(tried, tried.training.batch)
    step()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, profile_memory=True, record_shapes=True) as profiler:
        for _ in range(STEPS):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(path))


def peak(tried: OnGpu, batch: int) -> tuple[int, int]:
    """The peak of live tensors in bytes, above what the process had before, and the time of a step in ns."""
    _clean()
    before = torch.cuda.memory_allocated()
    step = stepping(tried, batch)
    for _ in range(2):
        step()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before, (time.perf_counter_ns() - began) // STEPS


def snapshots(folder: Path) -> None:
    step = stepping(OnGpu(Training(lambda: Blocks(depth=2), 4, _text, _adamw), half=True), 4)
    options = {"skip_first": 1, "wait": 1, "warmup": 1, "active": 1, "repeat": 1, "memory": True, "shapes": True}
    with profile_steps(folder / "at_span", snapshot="at_span", **options) as profiler:
        for _ in range(6):
            step()
            profiler.step()
    _clean()
    torch.cuda.set_per_process_memory_fraction(3e9 / torch.cuda.get_device_properties(0).total_memory)
    with (
        contextlib.suppress(torch.cuda.OutOfMemoryError),
        profile_steps(folder / "on_oom", snapshot="on_oom", **options) as profiler,
    ):
        for batch in (2, 4, 8, 16, 32, 64, 128, 256):
            stepping(OnGpu(Training(lambda: Blocks(depth=2), batch, _text, _adamw), half=True), batch)()
            profiler.step()
    torch.cuda.set_per_process_memory_fraction(1.0)


def _clean() -> None:
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, tried in reversed(TRIED.items()):
        try:
            recorded = tried.training.batch
            batches = [recorded, *(round(recorded * factor) for factor in FACTORS)]
            measured = {batch: peak(tried, batch) for batch in batches}
            _clean()
            record(tried, folder / f"{name}.pt.trace.json.gz")
            row = {"name": name, "batch": recorded, "peaks": {batch: of[0] for batch, of in measured.items()}}
            row["steps"] = {batch: of[1] for batch, of in measured.items()}
        except Exception as error:  # noqa: BLE001 - the others are measured
            row = {"name": name, "error": f"{type(error).__name__}: {str(error)[:200]}"}
        with (folder / "peaks.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row)[:150], flush=True)
        _clean()


if __name__ == "__main__":
    (snapshots if sys.argv[2:] == ["--dumps"] else main)(Path(sys.argv[1]))
