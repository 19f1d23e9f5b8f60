"""Whether the recorder samples the lines that take the workers' time: a dataset whose parts time themselves.

    python -m benchmarks.lines                # needs torch and numpy; prints one row for each part

"real" is the share of a batch's time that the part took by its own clock, "sampled" that of the recorder's samples,
with one standard deviation. Reading is a sleep; the loop and the tables hold Python's lock, the arithmetic releases it.
With scale 1 each takes one to four milliseconds of a sample.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import structs
from torch.utils.data import DataLoader, Dataset

from tb_steptime.ingest.recorder_files.reading import read_all, read_line_samples
from tb_steptime.metrics.data_loading.lines import line_shares
from tb_steptime.record import LoaderRecorder
from tb_steptime.trace.loader_records import LineSamples


def read(scale: int) -> None:
    time.sleep(0.004 * scale)


def loop(scale: int) -> None:
    total = 0
    for each in range(30_000 * scale):
        total += each


def tables(scale: int) -> None:
    table = {}
    for each in range(4_000 * scale):
        table[str(each)] = (each, total := each % 7)
        if total == 3:
            table.pop(str(each))


def arithmetic(scale: int) -> None:
    numbers = np.ones(300_000 * scale)
    np.sqrt(numbers * numbers + numbers)


PARTS: tuple[Callable[[int], None], ...] = (read, loop, tables, arithmetic)


class Parts(Dataset[Any]):
    """A sample contains the time that each part took, ns."""

    def __init__(self, count: int, scale: int) -> None:
        self.count = count
        self.scale = scale

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        taken = []
        for part in PARTS:
            before = time.perf_counter_ns()
            part(self.scale)
            taken.append(time.perf_counter_ns() - before)
        return torch.tensor(taken)


@dataclass(frozen=True)
class Share:
    """A part's share of the time of batches: real by its own clock, sampled, and the standard deviation of the sampled
    one.
    """

    part: str
    real: float
    sampled: float
    error: float


def compare(batches: int, workers: int, scale: int) -> tuple[list[Share], int, int]:
    """The parts, how many bursts of samples they have, and how many were too late to count."""
    with tempfile.TemporaryDirectory(prefix="lines_") as folder:
        real = record(Path(folder), batches, workers, scale)
        read_files, _ = read_all(Path(folder), sorted(os.listdir(folder)))
    return shares(real, read_line_samples(read_files))


def record(folder: Path, batches: int, workers: int, scale: int) -> dict[str, float]:
    """Record a loader into a folder, and return the share of each part by its own clock."""
    with LoaderRecorder(folder) as recorder:
        loader = recorder.watch(DataLoader(Parts(4 * batches, scale), 4, num_workers=workers))
        taken = sum(batch.sum(0) for batch in loader).numpy()
        del loader
    return dict(zip((part.__name__ for part in PARTS), (taken / taken.sum()).tolist(), strict=True))


def shares(real: Mapping[str, float], samples: LineSamples) -> tuple[list[Share], int, int]:
    """real: by function. See `compare`."""
    samples = by_function(samples)
    bursts = len(np.unique(np.stack((samples.worker, samples.at_ns)), axis=1).T)
    found = line_shares(samples, np.ones(len(samples.count), bool)) if bursts > 1 else []
    sampled = {samples.locations[each.location]: each for each in found}
    return (
        [
            Share(part, share, *((each.share, each.error) if (each := sampled.get(part)) else (0.0, 0.0)))
            for part, share in real.items()
        ],
        bursts,
        samples.late,
    )


def by_function(samples: LineSamples) -> LineSamples:
    """The samples with all lines of a function as one location."""
    functions = [name.rpartition("): ")[2] for name in samples.locations]
    names = sorted(set(functions))
    number = np.array([names.index(function) for function in functions] + [-1], np.int64)
    return structs.replace(samples, location=number[samples.location], locations=tuple(names))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Whether the lines that take the workers' time are sampled.")
    parser.add_argument("--batches", type=int, default=500, help="of four samples (default: 500)")
    parser.add_argument("--workers", type=int, default=2, help="(default: 2)")
    parser.add_argument("--scale", type=int, default=4, help="of the parts' lengths (default: 4)")
    options = parser.parse_args(arguments)
    parts, bursts, late = compare(options.batches, options.workers, options.scale)
    print(f"{options.workers} workers, {bursts} bursts of samples, {late} that were too late\n")
    print("| part | real | sampled |")
    print("|---|---:|---:|")
    for each in parts:
        print(f"| {each.part} | {each.real:.1%} | {each.sampled:.1%} +- {each.error:.1%} |")


if __name__ == "__main__":
    main()
