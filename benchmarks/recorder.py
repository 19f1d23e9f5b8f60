"""What recording costs a training: a recorded loader and another one, asked alternately, batch by batch.

    python -m benchmarks.recorder              # needs torch; prints one row for each kind of loader
    python -m benchmarks.recorder --control    # the same without recording: what it shows then is noise

The loop takes 1 ms of CPU time a batch, as a training at 1000 batches a second would, so that the recorder's work
cannot hide in a wait. Alternately, because a machine's pace changes within seconds by more than recording costs. The
time that the loop spends in next(iterator) is averaged over blocks of 250 batches, in each of which the recorder writes
to its files and measures CPU times, too. Of the blocks' differences the median and the middle half are printed, as some
contain other processes. With workers, that time is mostly the wait for them, and the difference is small against its
noise.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from tb_steptime.record import LoaderRecorder

STEP_NS = 1_000_000
#: More batches than the recorder goes without writing.
BLOCK = 250


class Samples(Dataset[Any]):
    """Each sample costs the given CPU time; a batch has two tensors."""

    def __init__(self, count: int, cost_ns: int) -> None:
        self.count = count
        self.cost_ns = cost_ns

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        spin(self.cost_ns)
        return torch.zeros(64), index


def spin(duration_ns: int) -> None:
    end = time.perf_counter_ns() + duration_ns
    while time.perf_counter_ns() < end:
        pass


#: Label, the time of a sample, and the loader's settings.
CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("no workers", 0, {}),
    ("no workers, 1 ms to load", STEP_NS // 4, {}),
    ("2 workers", 0, {"num_workers": 2, "persistent_workers": True}),
    ("2 workers, they limit", STEP_NS // 2, {"num_workers": 2, "persistent_workers": True}),
]


@dataclass(frozen=True)
class Cost:
    """Seconds that the loop spends in next(iterator) for each batch, not recorded and recorded, alternately."""

    plain: list[float]
    recorded: list[float]


def compare(cost_ns: int, settings: dict[str, Any], batches: int, passes: int, control: bool) -> Cost:
    """Measured from the second batch of a pass on: starting the workers is not counted."""
    loaders = [DataLoader(Samples(4 * batches, cost_ns), 4, **settings) for _ in range(2)]
    cost = Cost([], [])
    with (
        tempfile.TemporaryDirectory(prefix="recorder_") as folder,
        LoaderRecorder(folder, enabled=not control) as recorder,
    ):
        recorder.watch(loaders[1])
        for _ in range(passes):
            sides = list(zip((iter(loader) for loader in loaders), (cost.plain, cost.recorded), strict=True))
            for batch in range(batches):
                for iterator, times in sides if batch % 2 else sides[::-1]:
                    before = time.perf_counter_ns()
                    next(iterator)
                    if batch:
                        times.append((time.perf_counter_ns() - before) / 1e9)
                    spin(STEP_NS)
    return cost


def block_means(times: list[float]) -> list[float]:
    return [statistics.fmean(times[first : first + BLOCK]) for first in range(0, len(times) - BLOCK + 1, BLOCK)]


def row(label: str, cost: Cost) -> str:
    plain, recorded = block_means(cost.plain), block_means(cost.recorded)
    quarter, usual, three = statistics.quantiles((b - a for a, b in zip(plain, recorded, strict=True)), n=4)
    standing = statistics.median(plain)
    batch = standing + STEP_NS / 1e9
    return (
        f"| {label} | {1e3 * batch:.3f} ms | {1e6 * standing:.1f} us | {1e6 * usual:+.1f} us "
        f"| {1e6 * quarter:+.1f} to {1e6 * three:+.1f} us | {100 * usual / batch:+.2f} % |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What recording costs a training.")
    parser.add_argument("--batches", type=int, default=2001, help="of a pass (default: 2001)")
    parser.add_argument("--passes", type=int, default=4, help="over each loader (default: 4)")
    parser.add_argument(
        "--control", action="store_true", help="record nothing: shows how far the machine can be trusted"
    )
    options = parser.parse_args(arguments)
    print(f"torch {torch.__version__}, {options.passes} passes of {options.batches} batches, alternately\n")
    print("| loader | a batch | in next() | recorded | middle half | of a batch |")
    print("|---|---:|---:|---:|---:|---:|")
    for label, cost_ns, settings in CASES:
        print(row(label, compare(cost_ns, settings, options.batches, options.passes, options.control)), flush=True)


if __name__ == "__main__":
    main()
