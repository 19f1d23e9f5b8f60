"""Measures what a person waits for in the tab, in a real Chromium: `python -m benchmarks.tab` (some minutes).

first picture   from the address to the view, in a log directory of 34 runs with their summary files
switching       from the press to the last change of the page
script          what the page's main thread computes for one movement of the pointer or one key
tasks           times in which the page cannot react, on one large trace with all its Python frames
heap            after 10, 100 and 200 switches of view: what is not given back would grow on and on
"""

from __future__ import annotations

import argparse
import functools
import gzip
import importlib.util
import itertools
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Locator

from benchmarks.browsing import Visit, go_to, row, visit
from benchmarks.generate import size_of, write_trace
from benchmarks.tab_timeline import MOVES, timeline
from tb_steptime.ingest.names import Place
from tb_steptime.serve.bundle import STATIC
from tb_steptime.serve.store import Store
from tools import chromium
from tools.serve import TensorBoard

#: TensorBoard with its own plugins and ours; the other one also has the PyTorch Profiler tab.
ALONE, BESIDE = "tools.tensorboard_with_ours", "benchmarks.beside_profiler"

RUNS, MANY_RUNS = 34, 100
SMALL_BYTES = 5_000_000
#: About eighty steps in each.
SMALL_LAYERS = 3
LOADS = 7
SWITCHES = (10, 100, 200)
VIEWS = ("Overview", "Trends", "Data loading", "Tensor cores", "GPU", "Host", "Timeline")
READ_SECONDS = 120


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=size_of, default=size_of("200MB"), help="of the large trace's JSON")
    size: int = parser.parse_args().size
    print(f"{platform.machine()}, {os.cpu_count()} cores, {_load()} before")
    print("\n| what | median | 95th percentile |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="tb_steptime_tab.") as folder, chromium.browser() as browser:
        _measure(browser, Path(folder), size)
    print(f"\n{_load()} after")
    return 0


def _measure(browser: Browser, folder: Path, size: int) -> None:
    few, many, large = folder / "few", folder / "many", folder / "large"
    _runs(few, RUNS)
    _runs(many, MANY_RUNS, like=few)
    _with(few, functools.partial(_first_pictures, browser))
    _with(few, functools.partial(_switching, browser))
    _with(few, functools.partial(_trends, browser))
    _with(many, functools.partial(_trends, browser, runs=MANY_RUNS))
    (large / "big").mkdir(parents=True)
    write_trace(large / "big" / "worker.1.pt.trace.json", size)
    _with(large, functools.partial(timeline, browser, size))
    _with(few, functools.partial(_held, browser))
    _beside(browser, few)
    first = sum(map(_packed_bytes, [STATIC / "index.js"]))
    print(f"| bundle until the first picture, gzipped | {first / 1e3:.1f} kB | |")
    views = [STATIC / "index.js", *STATIC.glob("parts/*.js")]  # report.js contains them again, for reports only
    print(f"| bundle with all views, gzipped | {sum(map(_packed_bytes, views)) / 1e3:.1f} kB | |")


def _packed_bytes(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 9))


def _with(logs: Path, measure: Callable[[TensorBoard], None], module: str = ALONE) -> None:
    """Measures in a TensorBoard of its own."""
    server = TensorBoard(logs, module=module)
    try:
        measure(server)
    finally:
        server.stop()


def _runs(logs: Path, count: int, like: Path | None = None) -> None:
    """This many runs with their summaries. One is read, and its summary serves for all; like: a folder where that was
    done.
    """
    first = logs / "run-000"
    if like is not None:
        shutil.copytree(like / first.name, first)
    else:
        first.mkdir(parents=True)
        write_trace(first / "worker.1.pt.trace.json.gz", SMALL_BYTES, layers=SMALL_LAYERS)
        _read(logs)
    for number in range(1, count):
        shutil.copytree(first, logs / f"run-{number:03}")


def _read(logs: Path) -> None:
    """Write the summary files of what is there."""
    store = Store([Place("", logs, logs.name)])
    until = time.monotonic() + READ_SECONDS
    while not store.index(work=True).spans_ready:
        assert time.monotonic() < until
        time.sleep(0.1)
    store.close()


def _first_pictures(browser: Browser, server: TensorBoard) -> None:
    print(f"| first picture of {RUNS} runs with summaries, in an empty browser | ", end="", flush=True)
    _first_load(browser, server, LOADS)


def _switching(browser: Browser, server: TensorBoard) -> None:
    with visit(browser, server, run="run-000") as one:
        one.settle()
        first = [one.press_ms(functools.partial(go_to, one, view)) for view in (*VIEWS[1:], VIEWS[0])]
        again = [one.press_ms(functools.partial(go_to, one, view)) for view in (*VIEWS[1:], VIEWS[0])]
        runs = [one.press_ms(functools.partial(_choose_run, one, f"run-{number:03}")) for number in range(1, 9)]
    row("switch of view, the first time", first)
    row("switch of view, to one that was open before", again)
    row("switch of run", runs)


def _choose_run(one: Visit, run: str) -> None:
    one.frame.locator("button.pick").first.click()
    field = one.frame.get_by_role("combobox")
    field.fill(run)
    field.press("Enter")


def _trends(browser: Browser, server: TensorBoard, runs: int = RUNS) -> None:
    with visit(browser, server, view="trends") as one:
        one.settle()
        chart = one.frame.locator("svg.chart.points").first
        row(f"Trends of {runs} runs, script of a pointer move", _moves(one, chart))
        strips = one.frame.locator(".heatmap")
        row(f"Trends of {runs} runs, script of a pointer move over the strips", _moves(one, strips))


def _moves(one: Visit, picture: Locator) -> list[float]:
    """The script time of each of several moves across a picture, and up and down in it."""
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    middle, wide = box["y"] + box["height"] / 2, box["width"]
    spots = [
        (box["x"] + wide * (0.3 + 0.6 * at / MOVES), middle + box["height"] / 5 * (-1) ** at) for at in range(MOVES)
    ]
    one.page.mouse.move(*spots[0])
    one.settle()
    return [one.script_ms(functools.partial(one.page.mouse.move, *spot)) for spot in spots]


def _held(browser: Browser, server: TensorBoard) -> None:
    """What the page holds after a few switches of view, and after many."""
    with visit(browser, server, run="run-000") as one:
        views = itertools.cycle(VIEWS)
        held = {}
        for number in range(1, SWITCHES[-1] + 1):
            go_to(one, next(views))
            if number % 10 == 0:
                one.settle()
            if number in SWITCHES:
                go_to(one, VIEWS[0])
                one.settle()
                held[number] = one.heap_bytes(), one.elements()
    for number, (heap, elements) in held.items():
        print(f"| heap after {number} switches of view | {heap / 1e6:.1f} MB | {elements:.0f} nodes |", flush=True)


def _beside(browser: Browser, logs: Path) -> None:
    """Beside other users of the server's interpreter: a thread that never rests, and the PyTorch Profiler tab."""
    what = f"first picture of {RUNS} runs"
    print(f"| {what} beside a thread that computes without rest | ", end="", flush=True)
    _with(logs, functools.partial(_first_load, browser), "benchmarks.spinning")
    if importlib.util.find_spec("torch_tb_profiler") is None:
        print(f"| {what} while torch-tb-profiler reads them | not measured: `pip install torch-tb-profiler` | |")
        return
    print(f"| {what} while torch-tb-profiler reads them | ", end="", flush=True)
    _with(logs, functools.partial(_first_load, browser, loads=LOADS), BESIDE)


def _first_load(browser: Browser, server: TensorBoard, loads: int = 0) -> None:
    with visit(browser, server) as one:
        print(f"{one.first_ms:.0f} ms | {one.frame_ms:.0f} ms since our frame was opened |", flush=True)
        _loads(one, loads)


def _loads(one: Visit, count: int) -> None:
    """More loads in the same page, split into TensorBoard's time and ours."""
    parts: dict[str, list[float]] = {"more loads": [], "of these, TensorBoard's own page": [], "and ours": []}
    for _ in range(count):
        one.reload()
        for part, took in zip(parts.values(), (one.first_ms, one.first_ms - one.frame_ms, one.frame_ms), strict=True):
            part.append(took)
    for what, each_ms in parts.items():
        if each_ms:
            row(f"{len(each_ms)} {what}" if what == "more loads" else what, each_ms)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
