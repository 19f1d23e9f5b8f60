"""Measures how long a person waits for the demo: `python -m benchmarks.demo` (a minute).

    TensorBoard answers --- the address is opened --- first picture
    0                                                 goal: 2 s

Each time in a new TensorBoard with every plugin that is installed, in an empty browser, on a copy of `demo_logs/` with
new modification times, as a clone has it: with the address that `make demo` prints, with the tab's address alone, and
without the summaries.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.browsing import visit
from tb_steptime.ingest.summaries import SUFFIX
from tools import chromium
from tools.docs.screenshots import PICTURES
from tools.serve import TensorBoard

DEMO = Path(__file__).resolve().parents[1] / "demo_logs"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=3, help="how often each is measured")
    times: int = parser.parse_args().times
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    print(
        "\n| from TensorBoard's first answer to the first picture | median | slowest | of it our frame | traces read |"
    )
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="tb_steptime_demo.") as folder, chromium.browser() as browser:
        logs = Path(folder, "logs")
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        for what, keys, ignored in (
            ("the address that `make demo` prints", {"run": PICTURES[0].run}, ""),
            ("the tab's address alone", {}, ""),
            ("without summaries", {"run": PICTURES[0].run}, f"*{SUFFIX}"),
        ):
            waits, read = [], 0
            for _ in range(times):
                shutil.copytree(DEMO, logs, ignore=shutil.ignore_patterns(ignored), copy_function=shutil.copyfile)
                before = summaries(Path(folder))
                waits.append(first_picture(browser, logs, keys))
                read = summaries(Path(folder)) - before
                shutil.rmtree(logs)
            whole, ours = zip(*waits, strict=True)
            shown = f"{statistics.median(whole):.2f} s | {max(whole):.2f} s | {statistics.median(ours):.2f} s"
            print(f"| {what} | {shown} | {read} |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f} after")
    return 0


def summaries(folder: Path) -> int:
    return len(list(folder.rglob(f"*{SUFFIX}")))


def first_picture(browser: Browser, logs: Path, keys: dict[str, str]) -> tuple[float, float]:
    """Seconds from TensorBoard's first answer, and the part of them after it opened the tab's frame."""
    server = TensorBoard(logs)
    began = time.time()
    try:
        with visit(browser, server, **keys) as one:
            return one.ready_ms / 1e3 - began, one.frame_ms / 1e3
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
