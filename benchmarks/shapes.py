"""python -m benchmarks.shapes [NAME…]   # traces that no profiler writes, at two sizes: time, and the largest page

A hostile or broken file may have as many of anything as it likes. Four times as much must not cost much more than four
times the time, and no page may grow with it without a bound. CPU time of one process; of three tries the least.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tb_steptime.errors import TraceError
from tb_steptime.ingest.measure import measure_trace
from tb_steptime.insights import judge
from tb_steptime.serve.wire import encode
from tb_steptime.timeline.build import write_events
from tb_steptime.timeline.event_file import EventFile
from tb_steptime.timeline.flame import flame_page
from tb_steptime.timeline.page import timeline_page
from tb_steptime.timeline.search import Search, search_page
from tb_steptime.trace.kineto import read_trace

Event = dict[str, Any]

STEP = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1}
OP = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
KERNEL = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7}


def op(at: float, length: float = 0.5, name: str = "aten::mm", **more: Any) -> Event:
    return OP | {"name": name, "ts": at, "dur": length} | more


def kernel(at: float, length: float = 0.5, name: str = "gemm", device: int = 0, stream: int = 7, **args: Any) -> Event:
    said = {"device": device, "stream": stream} | args
    return KERNEL | {"name": name, "ts": at, "dur": length, "pid": device, "tid": stream, "args": said}


def steps(n: int, length: float) -> list[Event]:
    return [STEP | {"name": f"ProfilerStep#{k}", "ts": k * length, "dur": length} for k in range(n)]


def in_two_steps(events: list[Event], length: float) -> list[Event]:
    return [*steps(2, length), *events]


#: By name: a function from n to events, and the smaller of the two sizes.
SHAPES: dict[str, tuple[Callable[[int], list[Event]], int]] = {
    "begins without ends": (lambda n: in_two_steps([op(k, ph="B") for k in range(n)], n / 2), 25_000),
    "ends without begins": (lambda n: in_two_steps([op(k, ph="E") for k in range(n)], n / 2), 25_000),
    "long names": (lambda n: in_two_steps([kernel(k, name=f"{k}" + "x" * 100_000) for k in range(n)], n / 2), 10),
    "names of kernels, of 300 characters": (
        lambda n: in_two_steps([kernel(k, name=f"k{k}" + "x" * 300) for k in range(n)], n / 2),
        5_000,
    ),
    "names of kernels": (lambda n: in_two_steps([kernel(k, name=f"k{k}") for k in range(n)], n / 2), 5_000),
    "names of ops": (lambda n: in_two_steps([op(k, name=f"aten::op{k}") for k in range(n)], n / 2), 5_000),
    "names of ranges": (lambda n: in_two_steps([STEP | op(k, name=f"r{k}", cat="user_annotation") for k in range(n)],
                                               n / 2), 5_000),
    "loaders": (lambda n: in_two_steps([op(k, name=f"enumerate(DataLoader)#L{k}.__next__", cat="user_annotation")
                                        for k in range(n)], n / 2), 2_000),
    "steps": (lambda n: [*steps(n, 10), *(op(10 * k + 1) for k in range(n)), *(kernel(10 * k + 3) for k in range(n))],
              5_000),
    "threads": (lambda n: in_two_steps([op(k, tid=k + 1) for k in range(n)], n / 2), 2_000),
    "processes": (lambda n: in_two_steps([op(k, pid=k + 1) for k in range(n)], n / 2), 2_000),
    "streams": (lambda n: in_two_steps([kernel(k, stream=k) for k in range(n)], n / 2), 2_000),
    "devices": (lambda n: in_two_steps([kernel(k, device=k % 4096) for k in range(n)], n / 2), 500),
    "groups": (lambda n: in_two_steps([kernel(k, name="ncclDevKernel_AllReduce", **{
        "Collective name": "allreduce", "Process Group Name": f"{k}", "Group size": 8, "In msg nelems": 8,
        "Out msg nelems": 8, "dtype": "Float"}) for k in range(n)], n / 2), 2_000),
    "deep stacks": (lambda n: in_two_steps([op(k, 2 * (n - k) + 1, name="f.py(1): f", cat="python_function",
                                               args={"Python id": k + 1, "Python parent id": k}) for k in range(n)],
                                           2 * n), 5_000),
    "deep ops": (lambda n: in_two_steps([op(k, 2 * (n - k) + 1) for k in range(n)], 2 * n), 5_000),
    "input shapes": (lambda n: in_two_steps([op(k, args={"Input Dims": [[k, 2], [2, k]], "Input type": ["float"] * 2})
                                             for k in range(n)], n / 2), 5_000),
    "one instant": (lambda n: in_two_steps([each for _ in range(n) for each in (op(1, 0), kernel(1, 0))], 10), 10_000),
    "one covers all": (lambda n: in_two_steps([op(0, n), *(op(k) for k in range(n))], n / 2), 10_000),
    "memory": (lambda n: in_two_steps([op(k, name="[memory]", ph="i", cat="cpu_instant_event", args={
        "Addr": k, "Bytes": 100, "Device Type": 1, "Device Id": 0, "Total Allocated": 100 * k,
        "Total Reserved": 100 * k}) for k in range(n)], n / 2), 10_000),
}  # fmt: skip


def written(folder: Path, events: list[Event]) -> Path:
    path = folder / "worker.1.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


class Handled(NamedTuple):
    """CPU seconds of everything that is done with a trace, bytes of the largest answer, and its name."""

    seconds: float
    bytes: int
    answer: str


def handled(path: Path, folder: Path) -> Handled:
    """folder: an empty one, for the event file."""
    began = time.process_time()
    try:
        trace, measured = measure_trace(read_trace(path))[:2]
        sizes = {view: len(encode(result)) for view, result in measured.results.items()}
        sizes["judgement"] = len(encode(judge(measured.results, measured.facts.gaps)))
        write_events(trace, folder)
        sizes |= {name: len(encode(page)) for name, page in _of_events(EventFile.open(folder))}
    except TraceError as refused:
        return Handled(time.process_time() - began, 0, f"refused: {refused.problem}")
    largest = max(sizes, key=lambda view: sizes[view])
    return Handled(time.process_time() - began, sizes[largest], largest)


def _of_events(events: EventFile) -> Iterator[tuple[str, object]]:
    first, last = events.head.first_ns, events.head.last_ns
    yield "timeline", timeline_page(events, first, last + 1, 1)
    yield "search", search_page(events, Search("e", first))
    for by, where in itertools.product(("stack", "module", "op"), ("ran", "made")):
        yield f"flame graph by {by}", flame_page(events, by, where)


def at_two_sizes(name: str, small: int, times: int, tries: int = 2) -> tuple[Handled, Handled]:
    """The lowest time of several tries of the smaller size, and of the larger one."""
    shape, found = SHAPES[name][0], []
    for n in (small, times * small):
        with tempfile.TemporaryDirectory() as folder:
            path = written(Path(folder), shape(n))
            found.append(min(handled(path, _new(Path(folder), k)) for k in range(1 if n > small else tries)))
    return found[0], found[1]


def compared(name: str, times: int) -> str:
    small = SHAPES[name][1]
    (before, few, _), (after, many, view) = at_two_sizes(name, small, times)
    return f"| {name} | {small} | {before:.2f} | {after:.2f} | {after / before:.1f} | {few} | {many} | {view} |"


def _new(folder: Path, number: int) -> Path:
    made = folder / str(number)
    os.mkdir(made)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapes")
    parser.add_argument("names", nargs="*", default=list(SHAPES), help="default: all")
    parser.add_argument("--times", type=int, default=4, help="how much larger the second size is")
    asked = parser.parse_args()
    print(f"| shape | n | s | s at {asked.times} n | ratio | bytes | bytes at {asked.times} n | of |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name in asked.names:
        print(compared(name, asked.times))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
