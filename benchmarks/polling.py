"""Measures whether a TensorBoard that is left open for days grows: `python -m benchmarks.polling`.

A tab requests the index every few seconds. Here each poll scans the directory, and every fifth also requests what a
person would open: views, the trends, a window of the timeline. The question is whether the memory of the answering
process grows.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.generate import write_trace
from tb_steptime.ingest.names import Place
from tb_steptime.serve import directory, reading
from tb_steptime.serve.served import SpanNames
from tb_steptime.serve.store import Store
from tb_steptime.serve.wire import Waiting, encode

SMALL_BYTES = 1_000_000
#: Memory is read once per this many polls; the first half of the readings, in which each span is opened once, is left
#: out of the slope.
READ_EVERY = 10
OPEN_EVERY = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--polls", type=int, default=1000)
    parser.add_argument("--spans", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = copies(Path(folder), arguments.spans)
        readings = list(polled(logs, arguments.polls, arguments.spans))
    print("| polls of spans | RSS after the first half | at the end | growth for each 1,000 polls |")
    print("|---|---:|---:|---:|")
    settled = readings[len(readings) // 2 :]
    print(
        f"| {arguments.polls:,} of {arguments.spans} | {settled[0][1] / 1e6:.1f} MB | {settled[-1][1] / 1e6:.1f} MB "
        f"| {1000 * slope_bytes(readings) / 1e6:+.2f} MB |"
    )


def copies(folder: Path, spans: int, trace_bytes: int = SMALL_BYTES) -> Path:
    """A log directory of this many runs of one trace, with their summaries."""
    first = folder / "logs" / "run0" / "worker.1.pt.trace.json.gz"
    first.parent.mkdir(parents=True)
    write_trace(first, trace_bytes)
    store = Store([Place("", folder / "logs", "logs")])
    while not store.index(work=True).spans_ready:
        time.sleep(0.05)
    store.close()
    for number in range(1, spans):
        shutil.copytree(first.parent, folder / "logs" / f"run{number}")
    return folder / "logs"


def polled(logs: Path, polls: int, spans: int) -> Iterator[tuple[int, int]]:
    """Yields the number of a poll, and the bytes of this process's memory after it."""
    directory.SCAN_SECONDS = reading.SETTLE_SECONDS = 0.0
    directory.SCAN_SHARE = 1e9  # each poll scans
    store = Store([Place("", logs, "logs")])
    gc.collect()
    gc.freeze()  # what is here before the first poll is no garbage of the polls, and takes long to search
    for poll in range(polls):
        index = store.index(work=True)
        encode(index)
        if poll % OPEN_EVERY == 0:
            assert index.spans_ready == spans or poll == 0
            _open(store, index.runs[poll // OPEN_EVERY % len(index.runs)].workers[0].spans[0].id)
        if poll % READ_EVERY == 0:
            gc.collect()
            yield poll, _resident_bytes()
    store.close()


def slope_bytes(readings: list[tuple[int, int]]) -> float:
    """The slope of a line through the settled readings: bytes per poll."""
    settled = np.array(readings[len(readings) // 2 :], float)
    return float(np.polyfit(settled[:, 0], settled[:, 1], 1)[0])


def _open(store: Store, span: str) -> None:
    for view in ("overview", "host", "gpu"):
        encode(store.page(span, view, work=True))
    encode(store.trends(SpanNames(), work=True))
    until = time.monotonic() + 60
    while isinstance(page := store.timeline(span, (0, 10**9), 10**6, work=True), Waiting):
        assert time.monotonic() < until
        time.sleep(0.01)
    encode(page)


def _resident_bytes() -> int:
    """The current memory of this process; Linux reports it in pages."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
