"""How well the causes of bubbles are recovered in real pipelines over gloo, whose stage times are declared.

    python -m benchmarks.pipelines                        # 2 to 8 stages, each cause planted
    python -m benchmarks.pipelines --stages 2 4 --cause imbalance

Each row is a recording of `examples/record_pipeline.py`: what is declared costs so much in a simulated run, and what
the recording says. Delayed messages are held against the same pipeline without a delay, since gloo's own take time too.
A machine on which other programs run delays stages, and that is found as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tb_steptime.ranks.pipeline.result import BubbleCause, Pipeline
from tests import PROJECT
from tests.drawn.pipelines import MS, DrawnPipeline, gpipe, in_turns, one_stage_each
from tests.drawn.recorded_jobs import job_in

FORWARD, BACKWARD, DELAY = 60, 120, 40  # ms


class Planted(NamedTuple):
    """declared: the declared costs; without: the same without the cause, which the schedule's own idle time cannot
    lack; options: those of the recording.
    """

    declared: DrawnPipeline
    without: DrawnPipeline
    options: list[str]


def even(stages: int, orders: Callable[[int, int], list[list[tuple[str, int, int]]]]) -> DrawnPipeline:
    return DrawnPipeline(orders(stages, 2 * stages), [FORWARD * MS] * stages, [BACKWARD * MS] * stages)


def planted(cause: BubbleCause, stages: int) -> Planted:
    usual = even(stages, in_turns)
    if cause == "schedule":
        return Planted(usual, usual, [])
    if cause == "imbalance":
        forward, backward = (
            [time * (3 if stage == stages // 2 else 2) // 2 for stage in range(stages)] for time in (FORWARD, BACKWARD)
        )
        mean = [[sum(times) * MS // stages] * stages for times in (forward, backward)]
        declared = replace(usual, forward=[MS * time for time in forward], backward=[MS * time for time in backward])
        times = ["--forward", *map(str, forward), "--backward", *map(str, backward)]
        return Planted(declared, replace(usual, forward=mean[0], backward=mean[1]), times)
    if cause == "ordering":
        one_by_one = " ".join(f"F{batch} B{batch}" for batch in range(2 * stages))
        declared = replace(usual, orders=one_stage_each(*[one_by_one] * stages))
        return Planted(declared, usual, ["--schedule", "GPipe", "--one-by-one"])
    filled = even(stages, gpipe)
    return Planted(replace(filled, transfer=DELAY * MS), filled, ["--schedule", "GPipe"])


def recorded(stages: int, options: list[str]) -> Pipeline:
    times = [] if "--forward" in options else ["--forward", str(FORWARD), "--backward", str(BACKWARD)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--out", folder, "--stages", str(stages), "--micro-batches", str(2 * stages), *times, *options]
        script = PROJECT / "examples" / "record_pipeline.py"
        subprocess.run([sys.executable, str(script), *arguments], check=True, capture_output=True)
        found = job_in(Path(folder)).pipeline
    if found is None:
        raise SystemExit(f"{stages} stages, {options}: no pipeline is found")
    return found


def row(cause: BubbleCause, stages: int) -> str:
    declared, without, options = planted(cause, stages)
    if cause == "schedule":
        wanted = (stages - 1) * (FORWARD + BACKWARD) * MS
    else:
        wanted = declared.window - without.window
    delay = ["--transfer", str(DELAY)] if cause == "transfer" else []
    found = recorded(stages, [*options, *delay])
    cost = found.costs()[cause]
    if delay:
        cost -= recorded(stages, options).costs()[cause]
    name = found.schedule or "not recognised"
    error = 100 * (cost - wanted) / wanted
    return f"| {stages} | {cause} | {name} | {wanted / MS:.1f} | {cost / MS:.1f} | {error:+.1f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, nargs="+", default=[2, 3, 4, 6, 8])
    parser.add_argument("--cause", nargs="+", default=["schedule", "imbalance", "ordering", "transfer"])
    options = parser.parse_args()
    print("| stages | planted | schedule | declared, ms | found, ms | error |\n|---:|---|---|---:|---:|---:|")
    for stages in options.stages:
        for cause in options.cause:
            print(row(cause, stages), flush=True)


if __name__ == "__main__":
    main()
