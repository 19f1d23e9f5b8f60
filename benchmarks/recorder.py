"""What recording costs a training: passes over a real DataLoader with and without the recorder, in turns.

    python -m benchmarks.recorder              # needs torch; prints one row for each kind of loader
    python -m benchmarks.recorder --control    # the same without recording anything: what it says then is noise

The loop takes 1 ms a batch, as a training at 1000 batches a second would, and busily, so that nothing of the recorder's
work hides in a wait. Each round makes one pass with the recorder and one without. "change" is the median over the
rounds of the quotient of their durations, with the quartiles. On a machine that others use too it says little, and the
CPU time of the loop's thread within next(iterator) says more.
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


class Samples(Dataset[Any]):
    """Costs the given CPU time a sample; a batch of two tensors."""

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
    """Of one batch: seconds of the loop, and CPU seconds of its thread in next(iterator)."""

    wall: float
    cpu: float


def one_pass(loader: DataLoader[Any], batches: int) -> Cost:
    """From the second batch on: starting the workers is not counted."""
    iterator = iter(loader)
    next(iterator)
    cpu = 0
    begin = time.perf_counter()
    for _ in range(batches - 1):
        before = time.thread_time_ns()
        next(iterator)
        cpu += time.thread_time_ns() - before
        spin(STEP_NS)
    wall = time.perf_counter() - begin
    if next(iterator, None) is not None:
        raise ValueError(f"The loader has more than {batches} batches")
    return Cost(wall / (batches - 1), cpu / 1e9 / (batches - 1))


def compare(
    cost_ns: int, settings: dict[str, Any], batches: int, rounds: int, control: bool
) -> tuple[list[Cost], list[Cost]]:
    """Costs without and with the recorder, round by round, after one round that warms up."""
    plain, recorded = (DataLoader(Samples(4 * batches, cost_ns), 4, **settings) for _ in range(2))
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    with (
        tempfile.TemporaryDirectory(prefix="recorder_") as folder,
        LoaderRecorder(folder, enabled=not control) as recorder,
    ):
        recorder.watch(recorded)
        for turn in range(rounds + 1):
            for loader in (plain, recorded) if turn % 2 else (recorded, plain):
                cost = one_pass(loader, batches)
                if turn:
                    costs[loader is recorded].append(cost)
    return costs


def row(label: str, without: list[Cost], recorded: list[Cost]) -> str:
    changes = [100 * (b.wall / a.wall - 1) for a, b in zip(without, recorded, strict=True)]
    low, middle, high = statistics.quantiles(changes, n=4)
    plain, more = (1e6 * statistics.median(cost.cpu for cost in costs) for costs in (without, recorded))
    wall = 1e3 * statistics.median(cost.wall for cost in without)
    return (
        f"| {label} | {wall:.3f} ms | {middle:+.2f} % ({low:+.2f} to {high:+.2f}) "
        f"| {plain:.1f} us | {more - plain:+.1f} us | {(more - plain) / 10:+.2f} % |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What recording costs a training.")
    parser.add_argument("--batches", type=int, default=500, help="of a pass (default: 500)")
    parser.add_argument("--rounds", type=int, default=20, help="passes with and without (default: 20)")
    parser.add_argument(
        "--control", action="store_true", help="record nothing: shows how far the machine can be trusted"
    )
    options = parser.parse_args(arguments)
    print(f"torch {torch.__version__}, {options.batches} batches a pass, {options.rounds} rounds in turns\n")
    print("| loader | a batch, not recorded | change, median (quartiles) | CPU in next() | recorded | of 1 ms |")
    print("|---|---:|---:|---:|---:|---:|")
    for label, cost_ns, settings in CASES:
        print(row(label, *compare(cost_ns, settings, options.batches, options.rounds, options.control)), flush=True)


if __name__ == "__main__":
    main()
