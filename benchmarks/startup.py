"""How long commands take to start: `python -m benchmarks.startup`.

What no command can do without stands beside them: Python itself, and numpy. Byte code is kept between the rounds, as an
installed package has it. The rounds go over all commands in turn, so that other work on the machine meets each alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.byte_code import with_byte_code
from benchmarks.generate import size_of, write_trace

ROUNDS = 11
SMALL, LARGE = "1MB", "30MB"
_CLI = ("-m", "tb_steptime.cli")


class Taken(NamedTuple):
    """Seconds of wall-clock time and of CPU time, which is more meaningful on a machine with other work."""

    wall: float
    worked: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        environment = with_byte_code(folder)
        for arguments in commands.values():
            _run(arguments, environment)
        taken = [[_run(arguments, environment) for arguments in commands.values()] for _ in range(rounds)]
    print(f"| median of {rounds} | s | most, s | of a processor, s |\n|---|---:|---:|---:|")
    for command, times in zip(commands, zip(*taken, strict=True), strict=True):
        print(f"| {command} | {' | '.join(f'{seconds:.2f}' for seconds in _figures(times))} |")


def _commands(folder: Path) -> dict[str, tuple[str, ...]]:
    small, large = _traces(folder, SMALL), _traces(folder, LARGE)
    subprocess.run([sys.executable, *_CLI, "index", *large], check=True, capture_output=True)
    return {
        "`python -c pass`": ("-c", "pass"),
        "`python -c 'import numpy'`": ("-c", "import numpy"),
        "`tb-steptime --help`": (*_CLI, "--help"),
        f"`tb-steptime summarize`, a trace of {SMALL}": (*_CLI, "summarize", small[0]),
        f"`tb-steptime summarize`, a trace of {LARGE} with its summary": (*_CLI, "summarize", large[0]),
        f"`tb-steptime compare`, two traces of {LARGE} with summaries": (*_CLI, "compare", *large),
    }


def _traces(folder: Path, size: str) -> list[str]:
    """The folders of two traces of that size."""
    folders = [folder / f"{size}_{seed}" for seed in (1, 2)]
    for seed, each in enumerate(folders, 1):
        each.mkdir()
        write_trace(each / "worker.1.pt.trace.json", size_of(size), seed)
    return [str(each) for each in folders]


def _run(arguments: Sequence[str], environment: dict[str, str]) -> Taken:
    began, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    wall, after = time.perf_counter() - began, os.times()
    return Taken(wall, after.children_user + after.children_system - before.children_user - before.children_system)


def _figures(times: Sequence[Taken]) -> tuple[float, float, float]:
    wall = [each.wall for each in times]
    return statistics.median(wall), max(wall), statistics.median(each.worked for each in times)


if __name__ == "__main__":
    main()
