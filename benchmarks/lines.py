"""Whether the recorder meets workers in the lines that take their time: a dataset whose parts time themselves.

    python -m benchmarks.lines                # needs torch and numpy; prints one row for each part

"real" is the share of a batch's time that the part took by its own clock, "told" what the recorder's looks say, with
one standard deviation. Reading is a sleep; the loop and the tables hold Python's lock, the arithmetic gives it away.
With the scale 1 each takes one to four milliseconds of a sample.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from tb_steptime.ingest.recorder_files.decoding import read_all
from tb_steptime.ingest.recorder_files.lines import read_line_samples
from tb_steptime.metrics.data_loading.recorded.lines import line_shares
from tb_steptime.record import LoaderRecorder
from tb_steptime.trace.loader_records import LineLooks


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
    """A sample is what each part took, ns."""

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
class Told:
    """A part's share of the time of batches: real by its own clock, told by looks, and the deviation of that."""

    part: str
    real: float
    told: float
    error: float


def compare(batches: int, workers: int, scale: int) -> tuple[list[Told], int, int]:
    """The parts, how many bursts of looks tell of them, and how many came too late to count."""
    with tempfile.TemporaryDirectory(prefix="lines_") as folder, LoaderRecorder(folder) as recorder:
        loader = recorder.watch(DataLoader(Parts(4 * batches, scale), 4, num_workers=workers))
        taken = sum(batch.sum(0) for batch in loader).numpy()
        read_files, _ = read_all(Path(folder), sorted(os.listdir(folder)))
    looks = by_function(read_line_samples(read_files, 0))
    bursts = len(np.unique(np.stack((looks.worker, looks.at_ns)), axis=1).T)
    shares = line_shares(looks, np.ones(len(looks.met), bool)) if bursts > 1 else []
    told = {looks.places[each.place]: each for each in shares}
    parts = [
        Told(part.__name__, real, *((each.share, each.error) if (each := told.get(part.__name__)) else (0.0, 0.0)))
        for part, real in zip(PARTS, (taken / taken.sum()).tolist(), strict=True)
    ]
    return parts, bursts, looks.late


def by_function(looks: LineLooks) -> LineLooks:
    """The looks at all lines of a function as those at one place."""
    functions = [name.rpartition("): ")[2] for name in looks.places]
    names = sorted(set(functions))
    number = np.array([names.index(function) for function in functions] + [-1], np.int64)
    return replace(looks, place=number[looks.place], places=tuple(names))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Whether workers are met in the lines that take their time.")
    parser.add_argument("--batches", type=int, default=500, help="of four samples (default: 500)")
    parser.add_argument("--workers", type=int, default=2, help="(default: 2)")
    parser.add_argument("--scale", type=int, default=4, help="of the parts' lengths (default: 4)")
    options = parser.parse_args(arguments)
    parts, bursts, late = compare(options.batches, options.workers, options.scale)
    print(f"{options.workers} workers, {bursts} bursts of looks, {late} that came too late\n")
    print("| part | real | told |")
    print("|---|---:|---:|")
    for each in parts:
        print(f"| {each.part} | {each.real:.1%} | {each.told:.1%} +- {each.error:.1%} |")


if __name__ == "__main__":
    main()
