"""How long `tb-steptime compare` takes on two large traces that have their summaries: `python -m benchmarks.compare`.

Two traces are written and summarized first (some minutes for 1 GB each); then only the summaries are read.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.generate import size_of, write_trace
from tb_steptime.comparison.comparison import compare
from tb_steptime.terminal.compare_table import comparison_table
from tb_steptime.terminal.compared import compared_sides

COMMAND = (sys.executable, "-m", "tb_steptime.cli")
RUNS = ("base", "candidate")
ROUNDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="1GB", help="of each trace's JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / run for run in RUNS]
        for seed, path in enumerate(paths, 1):
            path.mkdir()
            write_trace(path / "worker.1.pt.trace.json", size_of(arguments.size), seed)
        subprocess.run([*COMMAND, "index", folder], check=True, stdout=subprocess.DEVNULL)
        print(f"| two traces of {arguments.size} | median, s | most, s | of a processor, s |\n|---|---:|---:|---:|")
        _row("`tb-steptime compare`, the whole process", lambda: _run(paths))
        _row("summaries read, compared and written, within one", lambda: _compared(paths))
        sides = [side for _, side in compared_sides(paths, [], None)]
        _row("compared alone, as the tab does with pages at hand", lambda: compare(*sides))
        steps, rows = len(sides[0].step_ns), sum(len(table.rows) for table in compare(*sides).tables)
        sizes = ", ".join(f"{each.stat().st_size / 1e6:.1f}" for path in paths for each in path.glob("*.steptime"))
        print(f"\n{steps} steps; {rows} rows in the tables; summaries of {sizes} MB.")


def _run(paths: list[Path]) -> None:
    subprocess.run([*COMMAND, "compare", *map(str, paths)], check=True, stdout=subprocess.DEVNULL)


def _compared(paths: list[Path]) -> None:
    comparison_table(compare(*(side for _, side in compared_sides(paths, [], None))), 100)


def _row(what: str, do: Callable[[], object]) -> None:
    """CPU time is more meaningful on a machine that is busy with other work."""
    taken, worked = [], []
    for _ in range(ROUNDS):
        began, before = time.perf_counter(), sum(os.times()[:4])
        do()
        taken.append(time.perf_counter() - began)
        worked.append(sum(os.times()[:4]) - before)
    figures = statistics.median(taken), max(taken), statistics.median(worked)
    print(f"| {what} | {' | '.join(f'{seconds:.2f}' for seconds in figures)} |", flush=True)


if __name__ == "__main__":
    main()
