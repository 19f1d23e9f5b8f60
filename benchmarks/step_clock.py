"""What timing every step costs a job: the CPU time that `prof.step()` takes of a loop after the last span.

    python -m benchmarks.step_clock             # steps of 1 ms of CPU time
    python -m benchmarks.step_clock --control   # nothing is timed: what it shows then is noise

First for consecutive steps, including the writes to the file: the minimum over 20 times 2,000 calls, which is the same
however busy the machine is. Then after 1 ms of other work each, in addition to the time of an empty function: the means
of blocks of 2,000 steps, given as their median, minimum and maximum. That also includes the effect of other processes
on the caches, so it means little on a busy machine. Blocks in which slow steps began a span are left out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import thread_time_ns

from tb_steptime.record.profiling import StepProfiler

STEP_NS = 1_000_000
BLOCK, BLOCKS, BURSTS = 2_000, 12, 20


def watching(folder: Path) -> StepProfiler:
    """A profiler after its last span, which only times the steps."""
    prof = StepProfiler(folder, skip_first=0, wait=0, warmup=1, active=1, repeat=1, watch=True).start()
    while prof.profiler is not None:
        prof.step()
    return prof


def block_ns(step: Callable[[], None]) -> float:
    """The mean CPU time of a call between two steps of the job, in addition to that of a function that does nothing."""
    spent = 0
    for _ in range(BLOCK):
        end = thread_time_ns() + STEP_NS
        while thread_time_ns() < end:
            pass
        before = thread_time_ns()
        _nothing()
        between = thread_time_ns()
        step()
        spent += thread_time_ns() - between - (between - before)
    return spent / BLOCK


def at_once_ns(prof: StepProfiler) -> float:
    """The lowest mean CPU time of consecutive calls, including their share of writing."""
    assert prof.clock is not None
    means = []
    for _ in range(BURSTS):
        before = thread_time_ns()
        for _ in range(BLOCK):
            prof.step()
        prof.clock.write()
        means.append((thread_time_ns() - before) / BLOCK)
    return min(means)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What timing every step costs a job.")
    parser.add_argument("--blocks", type=int, default=BLOCKS, help=f"of {BLOCK:,} steps (default: {BLOCKS})")
    parser.add_argument("--control", action="store_true", help="time nothing: shows what the loop itself costs")
    options = parser.parse_args(arguments)
    costs = []
    with tempfile.TemporaryDirectory(prefix="step_clock_") as folder:
        prof = watching(Path(folder))
        if not options.control:
            print(f"at once: {_said(at_once_ns(prof))}")
        for _ in range(options.blocks):
            spans = len(list(Path(folder).glob("*.json.gz")))
            cost = block_ns(_nothing if options.control else prof.step)
            if len(list(Path(folder).glob("*.json.gz"))) == spans and prof.profiler is None:
                costs.append(cost)
        prof.stop()
        size = sum(path.stat().st_size for path in Path(folder).glob("*.steps"))
    least, most = min(costs) / 1000, max(costs) / 1000
    print(f"after 1 ms: {_said(statistics.median(costs))} ({least:.2f} to {most:.2f} us in {len(costs)} blocks)")
    print(f"file: {size / 1000:.0f} kB")


def _said(ns: float) -> str:
    return f"{ns / 1000:.2f} us a step, {100 * ns / STEP_NS:.2f} % of 1 ms"


def _nothing() -> None:
    pass


if __name__ == "__main__":
    main()
