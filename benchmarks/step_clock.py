"""What timing every step costs a job: a loop with a step clock and one without, by turns.

    python -m benchmarks.step_clock             # steps of 1 ms of CPU time
    python -m benchmarks.step_clock --control   # neither has one: what it shows then is noise

What is timed is what `prof.step()` adds to a loop after the last span, in blocks of 250 steps, in each of which the
clock writes to its file, too. By turns, because a machine changes its pace within seconds by more than the clock costs.
The median of the blocks and their middle half are printed, as other processes interrupt some.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.recorder import spin
from tb_steptime.record.profiling import StepProfiler

STEP_NS = 1_000_000
BLOCK = 250


def watching(folder: Path) -> StepProfiler:
    """After its last span: it only times the steps."""
    prof = StepProfiler(folder, skip_first=0, wait=0, warmup=1, active=1, repeat=1, watch=True).start()
    while prof.profiler is not None:
        prof.step()
    return prof


def block_ns(step: Callable[[], None]) -> float:
    """Mean time of a call of step between two steps of the job."""
    spent = 0
    for _ in range(BLOCK):
        spin(STEP_NS)
        before = time.perf_counter_ns()
        step()
        spent += time.perf_counter_ns() - before
    return spent / BLOCK


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What timing every step costs a job.")
    parser.add_argument("--blocks", type=int, default=40, help="of 250 steps, each way (default: 40)")
    parser.add_argument("--control", action="store_true", help="time nothing: shows what the loop itself costs")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="step_clock_") as folder:
        prof = watching(Path(folder))
        timed: Callable[[], None] = _nothing if options.control else prof.step
        pairs = [(block_ns(_nothing), block_ns(timed)) for _ in range(options.blocks)]
        prof.stop()
        size = sum(path.stat().st_size for path in Path(folder).glob("*.steps"))
    low, usual, high = statistics.quantiles((with_ns - without_ns for without_ns, with_ns in pairs), n=4)
    share = 100 * usual / STEP_NS
    print(f"a step: {usual / 1000:.2f} us (middle half {low / 1000:.2f} to {high / 1000:.2f}), {share:.2f} % of 1 ms")
    print(f"file: {size / 1000:.0f} kB after {options.blocks * BLOCK:,} steps")


def _nothing() -> None:
    pass


if __name__ == "__main__":
    main()
