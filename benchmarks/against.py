"""python -m benchmarks.against CHECKOUT [TRACE ...]: reading by this checkout and another one, by turns.

A trace of 50 MB is generated, and further ones can be named. In each round each checkout reads each trace once, in a
process of its own, in C and in Python alone; their order alternates from round to round. Measured is the CPU time of
the read, without the start of Python and the imports, so other processes of the machine count little. Shown are the
minimum over all rounds, and the median of the ratio within a round. Build the other checkout's extension first: run
`python setup.py build_ext --inplace` there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.generate import size_of, write_trace

HERE = Path(__file__).resolve().parent.parent

_READ = """
import sys, time
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.extension import reader_name
before = time.process_time()
read_trace(sys.argv[1])
print(time.process_time() - before, reader_name())
"""
READERS = {"C": "0", "Python only": "1"}


def seconds(checkout: Path, trace: Path, reader: str) -> float:
    """CPU time of one read. Raises SystemExit where the checkout has no such reader."""
    environment = os.environ | {
        "PYTHONPATH": str(checkout),
        "TB_STEPTIME_PURE": READERS[reader],
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-P", "-c", _READ, str(trace)]
    said = subprocess.run(command, env=environment, cwd=checkout, check=True, capture_output=True, text=True).stdout
    taken, _, read_by = said.strip().partition(" ")
    if read_by != reader:
        raise SystemExit(f"{checkout} reads with {read_by}. Build its extension.")
    return float(taken)


def row(other: Path, trace: Path, reader: str, rounds: int) -> str:
    times: dict[Path, list[float]] = {other: [], HERE: []}
    for number in range(rounds):
        for checkout in (other, HERE) if number % 2 else (HERE, other):
            times[checkout].append(seconds(checkout, trace, reader))
    before, now = times.values()
    usual = statistics.median(mine / others for mine, others in zip(now, before, strict=True)) - 1
    least = min(now) / min(before) - 1
    size = trace.stat().st_size / 1e6
    return (
        f"| {trace.name} | {size:.1f} | {reader} | {1e3 * min(before):.1f} | {1e3 * min(now):.1f} | {least:+.1%} "
        f"| {usual:+.1%} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Reading by this checkout and another one, by turns.")
    parser.add_argument("checkout", type=Path, help="the other one, with its extension built")
    parser.add_argument("traces", nargs="*", type=Path, help="besides the generated one")
    parser.add_argument("--size", default="50MB", help="of the generated trace (default: 50MB)")
    parser.add_argument("--rounds", type=int, default=11, help="for each row (default: 11)")
    options = parser.parse_args(arguments)
    print("| file | MB | reader | before, ms | now, ms | least to least | median of a round |")
    print("|---|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder) / f"generated_{options.size}.pt.trace.json"
        write_trace(generated, size_of(options.size))
        for trace in (generated, *options.traces):
            for reader in READERS:
                print(row(options.checkout.resolve(), trace.resolve(), reader, options.rounds), flush=True)


if __name__ == "__main__":
    main()
