"""For how long writing a span stops a training: `python -m benchmarks.writing [OPS A STEP]`.

A loop of small ops is recorded for ten steps, once with `profile_steps` and once with torch's own handler, which
compresses the trace as well. Printed is by how much the step that writes is longer than the usual one, and how long
`profile_steps` then waits at the end of the training for the file.
"""

from __future__ import annotations

import gzip
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import profiler

from tb_steptime.record import profile_steps

STEPS, SCHEDULE = 30, {"skip_first": 2, "wait": 1, "warmup": 1, "active": 10, "repeat": 1}


def longest_stop(ops: int, end_step: Callable[[], None]) -> float:
    """Seconds by which the last recorded step is longer than the median."""
    x, seconds = torch.rand(8, 8), []
    for _ in range(STEPS):
        before = time.perf_counter()
        for _ in range(ops):
            x + 1
        end_step()
        seconds.append(time.perf_counter() - before)
    writes = SCHEDULE["skip_first"] + SCHEDULE["wait"] + SCHEDULE["warmup"] + SCHEDULE["active"] - 1
    return seconds[writes] - statistics.median(seconds)


def main(arguments: Sequence[str]) -> None:
    ops = int(arguments[0]) if arguments else 14_000
    torch.set_num_threads(1)
    logging.getLogger("tb_steptime.record").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        with profile_steps(folder, **SCHEDULE) as ours:
            own = longest_stop(ops, ours.step)
            before = time.perf_counter()
        finish = time.perf_counter() - before
        (trace,) = Path(folder).glob("*.pt.trace.json.gz")
        events = gzip.decompress(trace.read_bytes()).count(b'"ph": "X"')
        handler = profiler.tensorboard_trace_handler(folder, use_gzip=True)
        with profiler.profile(schedule=profiler.schedule(**SCHEDULE), on_trace_ready=handler) as theirs:
            other = longest_stop(ops, theirs.step)
    print(f"{events:,} events stop the training for {own:.1f} s, and for {finish:.1f} s at its end.")
    print(f"With torch's own handler: {other:.1f} s.")


if __name__ == "__main__":
    main(sys.argv[1:])
