"""Measures a log directory of a thousand spans, and one of 100,000 files: `python -m benchmarks.many`.

files      the first scan of 100,000 files, and one where nothing changed
server     what TensorBoard works and sends for the first picture, a poll and Trends, and how much memory it takes
"""

from __future__ import annotations

import argparse
import gzip
import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.many_spans import write_spans
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.listing import COARSE_NS
from tb_steptime.ingest.names import Place
from tools.serve import TensorBoard

ALONE = "tools.tensorboard_with_ours"
FOLDERS, TRACES, OTHERS = 1000, 10, 80
#: The modification time of the files.
OLD = 1_700_000_000
POLLS = 100
#: The figures that the tab requests for more than 64 spans.
FIGURES = ("step_time", "gpu_utilization", "est_sm_efficiency", "tensor_core_share", "data_loading_exposed")
TRENDS = "trends?strips=64&metric=host_bound_share" + "".join(f"&metric={figure}" for figure in FIGURES)
#: A tick in which the kernel counts CPU time.
TICK_MS = 10


class Sent(NamedTuple):
    text: bytes
    packed_bytes: int
    etag: str | None


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    with tempfile.TemporaryDirectory(prefix="tb_steptime_many.") as folder:
        print("| what | of a processor, ms | |\n|---|---:|---|")
        _files(Path(folder) / "files")
        write_spans(Path(folder) / "spans")
        server = TensorBoard(Path(folder) / "spans", module=ALONE)
        try:
            _server(server)
        finally:
            server.stop()


def _files(logs: Path) -> None:
    for number in range(FOLDERS):
        home = logs / f"run{number // 10}" / f"job{number % 10}"
        home.mkdir(parents=True)
        for rank in range(TRACES):
            trace = home / f"rank_{rank}.1700000000000000000.pt.trace.json.gz"
            for each in (trace, trace.with_name(trace.name + ".steptime")):
                each.touch()
                os.utime(each, (OLD, OLD))
        for other in range(OTHERS):
            (home / f"checkpoint_{other}.pt").touch()
    search = Discovery([Place("", logs, "logs")])
    files = FOLDERS * (2 * TRACES + OTHERS)
    _row(f"first scan of {files:,} files, {FOLDERS * TRACES:,} of them traces", _cpu_ms(search.scan))
    time.sleep(COARSE_NS / 1e9)  # until then a folder may change again without a new modification time
    search.scan()
    _row("again, nothing changed", min(_cpu_ms(search.scan) for _ in range(5)))


def _cpu_ms(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return 1e3 * (time.process_time() - began)


def _row(what: str, ms: float, more: str = "") -> None:
    print(f"| {what} | {ms:.1f} | {more} |", flush=True)


def _server(server: TensorBoard) -> None:
    pid = server.process.pid
    for what, route in (
        ("first picture of 1,000 spans", "opening?view=overview"),
        ("Trends of all, the first time", TRENDS),
        ("Trends of all again", TRENDS),
    ):
        began = _worked_ms(pid)
        sent = _get(server, route)
        size = f"{len(sent.text) / 1e6:.1f} MB, {sent.packed_bytes / 1e6:.1f} MB packed"
        _row(what, _worked_ms(pid) - began, size)
    sent, began, held = _get(server, "index"), _worked_ms(pid), held_mb(pid)
    for _ in range(POLLS):
        _get(server, "index", sent.etag)
        time.sleep(0.1)
    more = f"memory before {held:.0f} MB, after {held_mb(pid):.0f} MB"
    _row(f"a poll, mean of {POLLS} in {POLLS // 10} s", (_worked_ms(pid) - began) / POLLS, more)


def _get(server: TensorBoard, route: str, etag: str | None = None) -> Sent:
    headers = {"X-Tb-Steptime": "1", "Accept-Encoding": "gzip", **({"If-None-Match": etag} if etag else {})}
    request = urllib.request.Request(f"{server.url}data/plugin/tb_steptime/{route}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            body: bytes = response.read()
            packed = response.headers.get("Content-Encoding") == "gzip"
            return Sent(gzip.decompress(body) if packed else body, len(body), response.headers.get("ETag"))
    except urllib.error.HTTPError as same:
        assert same.code == 304
        return Sent(b"", 0, etag)


def _worked_ms(pid: int) -> float:
    """The user and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return float(TICK_MS * (int(fields[11]) + int(fields[12])))


def held_mb(pid: int) -> float:
    """The resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3


if __name__ == "__main__":
    main()
