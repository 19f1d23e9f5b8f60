"""Reads one generated trace with us and with others, a process each, and prints one table: `make bench`. With `--real`
the traces are recorded ones, made longer (`benchmarks.enlarge`), and the only other contender is json.load.

Time and memory are those of the whole process, start-up included, as the operating system counts them. The best of
several rounds is shown; a round goes through all contenders, so that other work on the machine affects them alike. Byte
code is kept between the runs, as in an installed package. With several sizes a second table gives the cost of starting
and the cost of each gigabyte: time and memory are the sum of both.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.byte_code import with_byte_code
from benchmarks.generate import size_of, write_trace
from benchmarks.together import MemoryTogether

#: Above this size one round is enough, and more would take minutes.
ROUNDS_BELOW_BYTES = 400_000_000
ROUNDS = 3
#: For recorded traces there are only three contenders, so more rounds are run.
ROUNDS_OF_REAL = 5
#: Large enough that every module that reads or analyses is imported.
SMALL_BYTES = 1_000_000
#: Above this size torch-tb-profiler needs minutes, and several gigabytes of memory.
PEER_BELOW_BYTES = 400_000_000

_JSON_LOAD = """
import gzip, json, sys
with (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1]) as file:
    json.load(file)
"""
#: With one thread, like the command line, so that helper processes can be forked.
_READ_TRACE = """
import os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
from tb_steptime.trace.kineto import read_trace
read_trace(sys.argv[2], processes=int(sys.argv[1]))
"""
#: As on a machine with one core: it starts no other processes.
_SUMMARIZE_ALONE = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from tb_steptime.cli import main
sys.exit(main(["summarize", "--format", "json", *sys.argv[1:]]))
"""
#: As on a machine where the extension could not be built.
_READ_IN_PYTHON = f"""
import os
os.environ["TB_STEPTIME_PURE"] = "1"
{_READ_TRACE}"""
#: What its loader does in the process that it starts for each file, without the processing of the result.
_TORCH_TB_PROFILER = """
import sys, tempfile
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
data = RunProfileData.parse("worker", 1, sys.argv[1], tempfile.gettempdir())
RunGenerator("worker", 1, data).generate_run_profile()
DistributedRunProfileData(data)
"""


@dataclass(frozen=True)
class Contender:
    """A name for the table, and the command to which the trace's path is appended."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Text:
    """What is read: "" for generated traces, else the name of the recording; write: writes it and returns its size in
    bytes.
    """

    name: str
    write: Callable[[Path], int]


@dataclass(frozen=True)
class Cost:
    """Costs of a process including all processes that it started. cpu_seconds: over all cores; peak_bytes: the most
    memory that they used together; failed: it exited with an error.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    failed: bool


JSON_LOAD = Contender("json.load", (sys.executable, "-c", _JSON_LOAD))
PEER = Contender("torch-tb-profiler, its loader", (sys.executable, "-c", _TORCH_TB_PROFILER))
SUMMARIZE = (
    *(
        [Contender("tb-steptime summarize, one core", (sys.executable, "-c", _SUMMARIZE_ALONE))]
        if hasattr(os, "sched_setaffinity")
        else []
    ),
    Contender("tb-steptime summarize", (sys.executable, "-m", "tb_steptime.cli", "summarize", "--format", "json")),
)
CONTENDERS = (
    JSON_LOAD,
    Contender("tb_steptime, read only, in Python", (sys.executable, "-c", _READ_IN_PYTHON, "1")),
    Contender("tb_steptime, read only, 1 process", (sys.executable, "-c", _READ_TRACE, "1")),
    Contender("tb_steptime, read only, 2 processes", (sys.executable, "-c", _READ_TRACE, "2")),
    *SUMMARIZE,
)


def main() -> None:
    arguments = _arguments()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print()
    print(f"| {'recording | ' * bool(arguments.real)}JSON | read by | seconds | of all cores | s/GB | MB/s ", end="")
    print("| peak memory, MB | times json.load |")
    print(f"|{'---|' * bool(arguments.real)}---:|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="tb_steptime_bench.", dir=arguments.folder) as folder:
        environment = with_byte_code(folder)
        _write_byte_code(Path(folder), arguments, environment)
        if arguments.real:
            _bench_real(Path(folder), arguments, environment)
        else:
            _bench_generated(Path(folder), arguments, environment)


def _bench_generated(folder: Path, arguments: argparse.Namespace, environment: Mapping[str, str]) -> None:
    costs: dict[int, dict[Contender, Cost]] = {}
    for size in arguments.size or [size_of("200MB"), size_of("1GB")]:
        rounds = ROUNDS if size < ROUNDS_BELOW_BYTES else 1
        text = Text("", partial(write_trace, size_bytes=size, seed=arguments.seed))
        costs[size] = _bench(folder, text, _contenders(size, arguments), rounds, arguments, environment)
    _print_slopes(costs)


def _bench_real(folder: Path, arguments: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """The worst case is printed last: for other people's traces it is what can be promised."""
    worst: dict[int, tuple[float, str]] = {}
    others = [] if arguments.ours else [JSON_LOAD]
    for trace in arguments.real:
        for size in arguments.size or [size_of("211MB")]:
            rounds = ROUNDS_OF_REAL if size < ROUNDS_BELOW_BYTES else 1
            text = Text(trace.name, partial(_enlarge, trace, size))
            costs = _bench(folder, text, [*others, *SUMMARIZE], rounds, arguments, environment)
            plain = costs.get(JSON_LOAD)
            times = plain.seconds / costs[SUMMARIZE[-1]].seconds if plain and not plain.failed else math.nan
            worst[size] = min(worst.get(size, (math.inf, "")), (times, trace.name))
    for size, (times, name) in worst.items():
        if math.isfinite(times):
            print(f"\nThe worst of {size / 1e6:,.0f} MB: {times:.1f} times json.load, {name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare how fast and in how much memory traces are read.")
    parser.add_argument("--size", type=size_of, nargs="+", help="of the JSON; default: 200MB 1GB")
    parser.add_argument("--real", type=Path, nargs="+", metavar="TRACE", help="recorded traces, which are made longer")
    parser.add_argument("--folder", help="where the traces are written to; default: the folder for temporary files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gzip", action="store_true", help="pack the trace, as the profiler can")
    parser.add_argument("--all", action="store_true", help="torch-tb-profiler on large traces too: minutes, gigabytes")
    parser.add_argument("--ours", action="store_true", help="leave the others out, for traces beyond their memory")
    return parser.parse_args()


def _write_byte_code(folder: Path, arguments: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Imports all modules of a contender once, with a small trace."""
    small = folder / "worker0.0.pt.trace.json"
    write_trace(small, SMALL_BYTES, arguments.seed)
    for contender in CONTENDERS:
        _cost(contender, small, environment)
    small.unlink()


def _bench(
    folder: Path,
    text: Text,
    contenders: list[Contender],
    rounds: int,
    arguments: argparse.Namespace,
    environment: Mapping[str, str],
) -> dict[Contender, Cost]:
    path = folder / ("worker0.1.pt.trace.json" + (".gz" if arguments.gzip else ""))
    written = text.write(path)
    costs = _costs(path, contenders, rounds, environment)
    for contender, cost in costs.items():
        print(_row(text.name, written, contender, cost, costs.get(JSON_LOAD)), flush=True)
    path.unlink()
    return costs


def _enlarge(trace: Path, size: int, path: Path) -> int:
    """In another process: the peak memory of this one would count as memory of the processes that it starts."""
    command = [sys.executable, "-m", "benchmarks.enlarge", str(size), str(trace.resolve()), str(path)]
    home = Path(__file__).resolve().parent.parent
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=home).stdout)


def _print_slopes(costs: dict[int, dict[Contender, Cost]]) -> None:
    """The cost of starting and of each gigabyte, from the smallest and the largest trace, and how far the sizes in
    between deviate from that line.
    """
    least, most = min(costs), max(costs)
    if least == most:
        return
    print("\n| read by | start, s of all cores | s/GB of all cores | most off that | memory, MB | MB/GB |")
    print("|---|---:|---:|---:|---:|---:|")
    for contender in CONTENDERS:
        known = {size: by[contender] for size, by in costs.items() if contender in by and not by[contender].failed}
        if known.keys() == costs.keys():
            seconds = _line({size: cost.cpu_seconds for size, cost in known.items()})
            memory = _line({size: cost.peak_bytes / 1e6 for size, cost in known.items()})
            off = max(abs(cost.cpu_seconds / seconds.at(size) - 1) for size, cost in known.items())
            print(
                f"| {contender.name} | {seconds.start:.2f} | {seconds.per_gb:.2f} | {off:.0%} "
                f"| {memory.start:,.0f} | {memory.per_gb:,.0f} |"
            )


class _Line(NamedTuple):
    """A line: `start`, plus `per_gb` for each gigabyte."""

    start: float
    per_gb: float

    def at(self, size: int) -> float:
        return self.start + self.per_gb * size / 1e9


def _line(of: dict[int, float]) -> _Line:
    """The line through the smallest and the largest size."""
    least, most = min(of), max(of)
    per_gb = (of[most] - of[least]) / (most - least) * 1e9
    return _Line(of[least] - per_gb * least / 1e9, per_gb)


def _contenders(size: int, arguments: argparse.Namespace) -> list[Contender]:
    if arguments.ours:
        return [contender for contender in CONTENDERS if contender is not JSON_LOAD]
    return [*CONTENDERS, *([PEER] if arguments.all or size < PEER_BELOW_BYTES else [])]


def _costs(
    path: Path, contenders: list[Contender], rounds: int, environment: Mapping[str, str]
) -> dict[Contender, Cost]:
    """The fastest of each contender's runs. The slowest contender runs once."""
    _read_through(path)
    costs = {contender: _cost(contender, path, environment) for contender in contenders}
    for _ in range(rounds - 1):
        for contender in contenders:
            if contender is not PEER:
                again = _cost(contender, path, environment)
                costs[contender] = min(costs[contender], again, key=lambda cost: cost.seconds)
    return costs


def _read_through(path: Path) -> None:
    """Reads the file into the cache, so that no contender pays for the disk."""
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def _cost(contender: Contender, path: Path, environment: Mapping[str, str]) -> Cost:
    command, nowhere = [*contender.command, str(path)], subprocess.DEVNULL
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=environment)
    with MemoryTogether(process.pid) as memory:
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    peak_bytes = max(memory.peak_bytes, usage.ru_maxrss * unit)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, peak_bytes, process.returncode != 0)


def _row(text: str, size: int, contender: Contender, cost: Cost, plain: Cost | None) -> str:
    cells = [*([text] if text else []), f"{size / 1e6:,.0f} MB", contender.name]
    if cost.failed:
        return f"| {' | '.join(cells)} | failed after {cost.seconds:.0f} | | | | {cost.peak_bytes / 1e6:,.0f} | |"
    times = f"{plain.seconds / cost.seconds:.1f}" if plain and not plain.failed else ""
    cells += [f"{cost.seconds:.2f}", f"{cost.cpu_seconds:.2f}", f"{cost.seconds / size * 1e9:.2f}"]
    cells += [f"{size / 1e6 / cost.seconds:,.0f}", f"{cost.peak_bytes / 1e6:,.0f}", times]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
