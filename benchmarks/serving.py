"""Measures what a user waits for in a real TensorBoard: `python -m benchmarks.serving`.

opening      a directory of 100 spans with their summary files, beside one span that has to be read
answering    how long other routes take while one big trace is read (nothing here may wait for that)
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.generate import size_of, write_trace
from tb_steptime.ingest.names import Place
from tb_steptime.serve.served import SpanNames
from tb_steptime.serve.store import Store
from tools.serve import TensorBoard

SPANS = 100
SMALL_BYTES = 5_000_000
#: The most requests while the big trace is read: they end when it has been read.
PROBES = 400
PROBE_PAUSE_SECONDS = 0.02
ROUTES = (
    "data/plugin/tb_steptime/index",
    "data/plugin/tb_steptime/catalogue",
    "data/environment",
    "data/plugins_listing",
)
HEADERS = {"X-Tb-Steptime": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="1GB", help="of the big trace's JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| what | median, ms | most, ms |\n|---|---:|---:|")
        _opening(Path(folder) / "many")
        _answering(Path(folder) / "one", size_of(arguments.size))


def _opening(logs: Path) -> None:
    """The first answers of a store with a hundred spans: one is read first, and its summary serves for all."""
    first = logs / "run0" / "worker.1.pt.trace.json.gz"
    first.parent.mkdir(parents=True)
    write_trace(first, SMALL_BYTES)
    server = TensorBoard(logs)
    try:
        began = time.perf_counter()
        _wait_until_read(server, 1)
        reading_ms = 1e3 * (time.perf_counter() - began)
    finally:
        server.stop()
    for number in range(1, SPANS):
        shutil.copytree(first.parent, logs / f"run{number}")
    store_ms = _store_ms(logs)
    server = TensorBoard(logs)
    try:
        index_ms = _ms(server, ROUTES[0])
        trends_ms = _ms(server, "data/plugin/tb_steptime/trends")
        assert _json(server, ROUTES[0])["spans_ready"] == SPANS
    finally:
        server.stop()
    print(f"| reading one {SMALL_BYTES // 10**6} MB trace, for comparison | {reading_ms:.0f} | |")
    print(f"| {SPANS} spans with summaries: list and trends of all, our code alone | {store_ms:.0f} | |")
    print(f"| the first list of them, in a TensorBoard whose other tabs read the traces too | {index_ms:.0f} | |")
    print(f"| trends of all, likewise | {trends_ms:.0f} | |")


def _store_ms(logs: Path) -> float:
    """From an empty process to the trends of all spans."""
    began = time.perf_counter()
    store = Store([Place("", logs, "logs")])
    assert store.index(work=True).spans_ready == SPANS
    assert all(span.result for span in store.trends(SpanNames(), work=True).spans)
    store.close()
    return 1e3 * (time.perf_counter() - began)


def _answering(logs: Path, size: int) -> None:
    logs.mkdir()
    write_trace(logs / "worker.1.pt.trace.json", size)
    server = TensorBoard(logs)
    took: dict[str, list[float]] = {route: [] for route in ROUTES}
    try:
        for _ in range(PROBES):
            for route in ROUTES:
                took[route].append(_ms(server, route))
            if _json(server, ROUTES[0])["spans_ready"]:
                break
            time.sleep(PROBE_PAUSE_SECONDS)
    finally:
        server.stop()
    for route, each in took.items():
        rest = each[1:]  # the first answers import the plugins
        print(f"| {route} while {size / 1e9:g} GB are read | {statistics.median(rest):.1f} | {max(rest):.1f} |")


def _wait_until_read(server: TensorBoard, spans: int) -> None:
    until = time.monotonic() + 300
    while _json(server, ROUTES[0])["spans_ready"] < spans:
        assert time.monotonic() < until
        time.sleep(0.05)


def _ms(server: TensorBoard, route: str) -> float:
    began = time.perf_counter()
    _get(server, route)
    return 1e3 * (time.perf_counter() - began)


def _json(server: TensorBoard, route: str) -> Any:
    return json.loads(_get(server, route))


def _get(server: TensorBoard, route: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(server.url + route, headers=HEADERS), timeout=60) as response:
        body: bytes = response.read()
        return body


if __name__ == "__main__":
    main()
