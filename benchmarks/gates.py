"""How often a gate of a CI job is wrong: real trainings on the CPU, of which some do a tenth more work.

    python -m benchmarks.gates --folder DIR      # records 36 trainings of each kind there, goes on where it stopped
    python -m benchmarks.gates --folder DIR --only-judge

Each training is a process of its own that records two spans of ten steps; the two kinds are recorded by turns, on a
machine that does other things, too. Then sides are drawn from them, and a gate at +5 % is asked of each pair:

    unchanged, one recording a side        100 pairs: at most 1 may fail
    unchanged, three recordings a side     100 pairs: at most 1 may fail
    a tenth more work, three a side        100 pairs: at least 90 have to fail
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from tb_steptime.comparison.gates import Gate, judge_gate, parse_gate
from tb_steptime.comparison.sides import ComparedSpan, Side
from tb_steptime.ingest.compared import compared_side
from tb_steptime.ingest.measure import measure_file

#: Passes of the model in a step: a tenth more is a real +10 %.
KINDS = {"base": 20, "slower": 22}
PAIRS = 100

#: The spans of one training.
Recording = tuple[ComparedSpan, ...]


def train(folder: Path, passes: int) -> None:
    """Two spans of ten steps, and fifty steps after them."""
    import torch

    from tb_steptime.record import profile_steps

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(128, 128), torch.nn.ReLU())]
    model, batch = torch.nn.Sequential(*layers), torch.rand(64, 128)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with profile_steps(folder, skip_first=10, wait=5, warmup=2, active=10, repeat=2) as prof:
        for _ in range(10 + 2 * 17 + 50):
            for _ in range(passes):
                model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()


def record(folder: Path, runs: int) -> None:
    """By turns, each in a process of its own; those that are there already are kept."""
    import torch  # noqa: F401 - once for all, as it takes longer than a training

    for number in range(runs):
        for kind, passes in KINDS.items():
            place = folder / kind / f"{number:03}"
            if len(list(place.glob("*.pt.trace.json.gz"))) < 2:
                training = multiprocessing.get_context("fork").Process(target=train, args=(place, passes))
                training.start()
                training.join()


def spans_of(folder: Path) -> list[Recording]:
    """Of each training its spans, in the order in which they were recorded."""
    found = []
    for run in sorted(folder.iterdir()):
        traces = sorted(run.glob("*.pt.trace.json.gz"))
        if len(traces) == 2:
            measured = [measure_file(trace) for trace in traces]
            found.append(compared_side(run.name, measured, with_gains=False).spans)
    return found


def fails(gate: Gate, base: Sequence[Recording], candidate: Sequence[Recording]) -> bool:
    return judge_gate(gate, *map(side_of, (base, candidate))).passed is False


def side_of(runs: Sequence[Recording]) -> Side:
    """As `compare` makes one of a run, and of several."""
    spans = tuple(span for run in runs for span in run)
    return Side("", spans, tuple(map(len, runs)) if len(runs) > 1 else ())


def count_failures(
    draws: random.Random, gate: Gate, base: list[Recording], candidate: list[Recording], number: int
) -> int:
    """Of PAIRS pairs of sides with so many recordings each, none of which is on both."""
    failed = 0
    for _ in range(PAIRS):
        drawn = draws.sample(base, 2 * number)
        other = drawn[number:] if candidate is base else draws.sample(candidate, number)
        failed += fails(gate, drawn[:number], other)
    return failed


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How often a gate at +5 % is wrong.")
    parser.add_argument("--folder", type=Path, required=True, help="where the recordings are kept")
    parser.add_argument("--runs", type=int, default=36, help="of each kind (default: 36)")
    parser.add_argument("--only-judge", action="store_true", help="record nothing more")
    options = parser.parse_args(arguments)
    if not options.only_judge:
        record(options.folder, options.runs)
    base, slower = (spans_of(options.folder / kind) for kind in KINDS)
    print(f"{len(base)} recordings, and {len(slower)} of a tenth more work\n")
    print("| gate | unchanged, one a side | unchanged, three a side | a tenth more work, three a side |")
    print("|---|---:|---:|---:|")
    for rule in ("step_time>+5%", "unprofiled_step>+5%"):
        gate, draws = parse_gate(rule), random.Random(0)
        counts = [count_failures(draws, gate, base, other, number)
                  for other, number in ((base, 1), (base, 3), (slower, 3))]  # fmt: skip
        print(f"| `{rule}` | {' | '.join(f'{count} of {PAIRS} fail' for count in counts)} |")
    for rule, of in (("step_time", mean_step_ns), ("unprofiled_step", unprofiled_ns)):
        spread, change = noise(of, base, slower)
        print(f"\n{rule}: runs of one kind differ by {spread:.1%} (standard deviation); the medians by {change:+.1%}")


def noise(of: Callable[[Recording], float], base: list[Recording], slower: list[Recording]) -> tuple[float, float]:
    """How much the recordings of a kind differ, and the kinds from each other, as fractions."""
    values = [[of(run) for run in runs] for runs in (base, slower)]
    spread = max(statistics.stdev(each) / statistics.fmean(each) for each in values)
    return spread, statistics.median(values[1]) / statistics.median(values[0]) - 1


def mean_step_ns(run: Recording) -> float:
    return float(Side("", run).step_ns.mean())


def unprofiled_ns(run: Recording) -> float:
    return float(Side("", run).unprofiled_ns()[0][0])


if __name__ == "__main__":
    main()
